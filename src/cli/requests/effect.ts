import { createInterface } from 'node:readline/promises';
import type { CanaryVerb } from '../../api/annotations.ts';
import type { CanaryStatus } from '../../api/canary/status.ts';
import { canaryStatus, isEnding } from '../../api/canary/summary.ts';
import { commandOn, describe, type KubernetesObject, nameOf } from '../../api/kubernetes.ts';
import type { RolloutReason } from '../../api/reasons.ts';
import type { RecordView } from '../../rollout/world.ts';
import { formatAge, printable } from '../../terminal/output.ts';
import { commitLine, commitSubject } from '../status/rows.ts';

/** What a request would do, shown before it is made. */
export interface Effect {
  /** The release that loses the traffic. */
  readonly from: string;
  readonly to: string;
  readonly effect: string;
}

/** A request that does not fit the state of its Canary, which is seen before it is made; the controller would refuse it with this reason. */
export class UnfitRequestError extends Error {
  readonly reason: Extract<RolloutReason, 'NotApplicable' | 'NotKept'>;

  constructor(reason: UnfitRequestError['reason'], message: string) {
    super(message);
    this.name = 'UnfitRequestError';
    this.reason = reason;
  }
}

/** Shows these lines and asks whether to continue; true: yes. */
export type Confirm = (lines: readonly string[]) => Promise<boolean>;

/** An effect in lines, under the name of the Canary. */
export function effectLines(canary: KubernetesObject, what: string, { from, to, effect }: Effect): string[] {
  return [`${describe(canary)}: ${what}`, `  from    ${from}`, `  to      ${to}`, `  effect  ${effect}`].map(
    printable,
  );
}

/** What `abort` would do. Throws UnfitRequestError when no release is under way, or the first one, or one that ends. */
export function abortEffect(canary: KubernetesObject): Effect {
  const status = canaryStatus(canary);
  const { run, lastKnownGood } = status;
  if (!run) throw nothingUnderWay(canary, 'abort');
  if (isEnding(status)) throw endsAlready(canary, status);
  if (!lastKnownGood)
    throw new UnfitRequestError(
      'NotApplicable',
      'no release has been proven good yet, so there is none to go back to; commit a fix, which takes the place of this one',
    );
  return {
    from: named(canary, run.commit),
    to: `${named(canary, lastKnownGood.commit)} (last known good)`,
    effect:
      'the rollout ends, the last known good release serves, and this release is not tried again until holdfast retry or another commit. Git stays as it is',
  };
}

function endsAlready(canary: KubernetesObject, { run, lastKnownGood }: CanaryStatus): UnfitRequestError {
  const why =
    run?.digest === lastKnownGood?.digest
      ? `is promoted and counts as good already; to go back to an earlier release: ${commandOn('rollback', nameOf(canary))}`
      : 'is being taken back already, or was';
  return new UnfitRequestError('NotApplicable', `${named(canary, run?.commit)} ${why}`);
}

/**
 * What `rollback` would do. Throws UnfitRequestError where the primary runs the last known good release after a failure and no other one was named:
 * the release before it is not what anybody wants back by default.
 */
export function rollbackEffect(
  canary: KubernetesObject,
  wanted: Pick<RecordView, 'digest' | 'promotedTime'> & {
    readonly commit: { readonly commit: string; readonly subject: string };
  },
  { isNamed, nowMs }: { isNamed: boolean; nowMs: number },
): Effect {
  const { run, phase, postPromotion, lastKnownGood, serving = [] } = canaryStatus(canary);
  const isOlder = lastKnownGood !== undefined && wanted.digest !== lastKnownGood.digest;
  const isRevertFailed = phase === 'Failed' && postPromotion?.state === 'Held';
  const isOn = isRevertFailed || (isOlder && !run && phase === 'Failed');
  if (lastKnownGood && isOn && !isNamed) {
    const how = isRevertFailed ? 'is on the primary already' : 'serves already';
    throw new UnfitRequestError(
      'NotApplicable',
      `the release at head has failed, and ${named(canary, lastKnownGood.commit)}, the last known good release, ${how}. To replace that one too, name an older release with --to; they are listed by: ${commandOn('history', nameOf(canary))}`,
    );
  }
  const since = formatAge(wanted.promotedTime, nowMs);
  const takesAway = isOlder ? '; it replaces the last known good release' : '';
  return {
    from: named(canary, run?.commit ?? serving[0]?.commit ?? lastKnownGood?.commit),
    to: `${commitLine(wanted.commit.commit, wanted.commit.subject)}${since && ` (good since ${since})`}`,
    effect: `${isOlder ? 'the older release is tried on the canary without analysis and then promoted' : 'the rollout ends and the last known good release serves'}${takesAway}; the release at head is not tried again until holdfast retry or another commit. Git stays as it is`,
  };
}

/** A release that was named, as far as the status knows it. */
export function asNamed(canary: KubernetesObject, revision: string): Parameters<typeof rollbackEffect>[1] {
  const { lastKnownGood, history = [] } = canaryStatus(canary);
  const past = [...(lastKnownGood ? [lastKnownGood] : []), ...history].find(
    ({ digest, commit }) => digest.startsWith(revision) || commit.startsWith(revision),
  );
  const { digest = revision, commit = revision } = past ?? {};
  return {
    digest,
    commit: { commit, subject: commitSubject(canary, commit) ?? '' },
    promotedTime: lastKnownGood?.digest === digest ? lastKnownGood.promotedTime : undefined,
  };
}

/** No release is under way; with the command that does what was probably meant. */
export function nothingUnderWay(canary: KubernetesObject, verb: CanaryVerb): UnfitRequestError {
  const { phase } = canaryStatus(canary);
  const say = (what: string, command: string) => `; ${what}: ${commandOn(command, nameOf(canary))}`;
  let hint = '';
  if (verb === 'abort' && phase === 'Succeeded') hint = say('to go back to an earlier release', 'rollback');
  if (verb === 'promote' && phase === 'Failed') hint = say('to try the rejected release again', 'retry');
  return new UnfitRequestError('NotApplicable', `no rollout is in progress${hint}`);
}

function named(canary: KubernetesObject, commit: string | undefined): string {
  return commitLine(commit, commitSubject(canary, commit)) || 'a release without a commit';
}

/**
 * On a terminal the lines and a question, which only y or yes answers with yes; elsewhere and with `isYes` the lines alone. They go to
 * standard error, since standard output is for the answer. After Ctrl-C nothing more is asked: the answer is no.
 */
export function confirmOn(
  { stdin, stderr }: { stdin: NodeJS.ReadStream; stderr: NodeJS.WriteStream },
  { isYes, isQuiet }: { readonly isYes: boolean; readonly isQuiet: boolean },
): Confirm {
  let isEnded = false;
  return async (lines) => {
    const asks = !isYes && stdin.isTTY === true && stderr.isTTY === true;
    if (asks && isEnded) return false;
    if (asks || !isQuiet) stderr.write(`${lines.join('\n')}\n`);
    if (!asks) return true;
    const terminal = createInterface({ input: stdin, output: stderr });
    // Ctrl-C, Ctrl-D and a closed terminal are no answer, and leave the cursor behind the question.
    const closed = new Promise<string>((resolve) => terminal.once('close', () => resolve('\n')));
    try {
      const answer = await Promise.race([terminal.question('Go on? [y/N] '), closed]);
      isEnded = answer === '\n';
      if (isEnded) stderr.write(answer);
      return /^y(es)?$/i.test(answer.trim());
    } finally {
      terminal.close();
    }
  };
}
