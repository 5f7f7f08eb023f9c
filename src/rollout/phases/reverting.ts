import type { RolloutReason } from '../../api/reasons.ts';
import { canaryServes, carriedBy } from '../capacity.ts';
import { check, later } from '../checks.ts';
import {
  act,
  applyPrimary,
  type Draft,
  enter,
  note,
  now,
  restartProgress,
  say,
  trackProgress,
  wakeIn,
} from '../draft.ts';
import { isLost, standStill } from '../kept.ts';
import { hasConverged, whyNotReady } from '../readiness.ts';
import { headRelease, lastKnownGood, type RevertCause, type Run } from '../run.ts';
import { isUnsettled } from '../standing.ts';
import {
  isAllOnPrimary,
  moveToCanary,
  mustClear,
  replaceStuck,
  rescueTraffic,
  returnToPrimary,
} from '../traffic.ts';
import { sinceMs } from '../units.ts';
import { finding, verdictOf } from '../verdict.ts';
import type { RecordView } from '../world.ts';
import { describe, nameOf } from './admit.ts';
import { end, ensureRejected } from './ending.ts';

/**
 * Decides to go back to the last-known-good: the rejection and the intent are written first, then the record's bytes go to the primary
 * (design section 5, revert; S12, S13).
 */
export function startRevert(draft: Draft, run: Run, good: RecordView, cause: RevertCause): void {
  run.revert = cause;
  draft.intentFirst = true;
  restartProgress(draft, run);
  delete run.stepTime;
  const post = enter(draft, 'Reverting', cause.reason);
  post.cause = cause.finding;
  say(draft, 'Warning', 'Reverting', `the primary goes back to ${describe(good)}: ${cause.finding}`);
  reverting(draft, run);
}

/** State Reverting: the primary gets the last-known-good, then the traffic, then the canary rests. Repeats after a crash. */
export function reverting(draft: Draft, run: Run): void {
  const { world, plan } = draft;
  const good = lastKnownGood(world);
  const cause = run.revert;
  if (!good || !cause)
    return note(draft, 'RecordMissing', 'there is no last-known-good record to go back to');
  note(draft, cause.reason, `reverting to ${describe(good)}: ${cause.finding}`, {
    action: 'traffic to the primary once it is ready',
  });
  if (cause.reject) ensureRejected(draft, run, cause.reason);
  if (world.primary?.digest !== good.digest) {
    if (!isLost(good)) return applyGood(draft, run, good);
    if (!rescueTraffic(draft)) standStill(draft, good);
    return;
  }
  const standingMs = trackProgress(draft, run, world.primary);
  if (!hasConverged(world.primary, plan.primaryReadyPercent))
    return waitForGood(draft, run, good, standingMs);
  if (!isAllOnPrimary(draft) && isUnsettled(draft, run, 'primary')) return;
  if (!returnToPrimary(draft)) return;
  run.stepTime ??= now(draft);
  if (cause.control && !controlled(draft, run, good, cause)) return;
  conclude(draft, run, good, cause);
}

/** The primary is cleared first where the write would take its last ready pod, if somebody else can serve (S2). */
function applyGood(draft: Draft, run: Run, good: RecordView): void {
  const { world, plan } = draft;
  if (mustClear(draft, run) && standsIn(draft, run, good)) {
    const waitedMs = sinceMs(world.nowMs, draft.status.postPromotion?.startTime);
    if (moveToCanary(draft)) return;
    if (waitedMs < plan.postPromotion.progressDeadlineMs) {
      return wakeIn(draft, plan.postPromotion.progressDeadlineMs - waitedMs);
    }
    if (isWell(run)) return cannotStandIn(draft, run, good);
  }
  applyPrimary(draft, good.digest);
  restartProgress(draft, run);
}

/**
 * Somebody can take the traffic while the primary is replaced: the canary as it is; or, where the primary is well and nothing presses, the
 * canary is brought up with the last-known-good for that.
 */
function standsIn(draft: Draft, run: Run, good: RecordView): boolean {
  const { world } = draft;
  if (canaryServes(world.target)) return true;
  if (!isWell(run) || world.foreignTarget) return false;
  if (world.target?.digest !== good.digest || world.target.desiredReplicas === 0)
    act(draft, { type: 'ApplyCanary', digest: good.digest, replicas: carriedBy(world) });
  return true;
}

/** The primary goes back for what it is, and not for a fault of it. */
function isWell({ revert }: Run): boolean {
  return revert?.reason === 'NotLastKnownGood';
}

/** What serves well is not given up for a release that does not come up beside it. */
function cannotStandIn(draft: Draft, run: Run, good: RecordView): void {
  draft.actions.length = 0;
  const why = whyNotReady(draft.world.target);
  fallen(
    draft,
    run,
    'LKGNotReady',
    `the last-known-good ${describe(good)} does not come up as the canary: ${why}`,
  );
}

/** The last-known-good is written but not up: keep whoever is ready serving; without progress it is a matter for people (S15). */
function waitForGood(draft: Draft, run: Run, good: RecordView, standingMs: number): void {
  const { world, plan } = draft;
  if (rescueTraffic(draft)) return;
  replaceStuck(draft);
  const { progressDeadlineMs } = plan.postPromotion;
  const why = whyNotReady(world.primary);
  if (standingMs < progressDeadlineMs) {
    wakeIn(draft, progressDeadlineMs - standingMs);
    return note(draft, 'Reverting', `reverting to ${describe(good)}: ${why}`);
  }
  fallen(draft, run, 'LKGNotReady', `the last-known-good ${describe(good)} does not come up: ${why}`);
}

/** The first time window may hold the last requests of the release that was left: its pods serve on while they end. */
const controlFailuresNeeded = 2;

/** Control: the failed check is asked again of the last-known-good. False while there is no answer, or when it fails there too. */
function controlled(draft: Draft, run: Run, good: RecordView, cause: RevertCause): boolean {
  const { postPromotion } = draft.plan;
  const { controlFailures = 0 } = cause;
  const again = controlFailures > 0 ? ' once more' : '';
  note(draft, 'Control', `${describe(good)} serves again; the failed check is asked of it${again}`);
  const results = check(draft, run, {
    role: 'primary',
    purpose: 'control',
    metrics: postPromotion.metrics,
    hooks: 'post-promotion',
    about: { digest: good.digest, commit: good.commit.commit },
    since: later(run.stepTime, run.lastCheckTime),
    afterMs: Math.max(postPromotion.intervalMs, postPromotion.settleMs),
  });
  if (!results) return false;
  if (verdictOf(results) !== 'fail') return true;
  const findings = results
    .filter((result) => result.verdict === 'fail')
    .map(finding)
    .join(', ');
  cause.controlFailures = controlFailures + 1;
  if (cause.controlFailures < controlFailuresNeeded) return false;
  fallen(
    draft,
    run,
    'LKGFailsToo',
    `the last-known-good fails the same check: ${findings}; the cause is elsewhere`,
  );
  return false;
}

/** Failed and Held: no further template write without a person or a newer revision. */
function fallen(draft: Draft, run: Run, reason: RolloutReason, message: string): void {
  draft.status.phase = 'Failed';
  const post = enter(draft, 'Held', reason);
  post.cause = message;
  restartProgress(draft, run);
  say(draft, 'Warning', reason, message);
  note(draft, reason, message, { action: 'nothing automatic' });
}

function conclude(draft: Draft, run: Run, good: RecordView, cause: RevertCause): void {
  const head = headRelease(draft.world);
  const message = `${nameOf(run)} was reverted to ${describe(good)}: ${cause.finding}`;
  if (cause.reason === 'RevertedInGit' && head) {
    draft.status.lastAppliedCommit = head.commit.commit;
    draft.status.lastPromotedCommit = head.commit.commit;
    return end(draft, run, { phase: 'Succeeded', reason: 'RevertedInGit', message });
  }
  end(draft, run, { phase: 'Failed', reason: cause.reason, message });
}
