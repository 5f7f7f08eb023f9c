import { type Plan, planOf } from '../api/canary/plan.ts';
import { type CanaryStatus, gitPart, isDigest } from '../api/canary/status.ts';
import { present } from '../api/kubernetes.ts';
import type { CommitInfo } from '../api/observed.ts';
import { sinceMs, stamp } from '../api/time.ts';
import { canaryPods } from '../health/readiness.ts';
import type { WorkloadView } from '../health/workload-view.ts';
import type { Run, Watched } from './run.ts';
import {
  headRelease,
  lastKnownGood,
  type RecordView,
  type RejectionView,
  type ReleaseView,
  rejectionsOf,
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
  const { move, otherBackends, scaledDown } = status;
  if (!move && !otherBackends && !scaledDown) return status;
  return { ...status, ...notInTheFuture(present({ move, otherBackends, scaledDown }), now) };
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
 * became leader: a wrong clock neither skips a check nor makes a deadline pass (S30).
 */
export function elapsedMs({ world, plan }: Context, time: string | undefined): number {
  const { nowMs, leadingSinceMs } = world;
  const elapsed = sinceMs(nowMs, time);
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

/** Where the commit of a digest is looked up; the status alone is enough. */
export type CommitMemory = Pick<World, 'status'> & Partial<Pick<World, 'head' | 'records' | 'rejected'>>;

/**
 * The commit in which this Canary first saw a digest: from the release under way and head, then the one started last, then rejections,
 * records and the history. Commits that never changed the release are in none of them. Config outside Git makes no difference. Undefined if
 * none of them has the digest.
 */
export function commitOfDigest(world: CommitMemory, digest: string): CommitInfo | undefined {
  if (!isDigest(digest)) return undefined;
  const wanted = gitPart(digest);
  const origin = originsOf(world).find((one) => one.commit && one.digest && gitPart(one.digest) === wanted);
  return origin?.commit ? commitInFull(world, origin.commit, origin.subject) : undefined;
}

interface Origin {
  readonly digest: string | undefined;
  readonly commit: string | undefined;
  readonly subject?: string | undefined;
}

/** Digests with their commits, the most current first. */
function originsOf({ status, head, records = [], rejected = status.rejected ?? [] }: CommitMemory): Origin[] {
  const { run, lastAppliedSpec, lastAppliedCommit, lastKnownGood, history = [] } = status;
  const release = head?.kind === 'release' ? head.release : undefined;
  return [
    ...(run ? [run as Origin] : []),
    { digest: release?.digest, commit: release?.commit.commit },
    { digest: lastAppliedSpec, commit: lastAppliedCommit },
    ...rejected.toReversed(),
    { digest: lastKnownGood?.digest, commit: lastKnownGood?.commit },
    ...records.map(({ digest, commit }) => ({ digest, commit: commit.commit })),
    ...history,
  ];
}

/** A commit with subject and author, if head, a record, an incident or the history has them. */
function commitInFull(
  { head, records = [], status }: CommitMemory,
  commit: string,
  subject: string | undefined,
): CommitInfo {
  const release = head?.kind === 'release' ? [head.release, head.ledger] : [];
  const known = [...release, ...records].find((one) => one?.commit.commit === commit && one.commit.subject);
  if (known) return known.commit;
  const incident = status.incidents?.find((one) => one.commit === commit);
  const entry = [...(status.history ?? []), ...(status.serving ?? [])].find((one) => one.commit === commit);
  return {
    commit,
    subject: subject ?? entry?.subject ?? incident?.subject ?? '',
    author: incident?.author ?? '',
    time: '',
  };
}

// What counts as progress of a workload that is waited for (design section 2.3, progressDeadlineSeconds).

/** Pods of a workload: `updated` and `ready` ones make progress by coming, `old` ones by going; `desired` are asked for. */
interface Counts {
  readonly digest: string;
  readonly updated: number;
  readonly ready: number;
  readonly old: number;
  readonly desired: number;
}

/** Changes with every change of a workload's pods, after which traffic waits until endpoints had time to follow. */
export function podsKey(view: WorkloadView | undefined): string {
  return view ? `${view.digest ?? ''}:${view.updatedReplicas}:${view.availableReplicas}` : 'absent';
}

/**
 * The best counts of a workload so far, given the key before; the deadline counts from its last change. Pods that become ready and unready
 * again and again are progress only once. A workload that was complete and loses a pod, or is to get more, starts over.
 */
export function progressKey(before: string | undefined, view: WorkloadView | undefined): string {
  if (!view) return 'absent';
  const known = parse(before);
  const best = known?.digest === (view.digest ?? '') ? known : undefined;
  const now = countsOf(view, best);
  const isRestarted = best && isComplete(best) && !isComplete(now);
  const updated = best && !isRestarted ? Math.max(best.updated, now.updated) : now.updated;
  const ready = best && !isRestarted ? Math.max(best.ready, now.ready) : now.ready;
  const old = best && !isRestarted ? Math.min(best.old, now.old) : now.old;
  return `${now.digest} ${updated} ${ready} ${old} ${now.desired}`;
}

/** Until its controller has observed the last write, the status counts pods of the template before. */
function countsOf(view: WorkloadView, best: Counts | undefined): Counts {
  const { digest = '', replicas, updatedReplicas: updated, desiredReplicas: desired } = view;
  if (!view.observed)
    return best ? { ...best, desired } : { digest, updated: 0, ready: 0, old: replicas, desired };
  const old = Math.max(0, replicas - updated);
  return { digest, updated, ready: view.updatedReadyReplicas, old, desired };
}

function isComplete({ updated, ready, old, desired }: Counts): boolean {
  return updated >= desired && ready >= desired && old === 0;
}

/** Undefined for a key of another version. */
function parse(key: string | undefined): Counts | undefined {
  const [, digest, ...counts] = /^(\S*) (\d+) (\d+) (\d+) (\d+)$/.exec(key ?? '') ?? [];
  if (digest === undefined) return undefined;
  const [updated = 0, ready = 0, old = 0, desired = 0] = counts.map(Number);
  return { digest, updated, ready, old, desired };
}

/** The run with the time when the workload it waits for last made progress. */
export function withProgress(context: Pick<Context, 'now'>, run: Run, view: WorkloadView | undefined): Run {
  const key = progressKey(run.progressKey, view);
  if (run.progressKey === key && run.lastProgressTime !== undefined) return run;
  return { ...run, progressKey: key, lastProgressTime: context.now };
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
 * The run while a write is asked for; its deadline begins once the write is seen. The time of each try would be news for the status, which
 * calls for the next try at once: one that is refused had no pause.
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
      ? `${target.digest ?? ''}:${canaryPods(target) > 0}:${Math.max(0, target.replicas - target.updatedReplicas)}`
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

/** Milliseconds until the data plane had time to follow the last change; 0 if it had, or no change is known. */
export function settlingMs(context: Context, run: Run | undefined, what: Watched): number {
  const since = run?.standing?.[what]?.since;
  return since === undefined ? 0 : remainingMs(context, since, SETTLE_MS);
}
