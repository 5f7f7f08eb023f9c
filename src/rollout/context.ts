import { type Plan, planOf } from '../api/canary/plan.ts';
import { gitPart, isDigest } from '../api/digest.ts';
import type { CommitInfo } from '../api/observed.ts';
import { sinceMs, stamp } from '../api/time.ts';
import { headRelease, lastKnownGood, rejectionsOf } from './run.ts';
import type { RecordView, RejectionView, ReleaseView, World } from './world.ts';

/** What every part of a decision looks at: the world, and what follows from it. Never changed. */
export interface Context {
  readonly world: World;
  readonly plan: Plan;
  /** Now, as status stamps are written. */
  readonly now: string;
  /** The last-known-good; undefined until a release has proven itself. */
  readonly good: RecordView | undefined;
  /** Every rejection in force. */
  readonly rejections: readonly RejectionView[];
  /** What Git wants, under the commit in which its digest was seen first (issue 11, 19). */
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

/** While its digest is under way, or was started last, head keeps the commit in which the digest was seen first. */
function headWithFirstCommit(world: World): ReleaseView | undefined {
  const head = headRelease(world);
  const { run, lastAppliedSpec, lastAppliedCommit } = world.status;
  const isUnderWay = head !== undefined && run?.digest === head.digest;
  const brought = isUnderWay ? run.commit : lastAppliedSpec === head?.digest ? lastAppliedCommit : undefined;
  if (!head || !brought || brought === head.commit.commit) return head;
  const subject = isUnderWay && typeof run.subject === 'string' ? run.subject : undefined;
  return { ...head, commit: commitInFull(world, brought, subject) };
}

/**
 * Milliseconds since a stamp, never negative. One that another leader's clock wrote counts for one interval more than the time for which
 * this process leads: a clock that is off neither leaves a check out nor makes a deadline pass (S30). Absent: 0.
 */
export function elapsedMs({ world, plan }: Context, time: string | undefined): number {
  const { nowMs, leadingSinceMs } = world;
  const elapsed = sinceMs(nowMs, time);
  if (leadingSinceMs === undefined || nowMs - elapsed >= leadingSinceMs) return elapsed;
  return Math.min(elapsed, nowMs - leadingSinceMs + plan.intervalMs);
}

/** Milliseconds until `durationMs` have passed since a stamp; 0 when they have. */
export function remainingMs(context: Context, since: string | undefined, durationMs: number): number {
  return Math.max(0, durationMs - elapsedMs(context, since));
}

/** The later of two stamps; a check counts from the last one or from the last change of traffic. */
export function later(a: string | undefined, b: string | undefined): string | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Date.parse(a) >= Date.parse(b) ? a : b;
}

/** What remembers which commit a digest came from; the status alone is enough. */
export type CommitMemory = Pick<World, 'status'> & Partial<Pick<World, 'head' | 'records' | 'rejected'>>;

/**
 * The commit in which a digest was first seen by this Canary: what is under way and head, then what was started last, then what was rejected, proven
 * and kept. Commits that never touched the release are in none of them. Config outside Git makes no difference. Undefined where nobody
 * remembers one.
 */
export function commitOfDigest(world: CommitMemory, digest: string): CommitInfo | undefined {
  if (!isDigest(digest)) return undefined;
  const wanted = gitPart(digest);
  const named = commitsOf(world).find((one) => one.commit && one.digest && gitPart(one.digest) === wanted);
  return named?.commit ? commitInFull(world, named.commit, named.subject) : undefined;
}

interface Origin {
  readonly digest: string | undefined;
  readonly commit: string | undefined;
  readonly subject?: string | undefined;
}

/** Digests with their commits, the most current first. */
function commitsOf({ status, head, records = [], rejected = status.rejected ?? [] }: CommitMemory): Origin[] {
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

/** A commit with subject and author, from whoever knows it. */
function commitInFull(
  { head, records = [], status }: CommitMemory,
  commit: string,
  subject: string | undefined,
): CommitInfo {
  const release = head?.kind === 'release' ? [head.release, head.ledger] : [];
  const known = [...release, ...records].find((one) => one?.commit.commit === commit && one.commit.subject);
  if (known) return known.commit;
  const incident = status.incidents?.find((one) => one.commit === commit);
  const told = [...(status.history ?? []), ...(status.serving ?? [])].find((one) => one.commit === commit);
  const words = subject ?? told?.subject ?? incident?.subject ?? '';
  return { commit, subject: words, author: incident?.author ?? '', time: '' };
}
