import { type Command, InvalidArgumentError } from 'commander';
import type { AppOptions } from '../app/options.ts';

/** Flags about what Canaries may do and how much work is done at once; Flagger's names (flagger-behaviour 5.1). */
export interface LimitFlags {
  readonly kubeconfigQps: number;
  readonly kubeconfigBurst: number;
  readonly threadiness: number;
  readonly crossNamespaceRefs: boolean;
  readonly enableConfigTracking: boolean;
}

/** Adds the flags. */
export function withLimitFlags(command: Command): Command {
  return command
    .option('--kubeconfig-qps <number>', 'requests a second to the API server, watches left out', count, 100)
    .option('--kubeconfig-burst <number>', 'how many of them may come at once', count, 250)
    .option('--threadiness <number>', 'Canaries that are handled side by side', count, 8)
    .option(
      '--enable-config-tracking <boolean>',
      'false: releases are about templates and ports alone; ConfigMaps and Secrets are applied and never copied',
      truth,
      true,
    )
    .option('--no-cross-namespace-refs', 'refuse Canaries that refer to objects of other namespaces');
}

/** What they say. */
export function limitsIn(
  flags: LimitFlags,
): Pick<AppOptions, 'apiRate' | 'concurrency' | 'forbidsOtherNamespaces' | 'tracksConfig'> {
  return {
    apiRate: { perSecond: flags.kubeconfigQps, burst: flags.kubeconfigBurst },
    concurrency: flags.threadiness,
    tracksConfig: flags.enableConfigTracking,
    forbidsOtherNamespaces: !flags.crossNamespaceRefs,
  };
}

function truth(text: string): boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  throw new InvalidArgumentError('must be true or false.');
}

function count(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= 10_000) return value;
  throw new InvalidArgumentError('must be a whole number from 1 to 10000.');
}
