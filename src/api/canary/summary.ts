/** How the status of a Canary, and the message of a Source, read in few words: the same on the command line and the dashboard. */

import { type Condition, conditionOf, isRecord, type KubernetesObject } from '../kubernetes.ts';
import { actOn } from '../reasons.ts';
import { unpackStatus } from './bookkeeping.ts';
import { sharesWorkload } from './canary.ts';
import { type CanaryStatus, writtenCondition } from './status.ts';

/** bad: a person should look; busy: something is under way; good: the newest release serves; none: not looked at yet. */
export type StatusTone = 'bad' | 'busy' | 'none' | 'good';

/** The tones, the most urgent first. */
export const urgency: readonly StatusTone[] = ['bad', 'busy', 'none', 'good'];

/** The whole status of a Canary; an empty one before Holdfast has looked at it. Fields of other types are the API server's to refuse. */
export function canaryStatus({ status }: KubernetesObject): CanaryStatus {
  return isRecord(status) ? unpackStatus(status as CanaryStatus) : {};
}

/** Conditions that may need a person although Ready is True, and the status that says so. */
const beside: ReadonlyArray<readonly [type: string, status: string]> = [
  ['RollbackReady', 'False'],
  [writtenCondition, 'False'],
  ['Drifted', 'True'],
];

/** The conditions besides Ready that ask for a person, with a reason of their own. */
export function troublesBeside(status: CanaryStatus): Condition[] {
  const ready = conditionOf(status, 'Ready');
  return beside.flatMap(([type, bad]) => {
    const found = conditionOf(status, type);
    return found?.status === bad && found.reason !== ready?.reason && actOn(found.reason) !== undefined
      ? [found]
      : [];
  });
}

/** The first seven digits of a commit. */
export function shortCommit(commit: string | undefined): string {
  return (commit ?? '').slice(0, 7);
}

/** What a share is of, where it is not of the traffic: rolled out in place, of the pods. */
export function shareOf({ provider }: CanaryStatus): string {
  return sharesWorkload(provider) ? ' % of pods' : '';
}

/**
 * Whether the last-known-good serves and nothing is under way: then a rollback goes to the good release before it. Under `onFailure: halt` another
 * release may be left on the primary.
 */
export function lastKnownGoodServes({ run, serving = [], lastKnownGood }: CanaryStatus): boolean {
  return !run && serving.every(({ digest }) => digest === lastKnownGood?.digest);
}

/** The record of the last-known-good is lost or damaged: nothing that was written to the primary can be taken back to it. */
export function isGoodLost(status: CanaryStatus): boolean {
  return conditionOf(status, 'RollbackReady')?.reason === 'RecordDamaged';
}

/** The release under way ends, is taken back, or was: requests about it are refused. */
export function isEnding({ run, phase, postPromotion, lastKnownGood }: CanaryStatus): boolean {
  const { state } = postPromotion ?? {};
  const isTakenBack = state === 'Reverting' || (state === 'Held' && phase === 'Failed');
  const isProven = state !== undefined && run?.digest !== undefined && run.digest === lastKnownGood?.digest;
  return run?.ending !== undefined || isTakenBack || isProven;
}

/** Digest of the release at head, if it was rejected: what a retry is about. */
export function rejectedHead({ run, lastAppliedSpec, rejected = [] }: CanaryStatus): string | undefined {
  return [lastAppliedSpec, run?.digest].find((head) => rejected.some(({ digest }) => digest === head));
}

/**
 * Which requests let the release that waits go on: `approve` where it is at a gate, `ignoreWindow` where a window or a freeze holds it. The run keeps
 * that it waits for a window also while that is open and its gate is what is closed.
 */
export function opensFor(status: CanaryStatus): {
  readonly approve: boolean;
  readonly ignoreWindow: boolean;
} {
  const { run, phase } = status;
  const reason = conditionOf(status, 'Ready')?.reason ?? '';
  const ignoreWindow = run !== undefined && (reason === 'WaitingForWindow' || reason === 'Frozen');
  const isAtStart = phase === 'Waiting' && (!ignoreWindow || run.awaitsConfirmation === true);
  const isAtGate = isAtStart || phase === 'WaitingPromotion';
  return { ignoreWindow, approve: run !== undefined && isAtGate && !isEnding(status) };
}

/** `Promoting (Held)`; `-` before Holdfast has looked at it. */
export function phaseOf(object: KubernetesObject): string {
  const { phase, postPromotion } = canaryStatus(object);
  if (!phase) return '-';
  return postPromotion ? `${phase} (${postPromotion.state})` : phase;
}

/** How urgently a person should look at a Canary. */
export function toneOf(object: KubernetesObject): StatusTone {
  const status = canaryStatus(object);
  const isTrue = (type: string) => conditionOf(status, type)?.status === 'True';
  const state = status.postPromotion?.state;
  if (status.phase === 'Failed' || state === 'Held' || state === 'Reverting' || isTrue('Stalled'))
    return 'bad';
  if (isTrue('Ready')) return 'good';
  return status.phase ? 'busy' : 'none';
}

/** The finding for which the last release failed; undefined unless the phase is Failed. */
export function whyFailed(status: CanaryStatus): string | undefined {
  if (status.phase !== 'Failed') return undefined;
  const { incidents = [], history = [], rejected = [], lastAppliedCommit } = status;
  const commit = rejected.at(-1)?.commit ?? lastAppliedCommit;
  const report = incidents.find((entry) => entry.commit === commit && entry.finding);
  const past = history.find((entry) => entry.commit === commit && entry.result === 'Failed');
  return report?.finding ?? past?.message;
}

/** The message of an object without a status. */
export const notReconciled = 'not reconciled by Holdfast yet; holdfast check and holdfast events say why';

/** What must end before a Canary goes on, by a person if it is Stalled; undefined: nothing, or its message already says it. */
export function whatStalls(object: KubernetesObject): string | undefined {
  const status = canaryStatus(object);
  const said = messageOf(object);
  return [stallOf(status), whyNotReady(status)].find((text) => text !== undefined && !said.includes(text));
}

function whyNotReady(status: CanaryStatus): string | undefined {
  const ready = conditionOf(status, 'Ready');
  return ready?.status === 'False' ? ready.message : undefined;
}

/** What only a person can end; undefined: nothing stops the Canary. */
export function stallOf(status: CanaryStatus): string | undefined {
  const stalled = conditionOf(status, 'Stalled');
  return stalled?.status === 'True' ? stalled.message : undefined;
}

/** What is going on with a Canary, in one line. The message of its status is cut there, so a condition Ready that holds it says more. */
export function messageOf(object: KubernetesObject): string {
  const status = canaryStatus(object);
  const { message, phase } = status;
  const why = whyNotReady(status);
  if (message === undefined) return why ?? (phase ? '' : notReconciled);
  return why?.includes(message.replace(/…$/, '')) ? why : message;
}

/** What is going on with a Source. The message of its status is cut after one line, so a condition Ready that is False says more. */
export function sourceMessageOf({ status }: KubernetesObject): string {
  const { message, conditions } = (status ?? {}) as { message?: string; conditions?: Condition[] };
  const ready = conditionOf({ conditions }, 'Ready');
  return ready?.status === 'False' ? ready.message : (message ?? (status ? '' : notReconciled));
}

/** Why the last release failed, or why the Canary is stalled; empty if the message already says it. */
export function reasonBehind(object: KubernetesObject): string {
  const why = whyFailed(canaryStatus(object)) ?? whatStalls(object) ?? '';
  return messageOf(object).includes(why) ? '' : why;
}
