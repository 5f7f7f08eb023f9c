import type { Command } from 'commander';
import { annotationPrefix } from '../../api/annotations.ts';
import type { CanaryStatus } from '../../api/canary/status.ts';
import { type Clock, sleep } from '../../api/clock.ts';
import { apiVersionOf, type KindName } from '../../api/kinds/kinds.ts';
import { describe, type KubernetesObject, type ObjectReference } from '../../api/kubernetes.ts';
import { InputError } from '../../api/problems.ts';
import type { ClusterClient } from '../../cluster/client/client.ts';
import { isApiError } from '../../cluster/errors.ts';
import type { DataFormat } from '../../terminal/output.ts';
import {
  type ClusterFlags,
  contextOption,
  kubeconfigOption,
  namespaceOption,
  outputOption,
  parseObjectArgument,
} from '../flags.ts';

/** The part of the client that requests take. */
export type RequestClient = Pick<ClusterClient, 'get' | 'list' | 'patch'>;

const manager = 'holdfast-cli';
const lookEveryMs = 500;

/** The object a command is about. Throws InputError when it does not exist. */
export async function readOne(
  client: Pick<RequestClient, 'get'>,
  kind: KindName,
  { namespace, name }: { namespace: string; name: string },
): Promise<KubernetesObject> {
  const reference = { apiVersion: apiVersionOf(kind), kind, namespace, name };
  const object = await client.get(reference);
  if (object) return object;
  throw new InputError(`${describe(reference)} not found; use -n NAMESPACE for another namespace`);
}

/** Sets one annotation of ours, or takes it away with null, and touches nothing else. */
export async function annotate(
  client: Pick<RequestClient, 'patch'>,
  { apiVersion, kind, metadata }: KubernetesObject,
  verb: string,
  value: string | null,
): Promise<void> {
  const reference: ObjectReference = {
    apiVersion,
    kind,
    name: metadata.name,
    ...(metadata.namespace ? { namespace: metadata.namespace } : {}),
  };
  const body = { metadata: { annotations: { [annotationPrefix + verb]: value } } };
  await client.patch(reference, body, { type: 'merge', manager });
}

/** `<revision>@<time>`: a new request even if the same was asked before. */
export function tokenFor(revision: string, nowMs: number): string {
  return `${revision}@${new Date(nowMs).toISOString()}`;
}

/**
 * Looks again until the look gives something; undefined when the time is up. An API server that does not answer for a while is waited for,
 * too: throws its ApiError when it does not answer at the end either, and any other error at once.
 */
export async function pollUntil<T>(
  clock: Clock,
  timeoutMs: number,
  look: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const endMs = clock.nowMs() + timeoutMs;
  for (;;) {
    const isLast = clock.nowMs() >= endMs;
    const found = await look().catch((error: unknown) => {
      if (!isLast && isApiError(error) && error.retryable) return undefined;
      throw error;
    });
    if (found !== undefined || isLast) return found;
    await sleep(clock, lookEveryMs);
  }
}

/** Flags of every command about one object. */
export interface ObjectFlags extends ClusterFlags {
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
export function withObjectFlags(
  command: Command,
  kind: 'Canary' | 'Source',
  formats: readonly string[] = ['text', 'json', 'yaml'],
): Command {
  const word = kind.toLowerCase();
  return command
    .argument(`<${word}>`, `NAME or ${word}/NAME`)
    .addOption(kubeconfigOption())
    .addOption(contextOption())
    .addOption(namespaceOption())
    .addOption(outputOption('text', formats));
}

/** Adds the time limit of waiting, in seconds. */
export function withTimeout(command: Command, presetSeconds: number): Command {
  return command.option('--timeout <seconds>', 'give up after this time', seconds, presetSeconds);
}

/** `canary/web` or `web`. Throws InputError for another kind. */
export function nameIn(text: string, kind: 'Canary' | 'Source'): string {
  if (!text.includes('/')) return text;
  const subject = parseObjectArgument(text, undefined);
  if (subject.kind === kind && subject.name) return subject.name;
  throw new InputError(`${JSON.stringify(text)} is not a ${kind}`);
}

function seconds(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new InputError(`--timeout: ${JSON.stringify(text)} is not a number of seconds above 0`);
}

/** Where a release came to rest. */
export type Outcome = 'Succeeded' | 'Failed' | 'Held';

/** Exit codes of commands that wait for a release: 0 it serves, 1 it failed, 3 it is held, 4 the time was up. */
export const exitCodes = { Succeeded: 0, Failed: 1, Held: 3, TimedOut: 4 } as const;

/** Where the release came to rest; undefined while something is still under way. */
export function outcomeOf(status: CanaryStatus): Outcome | undefined {
  if (status.postPromotion?.state === 'Held') return 'Held';
  if (status.run) return undefined;
  if (status.phase === 'Succeeded' || status.phase === 'Initialized') return 'Succeeded';
  return status.phase === 'Failed' ? 'Failed' : undefined;
}
