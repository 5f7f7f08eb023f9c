import type { Command } from 'commander';
import { parse } from 'yaml';
import { annotationPrefix } from '../../api/annotations.ts';
import type { CanaryStatus, ReleaseHistoryEntry } from '../../api/canary/status.ts';
import { type Clock, sleep } from '../../api/clock.ts';
import { describe, type KubernetesObject, type NamespacedName, referenceOf } from '../../api/kubernetes.ts';
import { InputError } from '../../api/problems.ts';
import { parseDurationMs } from '../../api/time.ts';
import type { ClusterClient } from '../../cluster/client/client.ts';
import { isApiError } from '../../cluster/errors.ts';
import type { Connection } from '../../server/connection.ts';
import {
  type CommandResult,
  type DataFormat,
  formatData,
  printable,
  printableLines,
} from '../../terminal/output.ts';
import { whySetBack } from '../../workload/compare/managed-fields.ts';
import { type CliContext, emit, withConnection } from '../command.ts';
import { exitCodes, failureBody, failureDocument } from '../failure.ts';
import {
  outputOption,
  parseObjectArgument,
  refuseNameWithSelector,
  type SubjectFlags,
  withSubjectFlags,
} from '../flags.ts';
import { readAll } from '../objects.ts';

/** The part of the client that requests take. */
export type RequestClient = Pick<ClusterClient, 'get' | 'list' | 'patch'>;

/** Field manager of what people write through the command line. */
export const manager = 'holdfast-cli';
const lookEveryMs = 500;

/** Sets one annotation of ours, or takes it away with null, and touches nothing else. */
export async function annotate(
  client: Pick<RequestClient, 'patch'>,
  object: KubernetesObject,
  verb: string,
  value: string | null,
): Promise<void> {
  const body = { metadata: { annotations: { [annotationPrefix + verb]: value } } };
  await client.patch(referenceOf(object), body, { type: 'merge', manager });
}

/** Throws InputError for a field that would be set back. */
export function refuseWhereApplied(object: KubernetesObject, path: readonly string[]): void {
  const why = whySetBack(object, path);
  if (why) throw new InputError(why);
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
export interface ObjectFlags extends SubjectFlags {
  readonly output: 'text' | DataFormat;
}

/** One object that a command is about, and how the answer is printed. */
export interface ObjectOptions extends NamespacedName {
  readonly format: ObjectFlags['output'];
}

/** Flags of commands that wait. */
export interface WaitFlags extends ObjectFlags {
  /** Seconds. */
  readonly timeout: number;
  readonly wait?: boolean;
}

/** Adds the object, the cluster, the namespaces, the labels and the format. */
export function withObjectFlags(command: Command, kind: 'Canary' | 'Source'): Command {
  const word = kind.toLowerCase();
  return withSubjectFlags(command.argument(`[${word}]`, `NAME or ${word}/NAME; left out with -l`)).addOption(
    outputOption(),
  );
}

/** The result for an object, or a function that waits for it, called once all objects were asked. */
export type Begun = CommandResult | (() => Promise<CommandResult>);

/** Does the same to the objects that are meant, as `forTargets`, on the cluster of the flags, and writes what came of it. */
export async function onTargets(
  context: CliContext,
  kind: 'Canary' | 'Source',
  asked: { readonly subject: string | undefined; readonly flags: ObjectFlags },
  work: (client: RequestClient, options: ObjectOptions) => Promise<Begun>,
): Promise<void> {
  const result = await withConnection(asked.flags, context, (connection) =>
    forTargets(connection, kind, asked, (target) =>
      work(connection.client, { ...target, format: asked.flags.output }),
    ),
  );
  emit(result, context);
}

/**
 * Does the same to the object that is named, or to each with the labels of -l (with -A in all namespaces), one after the other; the exit code is the
 * highest. With -l, data are a List, and an error of one object keeps the answers of the others. Throws InputError where none is named or found.
 */
export async function forTargets(
  { access, client }: Pick<Connection, 'access' | 'client'>,
  kind: 'Canary' | 'Source',
  { subject, flags }: { readonly subject: string | undefined; readonly flags: ObjectFlags },
  work: (target: NamespacedName) => Promise<Begun>,
): Promise<CommandResult> {
  if (flags.allNamespaces && flags.namespace !== undefined)
    throw new InputError('-A and -n exclude each other');
  refuseNameWithSelector(subject, flags);
  const namespace = flags.namespace ?? access.namespace;
  if (flags.selector === undefined) {
    if (flags.allNamespaces)
      throw new InputError(`-A needs -l LABELS: they say which ${kind} objects are meant`);
    if (subject === undefined) throw new InputError(`name a ${kind}, or choose by labels with -l`);
    return ended(await work({ namespace, name: nameIn(subject, kind) }));
  }
  const items = await readAll(client, kind, {
    namespace: flags.allNamespaces ? undefined : namespace,
    labelSelector: flags.selector,
    metadataOnly: true,
  });
  if (items.length === 0)
    throw new InputError(
      `no ${kind}${flags.allNamespaces ? '' : ` of namespace ${namespace}`} has the labels ${flags.selector}`,
    );
  const targets = items.map(({ metadata }) => ({
    namespace: metadata.namespace ?? namespace,
    name: metadata.name,
  }));
  return joined(await forEach(kind, targets, flags.output, work), flags.output);
}

/**
 * All are begun, one after the other, before the first is waited for. An error of one object is reported with the answers of the others; one that the
 * next object would meet as well ends the command.
 */
async function forEach(
  kind: 'Canary' | 'Source',
  targets: readonly NamespacedName[],
  format: ObjectFlags['output'],
  work: (target: NamespacedName) => Promise<Begun>,
): Promise<CommandResult[]> {
  const begun: Array<{ readonly subject: string; readonly one: Begun }> = [];
  for (const target of targets) {
    const subject = describe({ kind, ...target });
    try {
      begun.push({ subject, one: await work(target) });
    } catch (error) {
      const left = isApiError(error, ...ofTheCluster) ? targets.length - begun.length - 1 : 0;
      begun.push({ subject, one: failed(subject, error, { left, format }) });
      if (left > 0) break;
    }
  }
  const results: CommandResult[] = [];
  for (const { subject, one } of begun)
    results.push(await ended(one).catch((error: unknown) => failed(subject, error, { left: 0, format })));
  return results;
}

/** The answer, waited for. */
export async function ended(begun: Begun): Promise<CommandResult> {
  return typeof begun === 'function' ? begun() : begun;
}

/** Errors that the next object would meet as well. */
const ofTheCluster = [
  'unauthorized',
  'unknownKind',
  'tooManyRequests',
  'transient',
  'timeout',
  'badAnswer',
  'aborted',
  'configuration',
] as const;

/** The result for an object that has no answer. */
function failed(
  subject: string,
  error: unknown,
  { left, format }: { readonly left: number; readonly format: ObjectFlags['output'] },
): CommandResult {
  const said = failureBody(error);
  const body = { ...said, message: `${subject}: ${said.message}` };
  const rest = left > 0 ? `error: ended there; nothing was done about ${left} more\n` : '';
  return {
    stdout: format === 'text' ? '' : failureDocument(body, format),
    stderr: `error: ${printableLines(body.message)}\n${rest}`,
    exitCode: exitCodes.noAnswer,
  };
}

function joined(results: readonly CommandResult[], format: ObjectFlags['output']): CommandResult {
  const stdout =
    format === 'text'
      ? results.map((result) => result.stdout).join('')
      : formatData(
          {
            apiVersion: 'v1',
            kind: 'List',
            items: results.flatMap((result) => (result.stdout ? [parse(result.stdout) as unknown] : [])),
          },
          format,
        );
  const stderr = results.map((result) => result.stderr).join('');
  const codes = results.map(({ exitCode }) => exitCode);
  return { stdout, stderr, exitCode: codes.reduce((most, code) => (code > most ? code : most), 0) };
}

/** The result of a request that does not fit the object and was not made. */
export function refused(
  object: KubernetesObject,
  { reason, message }: { readonly reason: string; readonly message: string },
  format: ObjectFlags['output'],
): CommandResult {
  const exitCode = exitCodes.bad;
  const body = { exitCode, reason, message: `${describe(object)}: ${message}` };
  const stdout = format === 'text' ? '' : failureDocument(body, format);
  return { stdout, stderr: `${describe(object)}: refused (${reason}): ${printable(message)}\n`, exitCode };
}

/** Adds the time limit of waiting, in seconds. */
export function withTimeout(command: Command, presetSeconds: number): Command {
  return command.option(
    '--timeout <time>',
    'give up after this time: a number of seconds, or a duration such as 10m',
    seconds,
    presetSeconds,
  );
}

/** What is probably meant where an object of the other kind is named. */
const others = {
  Canary:
    'status, tree, events, diff, sync, suspend and resume are about Sources; what a Source waits for is approved by the annotation that holdfast status source/NAME shows',
  Source: 'use source/NAME; to hold a Canary, run holdfast pause',
};

/** `canary/web` or `web`. Throws InputError for another kind. */
export function nameIn(text: string, kind: 'Canary' | 'Source'): string {
  if (text !== '' && !text.includes('/')) return text;
  const subject = parseObjectArgument(text, undefined);
  if (subject.kind === kind && subject.name) return subject.name;
  throw new InputError(`${JSON.stringify(text)} is not a ${kind}; ${others[kind]}`);
}

function seconds(text: string): number {
  const value = Number(text || Number.NaN);
  const length = Number.isNaN(value) ? (parseDurationMs(text) ?? 0) / 1_000 : value;
  if (Number.isFinite(length) && length > 0) return length;
  throw new InputError(
    `--timeout: ${JSON.stringify(text)} is neither a number of seconds above 0 nor a duration such as 10m`,
  );
}

/**
 * Where a release came to rest. RolledBack: an older one serves because a person asked for it, and head is rejected for that. Superseded: Git
 * moved on before it was proven.
 */
export type Outcome = 'Succeeded' | 'RolledBack' | 'Failed' | 'Held' | 'Superseded';

/** The exit code of an outcome, the same for every command that waits. */
export const outcomeCodes = {
  Succeeded: exitCodes.good,
  RolledBack: exitCodes.good,
  Failed: exitCodes.bad,
  Superseded: exitCodes.bad,
  Held: exitCodes.held,
  TimedOut: exitCodes.timedOut,
} as const;

/** Where the release came to rest; undefined while something is still under way. */
export function outcomeOf(status: CanaryStatus): Outcome | undefined {
  if (status.postPromotion?.state === 'Held') return 'Held';
  if (status.run) return undefined;
  if (status.phase === 'Succeeded' || status.phase === 'Initialized') return 'Succeeded';
  if (status.phase !== 'Failed') return undefined;
  return isRolledBack(status) ? 'RolledBack' : 'Failed';
}

/** How a release of the history ended. One that Git took back is in it as the end of a rollout, and never served alone. */
export function pastOutcome({ result, reason }: ReleaseHistoryEntry): Outcome {
  if (result === 'Superseded' || reason === 'RevertedInGit') return 'Superseded';
  return result === 'Failed' ? 'Failed' : 'Succeeded';
}

/** Head was rejected by a rollback, and that rollback itself did not fail. */
function isRolledBack({ rejected = [], history: [last] = [] }: CanaryStatus): boolean {
  if (rejected.at(-1)?.reason !== 'RolledBack') return false;
  return last?.result !== 'Failed' || last.reason === 'RolledBack';
}
