import { Option } from 'commander';
import { annotationPrefix, type CanaryVerb } from '../../api/annotations.ts';
import type { CanaryStatus, RequestAnswer } from '../../api/canary/status.ts';
import { canaryStatus, whyFailed } from '../../api/canary/summary.ts';
import { type Clock, systemClock } from '../../api/clock.ts';
import { isDigest } from '../../api/commit.ts';
import { commandOn, describe, isSuspended, type KubernetesObject, nameOf } from '../../api/kubernetes.ts';
import { InputError } from '../../api/problems.ts';
import { type CommandResult, formatOutput, printable } from '../../terminal/output.ts';
import { type CliCommand, onSignals } from '../command.ts';
import { exitCodes, failureDocument } from '../failure.ts';
import { revisionName } from '../flags.ts';
import { readOne } from '../objects.ts';
import {
  type Confirm,
  confirmOn,
  type Effect,
  effectLines,
  nothingUnderWay,
  UnfitRequestError,
} from './effect.ts';
import {
  annotate,
  type Begun,
  ended,
  type ObjectOptions,
  type Outcome,
  onTargets,
  outcomeCodes,
  outcomeOf,
  pastOutcome,
  pollUntil,
  type RequestClient,
  refused,
  tokenFor,
  type WaitFlags,
  withObjectFlags,
  withTimeout,
} from './request.ts';
import { whatGoesOn } from './wait.ts';

/** One command that requests a verb. */
export interface VerbCommand {
  /** Name on the command line. */
  readonly name: string;
  readonly verb: CanaryVerb;
  /** The flag that names the revision, by default --revision, and what stands without it. */
  readonly flag?: string;
  readonly flagMeaning: string;
  /** Commit or digest to ask for; default: the release under way. Throws UnfitRequestError when there is none. */
  readonly revision?: (client: RequestClient, canary: KubernetesObject) => Promise<string> | string;
  /** Digests of other releases than the status names, for which a shortened one may stand. */
  readonly digests?: (client: RequestClient, canary: KubernetesObject) => Promise<readonly string[]>;
  /** What is shown before, for what takes traffic from a release. Throws UnfitRequestError where it must not be done. */
  readonly effect?: (
    client: RequestClient,
    canary: KubernetesObject,
    asked: { readonly revision: string; readonly isNamed: boolean; readonly nowMs: number },
  ) => Promise<Effect | undefined>;
  /** Which outcomes are what was asked for, with `--wait`; default: Succeeded. */
  readonly wanted?: readonly Outcome[];
}

/** What a request needs besides the cluster. */
export interface VerbOptions extends ObjectOptions {
  readonly revision: string | undefined;
  readonly wait: boolean;
  readonly timeoutMs: number;
  /** Asked for what has an effect to show; absent: not asked. */
  readonly confirm?: Confirm;
  /** What is said of requests that are made and not answered yet, by Canary. */
  readonly unanswered?: Map<string, string>;
}

interface Flags extends WaitFlags {
  readonly yes?: boolean;
  readonly revision?: string;
  readonly to?: string;
}

/** `holdfast promote canary/web` and similar commands: sets the annotation, then reports the answer. */
export function verbCommand(spec: VerbCommand): CliCommand {
  return {
    register(command, context) {
      withObjectFlags(command, 'Canary')
        .addOption(new Option(spec.flag ?? '--revision <commit>', spec.flagMeaning).argParser(revisionName))
        .option('--wait', 'wait until the release is good, failed or held');
      if (spec.effect) command.option('-y, --yes', 'do not ask on a terminal');
      withTimeout(command, 600).action(async (subject: string | undefined, flags: Flags) => {
        const confirm = confirmOn(process, { isYes: flags.yes === true, isQuiet: flags.output !== 'text' });
        await tellingOnInterrupt((unanswered) =>
          onTargets(context, 'Canary', { subject, flags }, (client, target) =>
            begin(client, systemClock, spec, {
              ...target,
              revision: flags.revision ?? flags.to,
              wait: flags.wait === true,
              timeoutMs: flags.timeout * 1000,
              confirm,
              unanswered,
            }),
          ),
        );
      });
    },
  };
}

/** Where Ctrl-C ends the program meanwhile, the lines are printed: what was requested is not taken back by that. */
async function tellingOnInterrupt(work: (lines: Map<string, string>) => Promise<void>): Promise<void> {
  const lines = new Map<string, string>();
  const release = onSignals(() => {
    process.stderr.write([...lines.values()].join(''));
    process.exit(exitCodes.interrupted);
  });
  try {
    await work(lines);
  } finally {
    release();
  }
}

/** Makes the request and reports the answer; with `wait` also where the release came to rest. Throws ApiError and InputError. */
export async function request(
  client: RequestClient,
  clock: Clock,
  spec: VerbCommand,
  options: VerbOptions,
): Promise<CommandResult> {
  return ended(await begin(client, clock, spec, options));
}

/** Makes the request; what it gives waits for the answer. Throws ApiError and InputError. */
export async function begin(
  client: RequestClient,
  clock: Clock,
  spec: VerbCommand,
  options: VerbOptions,
): Promise<Begun> {
  const canary = await readOne(client, 'Canary', options);
  // Its traffic is handed back, and no request is looked at.
  if (canary.metadata.deletionTimestamp !== undefined) {
    const message = 'the Canary is being deleted, so no request is carried out any more';
    return refused(canary, { reason: 'Terminating', message }, options.format);
  }
  // The request would stay on the Canary unanswered, and be carried out when spec.suspend is removed.
  if (isSuspended(canary)) {
    const message =
      'spec.suspend is true, so Holdfast does nothing for it; set it to false where the manifest of the Canary is, then try again';
    return refused(canary, { reason: 'Suspended', message }, options.format);
  }
  try {
    const revision =
      options.revision === undefined
        ? await (spec.revision?.(client, canary) ?? releaseUnderWay(canary, spec.verb))
        : await inFull(client, canary, spec, options.revision);
    const asked = { revision, isNamed: options.revision !== undefined, nowMs: clock.nowMs() };
    const effect = await spec.effect?.(client, canary, asked);
    return await confirmed(client, clock, { spec, options, canary, revision, effect });
  } catch (error) {
    // With -l others follow, which it may fit.
    if (error instanceof UnfitRequestError) return refused(canary, error, options.format);
    throw error;
  }
}

/** The digest of the release under way. Throws UnfitRequestError when there is none. */
export function releaseUnderWay(canary: KubernetesObject, verb: CanaryVerb): string {
  const digest = canaryStatus(canary).run?.digest;
  if (digest) return digest;
  throw nothingUnderWay(canary, verb);
}

/** A revision as the controller takes it: a commit may be shortened, a digest may not, and `holdfast history` prints its beginning. */
async function inFull(
  client: RequestClient,
  canary: KubernetesObject,
  spec: VerbCommand,
  revision: string,
): Promise<string> {
  if (!isDigest(revision)) return revision;
  const { run, lastAppliedSpec } = canaryStatus(canary);
  const known = [run?.digest, lastAppliedSpec, ...((await spec.digests?.(client, canary)) ?? [])];
  const found = [...new Set(known.filter((digest) => digest?.startsWith(revision)))];
  if (found.length > 1 && !found.includes(revision)) {
    const history = `${commandOn('history', nameOf(canary))} -o json`;
    throw new InputError(`${revision} is the beginning of several digests; ${history} prints them whole`);
  }
  return found.length === 1 ? (found[0] ?? revision) : revision;
}

interface Asked {
  readonly spec: VerbCommand;
  readonly options: VerbOptions;
  readonly canary: KubernetesObject;
  readonly revision: string;
  readonly effect: Effect | undefined;
}

async function confirmed(
  client: RequestClient,
  clock: Clock,
  { spec, options, canary, revision, effect }: Asked,
): Promise<Begun> {
  if (effect && options.confirm && !(await options.confirm(effectLines(canary, spec.name, effect)))) {
    const stderr = `${describe(canary)}: nothing was requested\n`;
    const exitCode = exitCodes.bad;
    const body = { exitCode, reason: 'NotConfirmed', message: 'nothing was requested' };
    const stdout = options.format === 'text' ? '' : failureDocument(body, options.format);
    return { stdout, stderr, exitCode };
  }
  const value = tokenFor(revision, clock.nowMs());
  const { handled, run } = canaryStatus(canary);
  const before = handled?.[spec.verb];
  const isUnderWay = [run?.digest, run?.commit].some((one) => one?.startsWith(revision));
  const subject = describe(canary);
  // Before it is made: who interrupts the write itself is not told whether it was.
  options.unanswered?.set(subject, `${subject}: ${spec.verb} stays requested. ${withdrawal(canary, spec)}\n`);
  await annotate(client, canary, spec.verb, value).catch((error: unknown) => {
    options.unanswered?.delete(subject);
    throw error;
  });
  const digest = isUnderWay ? run?.digest : undefined;
  const asked = { spec, options, canary, value, before, digest, askedMs: clock.nowMs() };
  return () => answerOf(client, clock, asked);
}

interface Requested extends Pick<Asked, 'spec' | 'options' | 'canary'> {
  readonly value: string;
  /** The request that was handled last before it. */
  readonly before: string | undefined;
  /** Of the release that was under way and is meant; undefined: another one is to be. */
  readonly digest: string | undefined;
  readonly askedMs: number;
}

/** The time counts from the request: others may have been waited for since. */
async function answerOf(
  client: RequestClient,
  clock: Clock,
  { spec, options, canary, value, before, digest, askedMs }: Requested,
): Promise<CommandResult> {
  const leftMs = (timeoutMs: number) => askedMs + timeoutMs - clock.nowMs();
  const readStatus = async () => canaryStatus(await readOne(client, 'Canary', options));
  const answer = await pollUntil(clock, leftMs(Math.min(answerMs, options.timeoutMs)), async () => {
    const { handled, answers } = await readStatus();
    const last = handled?.[spec.verb];
    // Another person may have made the same request a moment later, which replaces this one.
    const isMeant = last === value || (last !== before && last?.split('@')[0] === value.split('@')[0]);
    return isMeant ? answers?.[spec.verb] : undefined;
  });
  options.unanswered?.delete(describe(canary));
  if (!answer || answer.result === 'Refused' || !options.wait)
    return report(canary, spec, options, { value, answer });
  let awaited: string | undefined;
  const rest = await pollUntil(clock, leftMs(options.timeoutMs), async () => {
    const now = await readOne(client, 'Canary', options);
    const status = canaryStatus(now);
    awaited = whatGoesOn(now);
    // The write that holds the answer says nothing of what follows from it: that comes with a later one, which may be there already.
    return status.lastTransitionTime === answer.time ? undefined : endAfter(status, answer, digest);
  });
  return report(canary, spec, options, {
    value,
    answer,
    ...(rest ?? { outcome: 'TimedOut' as const, why: awaited }),
  });
}

/** Where the release of this digest came to rest since the answer, also if another one has begun; without a digest whatever is under way. */
function endAfter(
  status: CanaryStatus,
  { time }: RequestAnswer,
  digest: string | undefined,
): Pick<Report, 'outcome' | 'why'> | undefined {
  const { history = [], run } = status;
  const past = history.find(
    (entry) => entry.digest === digest && Date.parse(entry.endTime) > Date.parse(time),
  );
  const isReplaced = digest !== undefined && run !== undefined && run.digest !== digest;
  const outcome = past ? pastOutcome(past) : isReplaced ? 'Superseded' : outcomeOf(status);
  if (outcome === 'Failed') return { outcome, why: whyFailed(status) ?? past?.message };
  return outcome && { outcome, why: outcome === 'Held' ? status.message : undefined };
}

/** Holdfast answers at its next reconcile; longer means that it does not run. */
const answerMs = 30_000;

interface Report {
  readonly value: string;
  readonly answer: RequestAnswer | undefined;
  readonly outcome?: Outcome | 'TimedOut';
  /** Why it failed or is held, or what it waits for. */
  readonly why?: string | undefined;
}

function report(
  canary: KubernetesObject,
  spec: VerbCommand,
  { format }: VerbOptions,
  { value, answer, outcome, why }: Report,
): CommandResult {
  const { namespace, name } = canary.metadata;
  const exitCode = codeOf(spec, answer, outcome);
  if (format !== 'text') {
    const data = { canary: `${namespace}/${name}`, verb: spec.verb, value, ...answer, outcome, why };
    return { stdout: formatOutput('RequestResult', data, format), stderr: '', exitCode };
  }
  const subject = `${describe(canary)}: `;
  if (!answer) {
    const why = 'something else has to end first, or no controller runs, which holdfast check says';
    const stderr = `${subject}${spec.verb} is requested but not handled yet: ${why}. ${withdrawal(canary, spec)}\n`;
    return { stdout: '', stderr, exitCode };
  }
  const how = answer.result === 'Refused' ? `refused (${answer.reason}): ` : '';
  const line = `${printable(`${subject}${how}${answer.message}`)}\n`;
  const ended = outcome === undefined ? '' : `${printable(`${subject}${outcome}${why ? `: ${why}` : ''}`)}\n`;
  const stdout = answer.result === 'Refused' ? '' : line + ended;
  return { stdout, stderr: answer.result === 'Refused' ? line : '', exitCode };
}

function withdrawal({ metadata: { namespace, name } }: KubernetesObject, { verb }: VerbCommand): string {
  const withdraw = `kubectl -n ${namespace} annotate canary/${name} ${annotationPrefix}${verb}-`;
  return `It is carried out later; to withdraw it, run: ${withdraw}`;
}

function codeOf(spec: VerbCommand, answer: Report['answer'], outcome: Report['outcome']): 0 | 1 | 3 | 4 {
  if (!answer) return exitCodes.timedOut;
  if (answer.result === 'Refused') return exitCodes.bad;
  if (outcome === undefined) return exitCodes.good;
  if ((spec.wanted ?? ['Succeeded']).some((wanted) => wanted === outcome)) return exitCodes.good;
  return outcomeCodes[outcome] || exitCodes.bad;
}
