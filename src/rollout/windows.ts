/**
 * Windows of a Source delay only the start of rollouts: one that began is finished (design section 2.2). A freeze and a pause also keep it at
 * its step (ADR 44). Reverts are never delayed.
 */

import { pauseAnnotation } from '../api/annotations.ts';
import type { CanaryStatus } from '../api/canary/status.ts';
import { commandOn, nameOf } from '../api/kubernetes.ts';
import { limits } from '../api/limits.ts';
import { stamp } from '../api/time.ts';
import type { Context } from './context.ts';
import { type Effects, type Next, note, wake } from './outcome.ts';
import { namesRelease } from './requests.ts';
import { type FreezeView, type ReleaseView, type Run, rejectionOf, soundRecord } from './world.ts';

/** A run, or a release at head. */
interface ReleaseRef {
  readonly digest: string;
  readonly commit: string;
}

/** Milliseconds until the window lets this release start; 0: it may start. */
export function windowWaitMs(context: Context, release: ReleaseRef, run: Run | undefined): number {
  const { window, freeze } = context.world;
  const nowMs = calendarMs(context);
  const closedMs = !window || window.open ? 0 : (window.nextOpeningMs ?? nowMs) - nowMs;
  const leftMs = Math.max(closedMs, leftOf(freeze, nowMs));
  return leftMs <= 0 || isExempt(context, release, run) ? 0 : leftMs;
}

/** Times of windows and freezes are those of a calendar, which no deadline is. */
function calendarMs({ world }: Context): number {
  return world.nowMs + (world.calendarAheadMs ?? 0);
}

/** After this time it is looked again: a freeze may have no end, whose deletion is noticed at once, and the calendar may be set meanwhile. */
export const LOOK_AGAIN_MS = 3_600_000;

/** Steps again when the wait for a window is over. */
export function wakeForWindow(leftMs: number): Effects {
  return wake(Math.min(leftMs, LOOK_AGAIN_MS));
}

function leftOf(freeze: FreezeView | undefined, nowMs: number): number {
  if (!freeze) return 0;
  return freeze.untilMs === undefined ? LOOK_AGAIN_MS : Math.max(0, freeze.untilMs - nowMs);
}

/**
 * What keeps a release at its step and from being promoted on purpose: the pause of its Canary, or a freeze. Checks continue, and so do a
 * revert, a rollback that a person asked for, and under a freeze every release that windows do not apply to.
 */
export function isPaused(context: Context, run: Run): boolean {
  if (run.rollback) return false;
  return isPausedByHand(context) || isStepFrozen(context, run);
}

/** Whether a freeze keeps a release that has started at its step. */
export function isStepFrozen(context: Context, run: Run): boolean {
  return leftOf(context.world.stepFreeze, calendarMs(context)) > 0 && !isExempt(context, run, run);
}

function isPausedByHand({ world }: Context): boolean {
  return world.canary.metadata.annotations?.[pauseAnnotation] === 'true';
}

/** What has to come before a paused release continues, as a clause; undefined: it is not paused. */
export function untilResumed(context: Context, run: Run): string | undefined {
  if (!isPaused(context, run)) return undefined;
  return isPausedByHand(context)
    ? 'holdfast resume ends the pause'
    : 'the freeze is over, or holdfast ignore-window lets it through';
}

/** Reports why a release is paused; `where` it is. */
export function notePause(context: Context, where: string): Effects {
  if (isPausedByHand(context))
    return note('Paused', `paused ${where} by annotation holdfast.dev/pause; remove it to continue`, {
      action: 'the rollout continues once it is resumed',
    });
  const { stepFreeze } = context.world;
  return note('Frozen', `frozen ${where} ${describeFreeze(stepFreeze)}`, nextAfterFreeze(stepFreeze));
}

/** `by ConfigMap shop/holdfast-freeze until 2026-03-01T18:00:00Z: sale of the year`. */
export function describeFreeze(freeze: FreezeView | undefined): string {
  if (!freeze) return '';
  const end = freeze.untilMs === undefined ? 'until it is lifted' : `until ${stamp(freeze.untilMs)}`;
  return `by ${freeze.by} ${end}: ${freeze.reason}`;
}

function nextAfterFreeze(freeze: FreezeView | undefined): Next {
  return freeze?.untilMs === undefined
    ? { action: 'the rollout continues once the freeze is lifted' }
    : { action: 'the rollout continues', timeMs: freeze.untilMs };
}

/** Head, if it may change the release under way: not while its window is closed and the release has started, nor during a rollback that a person asked for. */
export function headForRun(context: Context, run: Run): ReleaseView | undefined {
  const { head } = context;
  if (!head || run.rollback) return undefined;
  if (head.digest === run.digest || run.awaitsWindow || run.awaitsConfirmation) return head;
  return windowWaitMs(context, { digest: head.digest, commit: head.commit.commit }, run) > 0
    ? undefined
    : head;
}

/**
 * What is waited for where the release under way does not end by itself, and head may not take its place before its window opens; undefined:
 * no head waits for that.
 */
export function headBehindWindow(
  context: Context,
  run: Run,
): { readonly next: Next; readonly waits: Effects } | undefined {
  const { head, good, world } = context;
  if (!head || [run.digest, run.rollback?.digest, good?.digest].includes(head.digest)) return undefined;
  const { commit } = head.commit;
  const leftMs = windowWaitMs(context, { digest: head.digest, commit }, run);
  if (leftMs <= 0) return undefined;
  const id = commit.slice(0, 7) || head.digest;
  const isEndless = world.freeze !== undefined && world.freeze.untilMs === undefined;
  const when = isEndless ? ' once the freeze is lifted' : '';
  const tried = `the newer ${id} is tried${when}`;
  const atOnce = commandOn('ignore-window', nameOf(world.canary));
  const whole = `${tried} (at once with: ${atOnce} --revision ${id})`;
  // A command that is cut short is of no use.
  const action =
    whole.length > limits.messageCharacters ? `${tried} (at once with holdfast ignore-window)` : whole;
  return {
    next: { action, ...(isEndless ? {} : { timeMs: calendarMs(context) + leftMs }) },
    waits: wakeForWindow(leftMs),
  };
}

/** What has to come before a release that waits for its window may start, as clauses. */
export function untilWindowOpens(context: Context): string[] {
  const { freeze, window } = context.world;
  return [
    ...(leftOf(freeze, calendarMs(context)) > 0 ? ['the freeze is over'] : []),
    ...(window?.open === false ? ['its window is open'] : []),
  ];
}

/** Reports until when a release waits; the message stays the same while it waits. */
export function noteWindow(context: Context, what: string): Effects {
  const { freeze, window } = context.world;
  const nowMs = calendarMs(context);
  if (leftOf(freeze, nowMs) > 0)
    return note('Frozen', `${what} waits: frozen ${describeFreeze(freeze)}`, nextAfterFreeze(freeze));
  const timeMs = window?.nextOpeningMs ?? nowMs;
  const message = `${what} waits for its window, which opens at ${stamp(timeMs)}`;
  return note('WaitingForWindow', message, { action: 'the rollout starts', timeMs });
}

/**
 * Windows do not apply to proven releases, which are a way back, nor to rejected ones, which are not started. A person may exempt one
 * revision: this is read from the answer to the request, so that it lasts as long as the revision. The same release may have had another
 * commit first.
 */
function isExempt(context: Context, release: ReleaseRef, run: Run | undefined): boolean {
  const { good } = context;
  const { digest } = release;
  const isProven = soundRecord(context.world, digest)?.promotedTime !== undefined;
  if (isProven || digest === good?.digest || rejectionOf(context, digest)) return true;
  const value = letThrough(context.world.status);
  if (value === undefined) return false;
  const request = { verb: 'ignore-window', value, revision: value.split('@')[0] ?? '' };
  return namesRelease(request, release) || (run?.digest === digest && namesRelease(request, run));
}

/** In `status.handled`: the request that let a revision through, while a later one that was refused stands in its place. */
export const LET_THROUGH = 'let-through';

/** The request that lets one revision through: one that is refused takes nothing back. */
export function letThrough({
  handled,
  answers,
}: Pick<CanaryStatus, 'handled' | 'answers'>): string | undefined {
  return handled?.[answers?.['ignore-window']?.result === 'Done' ? 'ignore-window' : LET_THROUGH];
}
