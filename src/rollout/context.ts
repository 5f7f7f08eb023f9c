import { type Plan, planOf } from '../api/plan.ts';
import { sinceMs, stamp } from '../api/units.ts';
import { commitInFull } from './identity.ts';
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
  /** What Git wants, under the commit that brought its digest here (issue 11, 19). */
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
    head: headAsBrought(world),
  };
}

/** While its digest is under way, or is what was started last, the commit that brought it stays its name. */
function headAsBrought(world: World): ReleaseView | undefined {
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
