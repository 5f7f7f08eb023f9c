import type { CanaryStatus, PostPromotionState, PostPromotionStatus } from '../api/canary-status.ts';
import type { RolloutReason } from '../api/reasons.ts';
import type { Action, CheckRequest, RolloutEvent } from './action.ts';
import { copy } from './copy.ts';
import type { Plan } from './plan.ts';
import { progressKey } from './progress.ts';
import { type Run, runOf } from './run.ts';
import { sinceMs, stamp } from './units.ts';
import type { WorkloadView, World } from './world.ts';

/** A decision in the making: phases fill it in, finish.ts turns it into a Decision. */
export interface Draft {
  readonly world: World;
  readonly plan: Plan;
  /** Working copy; conditions, weights and the message are derived at the end. */
  status: CanaryStatus;
  run: Run | undefined;
  readonly actions: Action[];
  readonly events: RolloutEvent[];
  check: CheckRequest | undefined;
  intentFirst: boolean;
  /** Nothing is known yet: the status stays as it was found. */
  leavesStatus: boolean;
  wakeAfterMs: number | undefined;
  /** What is going on, for the status line; `stalled`: a person must act. */
  note: { reason: RolloutReason; message: string; stalled: boolean } | undefined;
  next: { action: string; timeMs?: number } | undefined;
}

/** An empty draft on top of what was observed. */
export function newDraft(world: World, plan: Plan): Draft {
  return {
    world,
    plan,
    status: copy(world.status),
    run: runOf(world.status),
    actions: [],
    events: [],
    check: undefined,
    intentFirst: false,
    leavesStatus: false,
    wakeAfterMs: undefined,
    note: undefined,
    next: undefined,
  };
}

/** Adds actions, done in order. */
export function act(draft: Draft, ...actions: Action[]): void {
  draft.actions.push(...actions);
}

/** Writes a release to the primary, over exactly the version that was observed (S17). */
export function applyPrimary(draft: Draft, digest: string): void {
  const { primary } = draft.world;
  const precondition = primary && { uid: primary.uid, resourceVersion: primary.resourceVersion };
  act(draft, { type: 'ApplyPrimary', digest, precondition });
}

/** Tells people once; callers do so only on a change. */
export function say(draft: Draft, type: RolloutEvent['type'], reason: RolloutReason, message: string): void {
  draft.events.push({ type, reason, message });
}

/** What the status line says, and optionally what comes next by itself. */
export function note(draft: Draft, reason: RolloutReason, message: string, next?: Draft['next']): void {
  draft.note = { reason, message, stalled: false };
  draft.next = next;
}

/** As note, for what only a person can change. */
export function stall(draft: Draft, reason: RolloutReason, message: string): void {
  draft.note = { reason, message, stalled: true };
  draft.next = undefined;
}

/** Steps again after this time at the latest. */
export function wakeIn(draft: Draft, delayMs: number): void {
  const wanted = Math.max(1, delayMs);
  draft.wakeAfterMs = Math.min(draft.wakeAfterMs ?? wanted, wanted);
}

/** Milliseconds until `durationMs` have passed since a stamp; 0 when they have. Schedules the wake-up. */
export function remainingMs(draft: Draft, since: string | undefined, durationMs: number): number {
  const remaining = Math.max(0, durationMs - sinceMs(draft.world.nowMs, since));
  if (remaining > 0) wakeIn(draft, remaining);
  return remaining;
}

/** Now, as status stamps are written. */
export function now(draft: Draft): string {
  return stamp(draft.world.nowMs);
}

/** Where the analysis stands, as read back: a step that was left out once is not left out again after a crash. */
export function positionOf(draft: Draft): string {
  return `${draft.world.route?.canaryWeight ?? 0}/${draft.status.iterations ?? 0}`;
}

/** Moves to a post-promotion state and stamps it; counters are kept. */
export function enter(draft: Draft, state: PostPromotionState, reason: RolloutReason): PostPromotionStatus {
  const before = draft.status.postPromotion;
  const post: PostPromotionStatus = { ...before, state, reason };
  if (before?.state !== state) post.startTime = now(draft);
  draft.status.postPromotion = post;
  return post;
}

/** Remembers when the workload that is waited for last made progress; returns the time without progress. */
export function trackProgress(draft: Draft, run: Run, view: WorkloadView | undefined): number {
  const key = progressKey(run.progressKey, view);
  if (run.progressKey !== key || run.lastProgressTime === undefined) {
    run.progressKey = key;
    run.lastProgressTime = now(draft);
  }
  return sinceMs(draft.world.nowMs, run.lastProgressTime);
}

/** Starts the progress clock anew, for another thing to wait for. */
export function restartProgress(draft: Draft, run: Run): void {
  delete run.progressKey;
  run.lastProgressTime = now(draft);
}
