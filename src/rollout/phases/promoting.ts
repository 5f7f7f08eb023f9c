import { podsFor } from '../capacity.ts';
import { isBeyondHope } from '../diagnosis/decision.ts';
import { diagnose } from '../diagnosis/diagnose.ts';
import {
  act,
  applyPrimary,
  type Draft,
  enter,
  note,
  now,
  remainingMs,
  restartProgress,
  say,
  trackProgress,
  wakeIn,
} from '../draft.ts';
import { isLostDigest, soundRecord, standStill } from '../kept.ts';
import { trafficAt } from '../plan.ts';
import { hasConverged, whyNotReady } from '../readiness.ts';
import { headRelease, lastKnownGood, type Run } from '../run.ts';
import { ensurePrimaryCapacity } from '../scalers.ts';
import { isUnsettled } from '../standing.ts';
import {
  canStandIn,
  isAllOnPrimary,
  moveToCanary,
  mustClear,
  rescueTraffic,
  returnToPrimary,
} from '../traffic.ts';
import { isPaused } from '../verbs.ts';
import { headFor } from '../windows.ts';
import { admit, describe, nameOf } from './admit.ts';
import { end } from './ending.ts';
import { failPromotion } from './failure.ts';
import { endedByGit } from './git-moved-on.ts';
import { bringBackCanary } from './recreate.ts';
import { startRevert } from './reverting.ts';

/** The analysis passed: the primary is to run this release. Intent is written before the first write to it. */
export function promote(draft: Draft, run: Run): void {
  draft.status.phase = 'Promoting';
  draft.status.failedChecks = 0;
  draft.intentFirst = true;
  restartProgress(draft, run);
  delete run.stepTime;
  delete run.promoteNow;
  enter(draft, 'Converging', 'Promoting');
  say(draft, 'Normal', 'Promoting', `${nameOf(run)} passed; it is written to the primary`);
  converging(draft, run);
}

/** Phase Promoting, state Converging: record, clear, apply, converge, then traffic (design section 4). */
export function converging(draft: Draft, run: Run): void {
  const { primary } = draft.world;
  if (primary?.digest !== run.digest) return write(draft, run);
  const good = lastKnownGood(draft.world);
  const head = headFor(draft, run);
  if (good && head?.digest === good.digest && good.digest !== run.digest) return revertInGit(draft, run);
  if (!canStandIn(draft, run)) returnToPrimary(draft);
  const standingMs = trackProgress(draft, run, primary);
  if (hasConverged(primary, draft.plan.primaryReadyPercent)) return shift(draft, run);
  if (rescueTraffic(draft)) return;
  const { progressDeadlineMs, onFailure } = draft.plan.postPromotion;
  const why = whyNotReady(primary);
  const isLost = onFailure === 'auto' && isBeyondHope(diagnose(primary, draft.world.target));
  if (isLost || standingMs >= progressDeadlineMs)
    return failPromotion(draft, run, { reason: 'PrimaryNotReady', control: false });
  wakeIn(draft, progressDeadlineMs - standingMs);
  note(draft, 'Converging', `the primary is taking over ${nameOf(run)}: ${why}`, {
    action: 'hold or revert if it makes no progress',
    timeMs: draft.world.nowMs + progressDeadlineMs - standingMs,
  });
}

/** Git went back to the last-known-good after the first write: revert at once; the left digest is not rejected. */
export function revertInGit(draft: Draft, run: Run): void {
  const good = lastKnownGood(draft.world);
  const head = headRelease(draft.world);
  if (!good || !head) return;
  const finding = `Git went back to ${describe(head)}`;
  startRevert(draft, run, good, { reason: 'RevertedInGit', finding, reject: false, control: false });
}

/** Before the first write: Git may still change its mind; the record and the traffic must be in place (S2, S10). */
function write(draft: Draft, run: Run): void {
  if (gitMovedOn(draft, run)) return;
  if (isPaused(draft)) return note(draft, 'Paused', `paused before ${nameOf(run)} is written to the primary`);
  note(draft, 'Promoting', `${nameOf(run)} is written to the primary`);
  if (!keepRecords(draft, run)) return;
  if (mustClear(draft, run)) {
    note(draft, 'Clearing', 'all traffic goes to the canary before the primary is written');
    bringBackCanary(draft, run.digest);
    return moveToCanary(draft) ? undefined : waitForClear(draft, run);
  }
  applyPrimary(draft, run.digest);
  restartProgress(draft, run);
}

/** The bytes of this release and of what the primary runs are kept, and were read back. */
function keepRecords(draft: Draft, run: Run): boolean {
  const { world } = draft;
  const needed = [run.digest, world.primary?.digest].filter((digest) => digest !== undefined);
  const missing = needed.filter((digest) => !soundRecord(world, digest));
  const good = lastKnownGood(world);
  if (good && missing.some((digest) => isLostDigest(world, digest))) {
    // A proven release is a person's way out: with it, what the primary runs is given up (design section 5).
    if (run.fastLane && !missing.includes(run.digest)) return true;
    standStill(draft, good);
    return false;
  }
  for (const digest of missing) act(draft, { type: 'SaveRecord', digest });
  if (missing.length > 0)
    note(draft, 'SavingRecord', 'the release records are written before the primary is');
  return missing.length === 0;
}

/** The canary never gets enough pods: the release fails before anything was written. */
function waitForClear(draft: Draft, run: Run): void {
  const standingMs = trackProgress(draft, run, draft.world.target);
  const { progressDeadlineMs } = draft.plan.postPromotion;
  if (standingMs < progressDeadlineMs) return wakeIn(draft, progressDeadlineMs - standingMs);
  const message = `the canary never had enough ready pods to take all traffic: ${whyNotReady(draft.world.target)}`;
  draft.actions.length = 0;
  end(draft, run, { phase: 'Failed', reason: 'CapacityNotReached', message }, 'CapacityNotReached');
}

function gitMovedOn(draft: Draft, run: Run): boolean {
  const head = headFor(draft, run);
  if (!head || head.digest === run.digest) return false;
  delete draft.status.postPromotion;
  draft.intentFirst = false;
  if (endedByGit(draft, run, head)) return true;
  admit(draft, head);
  returnToPrimary(draft);
  return true;
}

/** The primary is whole: traffic moves to it, by stepWeightPromotion per interval, and is read back (S8). */
function shift(draft: Draft, run: Run): void {
  const { world, plan, status } = draft;
  const weight = world.route?.canaryWeight ?? 0;
  if (isAllOnPrimary(draft)) return startVerifying(draft, run);
  note(draft, 'Converging', `the primary is ready; traffic moves to it, ${weight} % left on the canary`);
  if (isUnsettled(draft, run, 'primary')) return;
  const stepped = plan.splitsTraffic && plan.promotionStepPercent < 100;
  const sameStep = run.stepTime !== undefined && run.weight === weight;
  if (stepped && sameStep && remainingMs(draft, run.stepTime, plan.intervalMs) > 0) return;
  run.weight = weight;
  run.stepTime = now(draft);
  const to = stepped ? Math.max(0, weight - plan.promotionStepPercent) : 0;
  if ((world.primary?.updatedReadyReplicas ?? 0) < podsFor(100 - to, world.primary?.desiredReplicas ?? 1))
    return;
  if (!ensurePrimaryCapacity(draft, 100 - to))
    return note(draft, 'WaitingForCapacity', `the primary needs more ready pods for ${100 - to} %`);
  act(draft, { type: 'SetTraffic', route: trafficAt(plan, to) });
  say(draft, 'Normal', 'TrafficShifted', `primary weight ${100 - weight} % -> ${100 - to} %`);
  if (to > 0) {
    run.weight = to;
    wakeIn(draft, plan.intervalMs);
  }
  status.iterations = 0;
}

function startVerifying(draft: Draft, run: Run): void {
  draft.status.phase = 'Finalising';
  draft.status.failedChecks = 0;
  run.stepTime = now(draft);
  const post = enter(draft, 'Verifying', 'Verifying');
  post.failedChecks = 0;
  post.passedChecks = 0;
  delete post.cause;
  say(draft, 'Normal', 'Verifying', `all traffic is on the primary with ${nameOf(run)}; checks go on`);
  note(draft, 'Verifying', `${nameOf(run)} serves from the primary; checks go on`);
  wakeIn(draft, 1);
}
