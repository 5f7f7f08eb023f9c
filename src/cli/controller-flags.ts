import { Command } from 'commander';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { InputError } from '../api/problems.ts';
import { ApiError } from '../cluster/errors.ts';
import type { Connection } from '../server/connection.ts';
import type { ReleaseFlags } from './flags.ts';
import { nameOf } from './install/program-flags.ts';
import { runCommand } from './run.ts';

/** Flags of `holdfast run` on which the answer of a command depends that looks at Canaries as the controller does. */
export interface ControllerFlags extends ReleaseFlags {
  readonly watchNamespaces: string[];
  readonly meshProvider: string;
  /** Milliseconds. */
  readonly minAnalysisInterval: number;
  readonly selectorLabels: string[];
  readonly includeLabelPrefix: string[];
}

const repeated: ReadonlySet<string> = new Set([
  'watch-namespaces',
  'mesh-provider',
  'min-analysis-interval',
  'selector-labels',
  'include-label-prefix',
  'enable-config-tracking',
  'cross-namespace-refs',
  'no-cross-namespace-refs',
]);

/** Adds them. What is not given is undefined: `controllerFlags` reads it from the cluster. */
export function withControllerFlags(command: Command): Command {
  for (const option of controller().options)
    if (repeated.has(nameOf(option))) command.addOption(option.default(undefined, "the controller's"));
  return command;
}

/** The flags that the controller of this cluster runs with, and why they are not known where they are not. */
interface FoundFlags {
  readonly flags: ControllerFlags;
  readonly note: string | undefined;
}

/**
 * The given flags, and for the others those in the arguments of the Deployment `holdfast` of `namespace`, also while it is scaled to zero. Without
 * that Deployment, or the right to read it, the defaults and a note. Throws InputError for arguments that `holdfast run` refuses, and ApiError.
 */
export async function controllerFlags(
  { client }: Pick<Connection, 'client'>,
  namespace: string,
  given: Partial<ControllerFlags>,
): Promise<FoundFlags> {
  const where = `Deployment ${namespace}/holdfast`;
  const reference = { apiVersion: 'apps/v1', kind: 'Deployment', namespace, name: 'holdfast' };
  const found = await client.get(reference).catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 403) return 'forbidden' as const;
    throw error;
  });
  const isRead = found !== undefined && found !== 'forbidden';
  const flags = flagsOf(isRead ? argumentsOf(found) : [], where);
  const why = found === 'forbidden' ? `you may not read ${where}` : `there is no ${where}`;
  const note = isRead
    ? undefined
    : `${why}: the default is taken for each flag of the controller that is not given`;
  return { flags: { ...flags, ...definedIn(given) }, note };
}

/** What stands behind `run`, with the variables that the Deployment itself defines filled in as the kubelet does. */
function argumentsOf({ spec }: KubernetesObject): string[] {
  const { template } = spec as { template: { spec: { containers: Container[] } } };
  for (const { command = [], args = [], env = [] } of template.spec.containers) {
    const words = [...command, ...args];
    const at = words.indexOf('run');
    if (at < 0) continue;
    const values = new Map(env.map(({ name, value }) => [name, value]));
    return words
      .slice(at + 1)
      .map((word) => word.replace(/\$\((\w+)\)/g, (text, name: string) => values.get(name) ?? text));
  }
  return [];
}

interface Container {
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: ReadonlyArray<{ readonly name: string; readonly value?: string }>;
}

function flagsOf(argv: string[], where: string): ControllerFlags {
  const run = controller();
  try {
    run.parseOptions(argv);
  } catch (error) {
    const message = (error as Error).message.replace(/^error: /, '');
    throw new InputError(`${where}: holdfast run would refuse its arguments: ${message}`);
  }
  const { namespace, ...flags } = run.opts<ControllerFlags & { readonly namespace?: string }>();
  return namespace === undefined ? flags : { ...flags, watchNamespaces: [namespace] };
}

function definedIn<T extends object>(given: T): Partial<T> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Partial<T>;
}

/** `holdfast run` as this version declares it, to read arguments; its action is not run. */
function controller(): Command {
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  runCommand.register(program, { version: '', setExitCode: () => undefined });
  return program.commands[0] as Command;
}
