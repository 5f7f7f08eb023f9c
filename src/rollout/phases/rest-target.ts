import { type Draft, now, remainingMs, say } from '../draft.ts';
import { servingPods } from '../readiness.ts';
import { headRelease, isRejected, lastKnownGood } from '../run.ts';
import { pauseCanary } from '../scalers.ts';
import { isAllOnPrimary, restCanary } from '../traffic.ts';
import { sinceMs } from '../units.ts';

/** Waits between two times that a target is scaled down which another tool scales up: doubled each time, up to the longest. */
const FIRST_WAIT_MS = 30_000;
const LONGEST_WAIT_MS = 3_600_000;
/** The time from which on the tool is told of. */
const TOLD_AT_COUNT = 2;

/**
 * Without a release the target has no pods. One that another tool scales up each time it applies its manifest is scaled down less and
 * less often, so that the two never fight; its pods have no traffic (design section 2.5). A target that Git may want to be rolled out next
 * keeps its pods.
 */
export function restTarget(draft: Draft): void {
  const { target, primary, foreignTarget } = draft.world;
  if (!target) return;
  if (target.desiredReplicas === 0) return pauseCanary(draft, true);
  if (!isAllOnPrimary(draft) || servingPods(primary) === 0) return;
  if (!foreignTarget) return restCanary(draft);
  if (!isNews(draft)) restForeign(draft, target.name);
}

function isNews({ world }: Draft): boolean {
  const head = headRelease(world);
  return (
    head !== undefined && head.digest !== lastKnownGood(world)?.digest && !isRejected(world, head.digest)
  );
}

function restForeign(draft: Draft, name: string): void {
  const { status, world } = draft;
  const before = status.scaledDown;
  const waitMs = before ? Math.min(FIRST_WAIT_MS * 2 ** (before.count - 1), LONGEST_WAIT_MS) : 0;
  if (remainingMs(draft, before?.time, waitMs) > 0) return;
  // Quiet for much longer than the wait: somebody scaled it by hand once.
  const isNew = before === undefined || sinceMs(world.nowMs, before.time) > LONGEST_WAIT_MS + 2 * waitMs;
  const count = isNew ? 1 : before.count + 1;
  restCanary(draft);
  status.scaledDown = { time: now(draft), count };
  if (count !== TOLD_AT_COUNT) return;
  const message = `another tool scales ${name} up although no release is under way; leave replicas out of its manifest`;
  say(draft, 'Warning', 'TargetScaledUp', message);
}
