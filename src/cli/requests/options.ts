import type { Command } from 'commander';
import { InputError } from '../../app/options.ts';
import { outputOption } from '../install-command.ts';
import type { DataFormat } from '../output.ts';
import { subjectOf } from '../status-command.ts';

/** Flags of every command about one object. */
export interface ObjectFlags {
  readonly kubeconfig?: string;
  readonly namespace?: string;
  readonly output: 'text' | DataFormat;
}

/** Flags of commands that wait. */
export interface WaitFlags extends ObjectFlags {
  /** Seconds. */
  readonly timeout: number;
  readonly wait?: boolean;
}

/** Adds `<kind/name>`, the kubeconfig, the namespace and the format. */
export function aboutOne(command: Command, kind: 'Canary' | 'Source'): Command {
  const word = kind.toLowerCase();
  return command
    .argument(`<${word}>`, `name, or ${word}/name`)
    .option(
      '--kubeconfig <file>',
      'kubeconfig; default: KUBECONFIG, the service account of the pod, ~/.kube/config',
    )
    .option('-n, --namespace <name>', "namespace; default: the kubeconfig's")
    .addOption(outputOption('text', ['text', 'json', 'yaml']));
}

/** Adds the time limit of waiting, in seconds. */
export function withTimeout(command: Command, presetSeconds: number): Command {
  return command.option('--timeout <seconds>', 'give up after this time', seconds, presetSeconds);
}

/** `canary/web` or `web`. Throws InputError for another kind. */
export function nameIn(text: string, kind: 'Canary' | 'Source'): string {
  if (!text.includes('/')) return text;
  const subject = subjectOf(text, undefined);
  if (subject.kind === kind && subject.name) return subject.name;
  throw new InputError(`${JSON.stringify(text)} is no ${kind}`);
}

function seconds(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new InputError(`--timeout: ${JSON.stringify(text)} is no number of seconds above 0`);
}
