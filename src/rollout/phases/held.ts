import { knownReason, type RolloutReason } from '../../api/reasons.ts';
import { canaryServes } from '../capacity.ts';
import { primaryCheck, quietCheck } from '../checks.ts';
import { isBeyondHope } from '../diagnosis/decision.ts';
import { diagnose, sentence } from '../diagnosis/diagnose.ts';
import {
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
import { isLost, soundRecord, wayBack } from '../kept.ts';
import { hasConverged, servingPods } from '../readiness.ts';
import { isRejected, lastKnownGood, type Run } from '../run.ts';
import { isAllOnCanary, moveToCanary } from '../traffic.ts';
import { startableHead } from '../windows.ts';
import type { ReleaseView } from '../world.ts';
import { describe, nameOf } from './admit.ts';
import { throughThePrimary } from './fallen.ts';
import { heldTogether } from './held-together.ts';
import { converging, revertInGit } from './promoting.ts';
import { bringBackCanary } from './recreate.ts';
import { startRevert } from './reverting.ts';

/** State Held: the healthy canary carries the traffic; the promotion goes on by itself when the primary heals (design section 5). */
export function held(draft: Draft, run: Run): void {
  const { world } = draft;
  const good = lastKnownGood(world);
  const atHead = startableHead(draft, run);
  const head = atHead?.digest === run.rollback?.digest ? undefined : atHead;
  if (good && head && head.digest !== run.digest) {
    if (head.digest === good.digest) return revertInGit(draft, run);
    if (isLost(good)) return withoutGood(draft, run, head);
    return startRevert(draft, run, good, {
      reason: 'Superseded',
      finding: `a newer revision waits: ${describe(head)}`,
      reject: false,
      control: false,
    });
  }
  const reason = knownReason(draft.status.postPromotion?.reason, 'PrimaryNotReady');
  if (reason === 'ChecksUnavailable') return askAgain(draft, run);
  if (reason === 'SharedCause') return heldTogether(draft, run);
  const checksFailed = reason === 'ChecksFailed';
  if (!checksFailed && hasConverged(world.primary, draft.plan.primaryReadyPercent)) return resume(draft, run);
  serveFromCanary(draft, run);
  if (draft.plan.postPromotion.onFailure === 'auto' && !checksFailed && !run.keepWaiting)
    deadline(draft, run, reason);
}

/** The primary cannot be brought back first: the newer revision goes to it at once, unless it is barred. */
function withoutGood(draft: Draft, run: Run, head: ReleaseView): void {
  if (isRejected(draft.world, head.digest)) return serveFromCanary(draft, run);
  throughThePrimary(draft, head);
}

function serveFromCanary(draft: Draft, run: Run): void {
  const cause = draft.status.postPromotion?.cause ?? '';
  const where = isAllOnCanary(draft) ? 'the canary carries all traffic' : 'traffic is moving to the canary';
  note(
    draft,
    knownReason(draft.status.postPromotion?.reason, 'Held'),
    `${nameOf(run)} is held, ${where}: ${cause}`,
    {
      action: 'nothing automatic; fix or revert it in Git',
    },
  );
  bringBack(draft, run);
  if (canaryServes(draft.world.target) || servingPods(draft.world.primary) === 0) moveToCanary(draft);
}

/** A copy that somebody deleted meanwhile comes back as it was: the primary goes on trying, the canary on serving. */
function bringBack(draft: Draft, run: Run): void {
  const { world } = draft;
  if (!soundRecord(world, run.digest)) return;
  if (!world.primary) applyPrimary(draft, run.digest);
  bringBackCanary(draft, run.digest);
}

/** auto: holding has an end. Without progress of the primary for another deadline, or without a healthy canary, it is reverted. */
function deadline(draft: Draft, run: Run, reason: RolloutReason): void {
  const { world, plan } = draft;
  const good = wayBack(world, run);
  if (!good) return;
  const { progressDeadlineMs } = plan.postPromotion;
  const standingMs = trackProgress(draft, run, world.primary);
  const diagnosis = diagnose(world.primary, world.target);
  const mayHeal = canaryServes(world.target) && !isBeyondHope(diagnosis);
  if (mayHeal && standingMs < progressDeadlineMs) {
    draft.next = { action: 'revert', timeMs: world.nowMs + progressDeadlineMs - standingMs };
    return wakeIn(draft, progressDeadlineMs - standingMs);
  }
  const finding = sentence(diagnosis, world.primary);
  draft.actions.length = 0;
  startRevert(draft, run, good, { reason, finding, reject: true, control: false });
}

/** The primary converged after all: promotion simply goes on. */
function resume(draft: Draft, run: Run): void {
  say(draft, 'Normal', 'Resumed', `the primary runs ${nameOf(run)} now; promotion goes on`);
  draft.status.phase = 'Promoting';
  enter(draft, 'Converging', 'Promoting');
  restartProgress(draft, run);
  converging(draft, run);
}

/** Held because nobody could tell: asked again each interval; an answer, whatever it is, brings verification back. */
function askAgain(draft: Draft, run: Run): void {
  const { postPromotion } = draft.plan;
  note(
    draft,
    'ChecksUnavailable',
    `${nameOf(run)} is held: ${draft.status.postPromotion?.cause ?? 'checks cannot be had'}`,
    {
      action: 'verification goes on once checks can be had',
    },
  );
  const results = quietCheck(draft, run, primaryCheck(draft, run));
  if (!results) return;
  wakeIn(draft, postPromotion.intervalMs);
  delete run.unknownSince;
  draft.status.phase = 'Finalising';
  run.stepTime = now(draft);
  enter(draft, 'Verifying', 'Verifying');
  say(draft, 'Normal', 'Resumed', `checks can be had again; verification of ${nameOf(run)} goes on`);
}
