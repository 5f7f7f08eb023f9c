import { type Plan, planOf } from '../api/canary/plan.ts';
import { gitPart, isDigest } from '../api/digest.ts';
import type { CommitInfo } from '../api/observed.ts';
import { sinceMs, stamp } from '../api/time.ts';
import { lastKnownGood, rejectionsOf } from './records.ts';
import { headRelease, type RecordView, type RejectionView, type ReleaseView, type World } from './world.ts';

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
export function contextOf(world: World): Context {
  const plan = planOf(world.canary, world.options);
  return {
    world,
    plan,
    now: stamp(world.nowMs),
    good: lastKnownGood(world),
    rejections: rejectionsOf(world),
    head: headWithFirstCommit(world),
  };
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
