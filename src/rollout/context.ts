/** What a decision starts from: what is derived once per step from the world, and how long things have lasted in it. */
import { type Plan, planOf } from '../api/canary/plan.ts';
import type { CanaryStatus } from '../api/canary/status.ts';
import { present } from '../api/kubernetes.ts';
import { sinceMs, stamp } from '../api/time.ts';
import { enoughPods } from '../health/comparison.ts';
import { reachableCanaryPods, type WorkloadView } from '../health/workload-view.ts';
import { commitInFull } from './commits.ts';
import {
  headRelease,
  lastKnownGood,
  type RecordView,
  type RejectionView,
  type ReleaseView,
  type Run,
  rejectionsOf,
  type Watched,
  type World,
} from './world.ts';

/** What every part of a decision reads: the world, and what is derived from it once per step. */
export interface Context {
  readonly world: World;
  readonly plan: Plan;
  /** Now, in the format of times in the status. */
  readonly now: string;
  /** The last-known-good; undefined until a release has proven itself. */
  readonly good: RecordView | undefined;
  /** Every rejection in force. */
  readonly rejections: readonly RejectionView[];
  /** Head's release, with the commit in which its digest was seen first (issue 11, 19). */
  readonly head: ReleaseView | undefined;
}

/** The context of one step. */
export function contextOf(given: World): Context {
  const now = stamp(given.nowMs);
  const world = { ...given, status: timersOf(given.status, now) };
  const plan = planOf(world.canary, world.options);
  return {
    world,
    plan,
    now,
    good: lastKnownGood(world),
    rejections: rejectionsOf(world),
    head: headWithFirstCommit(world),
  };
}

/** The status with the timers that are no part of a release; those of a release are in its state. */
function timersOf(status: CanaryStatus, now: string): CanaryStatus {
  const { move, handBack, otherBackends, scaledDown } = status;
  if (!move && !handBack && !otherBackends && !scaledDown) return status;
  return { ...status, ...notInTheFuture(present({ move, handBack, otherBackends, scaledDown }), now) };
}

/** Times ahead of our clock, written by another one, count as now: a timer that waits for them would never fire (S30). */
export function notInTheFuture<T extends object>(value: T, now: string): T {
  const entries = Object.entries(value).map(([key, part]) => {
    if (part !== null && typeof part === 'object' && !Array.isArray(part))
      return [key, notInTheFuture(part, now)];
    const isStamp = typeof part === 'string' && /^since$|Since$|[tT]ime$/.test(key);
    return [key, isStamp && Date.parse(part) > Date.parse(now) ? now : part];
  });
  return Object.fromEntries(entries) as T;
}

/** While its digest is being rolled out, or was started last, head keeps the commit in which the digest was seen first. */
function headWithFirstCommit(world: World): ReleaseView | undefined {
  const head = headRelease(world);
  const { run, lastAppliedSpec, lastAppliedCommit } = world.status;
  const isUnderWay = head !== undefined && run?.digest === head.digest;
  const appliedCommit = lastAppliedSpec === head?.digest ? lastAppliedCommit : undefined;
  const first = isUnderWay ? run.commit : appliedCommit;
  if (!head || !first || first === head.commit.commit) return head;
  const subject = isUnderWay && typeof run.subject === 'string' ? run.subject : undefined;
  return { ...head, commit: commitInFull(world, first, subject) };
}

/**
 * Milliseconds since a time, never negative; absent: 0. A time that another leader wrote counts as at most one interval before this process
 * became leader, and as that moment at the latest: a wrong clock neither skips a check nor makes a deadline pass, nor keeps one away (S30).
 */
export function elapsedMs({ world, plan }: Context, time: string | undefined): number {
  const { nowMs, leadingSinceMs } = world;
  const elapsed = sinceMs(nowMs, time, nowMs - (leadingSinceMs ?? nowMs));
  if (leadingSinceMs === undefined || nowMs - elapsed >= leadingSinceMs) return elapsed;
  return Math.min(elapsed, nowMs - leadingSinceMs + plan.intervalMs);
}

/** Milliseconds until `durationMs` have passed since a time; 0 if they have. */
export function remainingMs(context: Context, since: string | undefined, durationMs: number): number {
  return Math.max(0, durationMs - elapsedMs(context, since));
}

/** The later of two times; a check counts from the last check or from the last change of traffic. */
export function later(a: string | undefined, b: string | undefined): string | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Date.parse(a) >= Date.parse(b) ? a : b;
}

// What counts as progress of a workload that is waited for (design section 2.3, progressDeadlineSeconds).

/** Pods of a workload: `updated` and `ready` ones make progress by coming, `old` ones by going; complete: all that are asked for are ready. */
interface Counts {
  readonly digest: string;
  readonly updated: number;
  readonly ready: number;
  readonly old: number;
  readonly isComplete: boolean;
}

/** Changes with every change of a workload's pods, after which traffic waits until endpoints had time to follow. */
export function podsKey(view: WorkloadView | undefined): string {
  return view ? `${view.digest ?? ''}:${view.updatedReplicas}:${view.availableReplicas}` : 'absent';
}

/**
 * The best counts of a workload so far, given the key before; the deadline counts from its last change. Pods that become ready and unready
 * again and again are progress only once. A workload that was complete, by its ready threshold, starts over when it is so no more, or when its
 * controller has yet to see how many pods it is to have now. That number is no part of it: a scaler that changes it all the time would keep the
 * deadline away.
 */
export function progressKey(
  before: string | undefined,
  view: WorkloadView | undefined,
  readyPercent = 100,
): string {
  if (!view) return 'absent';
  const known = parse(before);
  const best = known?.digest === (view.digest ?? '') ? known : undefined;
  const now = countsOf(view, best, readyPercent);
  // Without pods it is complete, too, but what it had before is gone.
  const isOver = best?.isComplete && (!now.isComplete || view.desiredReplicas === 0);
  const kept = isOver ? undefined : best;
  const updated = kept ? Math.max(kept.updated, now.updated) : now.updated;
  const ready = kept ? Math.max(kept.ready, now.ready) : now.ready;
  const old = kept ? Math.min(kept.old, now.old) : now.old;
  return `${now.digest} ${updated} ${ready} ${old} ${now.isComplete ? 'complete' : 'partial'}`;
}

/** Until its controller has observed the last write, the status counts pods of the template before. */
function countsOf(view: WorkloadView, best: Counts | undefined, readyPercent: number): Counts {
  const { digest = '', replicas, updatedReplicas, updatedReadyReplicas, desiredReplicas: desired } = view;
  const unseen = best ?? { updated: 0, ready: 0, old: replicas };
  const seen = {
    updated: updatedReplicas,
    ready: updatedReadyReplicas,
    old: Math.max(0, replicas - updatedReplicas),
  };
  const { updated, ready, old } = view.observed ? seen : unseen;
  const enough = desired === 0 ? 0 : enoughPods({ updatedReplicas: desired }, { readyPercent });
  const isComplete = view.observed && updated >= desired && ready >= enough && old === 0;
  return { digest, updated, ready, old, isComplete };
}

/** Undefined for a key of another version. */
function parse(key: string | undefined): Counts | undefined {
  const [, digest, updated, ready, old, state] =
    /^(\S*) (\d+) (\d+) (\d+) (complete|partial)$/.exec(key ?? '') ?? [];
  if (digest === undefined) return undefined;
  const isComplete = state === 'complete';
  return { digest, updated: Number(updated), ready: Number(ready), old: Number(old), isComplete };
}

/** The run with the time when the workload it waits for last made progress. */
export function withProgress(
  { world, plan, now }: Pick<Context, 'world' | 'plan' | 'now'>,
  run: Run,
  view: WorkloadView | undefined,
): Run {
  const readyPercent = view === world.primary ? plan.primaryReadyPercent : plan.canaryReadyPercent;
  const key = progressKey(run.progressKey, view, readyPercent);
  if (run.progressKey === key && run.lastProgressTime !== undefined) return run;
  return { ...run, progressKey: key, lastProgressTime: now };
}

/** Milliseconds without progress. */
export function sinceProgressMs(context: Context, run: Run): number {
  return elapsedMs(context, run.lastProgressTime);
}

/** The run with its progress deadline restarted, to wait for something else. */
export function withProgressReset({ now }: Pick<Context, 'now'>, run: Run): Run {
  const { progressKey: _, ...rest } = run;
  return { ...rest, lastProgressTime: now };
}

/**
 * The run while a write is asked for; its deadline begins once the write is seen. A new time at each try would change the status,
 * and each change triggers the next try: a refused write would be repeated without a pause.
 */
export function untilWritten(context: Pick<Context, 'now'>, run: Run): Run {
  const isAsked = run.progressKey === undefined && run.lastProgressTime !== undefined;
  return isAsked ? run : withProgressReset(context, run);
}

/**
 * Milliseconds between a change of pods and the move of traffic that depends on it, and between a move of traffic and the end of the pods
 * that had it: the data plane learns of endpoints and of weights in different ways, and must know both (S2).
 */
export const SETTLE_MS = 2000;

const KEYS: Readonly<Record<Watched, (world: World) => string>> = {
  // A move counts from when the gateway accepted it (issue 11, 17).
  route: ({ route }) =>
    route
      ? `${route.canaryWeight}:${route.matched ?? false}:${route.mirrored ?? false}:${route.accepted}`
      : 'absent',
  canary: ({ target }) => podsKey(target),
  primary: ({ primary }) => podsKey(primary),
  standIn: ({ target }) =>
    target
      ? `${target.digest ?? ''}:${reachableCanaryPods(target) > 0}:${Math.max(0, target.replicas - target.updatedReplicas)}`
      : 'absent',
};

/** The run with the time of each last change of route and pods. Called once per step, before anything is decided. */
export function withLastChanges({ world, now }: Pick<Context, 'world' | 'now'>, run: Run): Run {
  const before = run.standing ?? {};
  const entries = (Object.keys(KEYS) as Watched[]).map((what) => {
    const key = KEYS[what](world);
    const known = before[what];
    return [what, known?.key === key ? known : { key, since: now }] as const;
  });
  return { ...run, standing: Object.fromEntries(entries) };
}

/** Milliseconds until the data plane has had time to follow the last change; 0 if it has, or if no change is known. */
export function settlingMs(context: Context, run: Run | undefined, what: Watched): number {
  const since = run?.standing?.[what]?.since;
  return since === undefined ? 0 : untilSettledMs(context, since);
}

/** The same for a change at this time. Of the time before this process led only another clock tells, which may be seconds off (S30). */
export function untilSettledMs(context: Context, since: string | undefined): number {
  const { nowMs, leadingSinceMs = 0 } = context.world;
  return Math.max(0, SETTLE_MS - Math.min(elapsedMs(context, since), nowMs - leadingSinceMs));
}
