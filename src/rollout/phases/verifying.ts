import type { CheckResult } from '../../api/canary-status.ts';
import { check, later, primaryCheck } from '../checks.ts';
import { restoresCopies } from '../config-copies.ts';
import { act, type Draft, enter, note, now, remainingMs, say, wakeIn } from '../draft.ts';
import { checkResults } from '../expectation/check-results.ts';
import { compare } from '../expectation/expectation.ts';
import { expectedState } from '../expectation/expected-state.ts';
import { hasConverged, lostReadiness, servingPods, whyNotReady } from '../readiness.ts';
import { isRejected, lastKnownGood, type Run } from '../run.ts';
import { isAllOnPrimary } from '../traffic.ts';
import { sinceMs, stamp } from '../units.ts';
import { finding, verdictOf } from '../verdict.ts';
import { headFor } from '../windows.ts';
import { admit, nameOf } from './admit.ts';
import { end } from './ending.ts';
import { failVerification, hold } from './failure.ts';
import { converging, revertInGit } from './promoting.ts';

/** Phase Finalising, state Verifying: all traffic on the primary, the canary still there (design sections 2.3 and 4). */
export function verifying(draft: Draft, run: Run): void {
  const { world } = draft;
  const good = lastKnownGood(world);
  if (good?.digest === run.digest) return finish(draft, run);
  if (good && headFor(draft, run)?.digest === good.digest) return revertInGit(draft, run);
  if (world.primary?.digest !== run.digest || !world.route) return backToConverging(draft, run);
  const fault = lostReadiness(world.primary);
  if (fault || servingPods(world.primary) === 0) {
    const why = whyNotReady(world.primary);
    return failVerification(draft, run, { reason: 'PrimaryUnhealthy', finding: why, control: false });
  }
  if (!isAllOnPrimary(draft)) return backToConverging(draft, run);
  const counts = run.countsAsGood && hasConverged(world.primary, draft.plan.primaryReadyPercent);
  if (counts || draft.plan.postPromotion.successThreshold === 0)
    return act(draft, { type: 'MarkProven', digest: run.digest });
  verify(draft, run);
}

function verify(draft: Draft, run: Run): void {
  const { plan, status } = draft;
  const { postPromotion } = plan;
  const passed = status.postPromotion?.passedChecks ?? 0;
  const count = `${passed} of ${postPromotion.successThreshold} checks passed`;
  note(draft, 'Verifying', `${nameOf(run)} serves from the primary; ${count}`, { action: 'next check' });
  if (draft.world.primary?.observed === false || restoresCopies(draft)) return waitUnseen(draft, run);
  const firstCheck = later(run.lastCheckTime, run.stepTime) === run.stepTime;
  const results = check(draft, run, {
    ...primaryCheck(draft, run),
    ...(firstCheck ? { afterMs: Math.max(postPromotion.intervalMs, postPromotion.settleMs) } : {}),
  });
  if (!results) return;
  const state = expectations(draft, run);
  const all = [...state, ...results];
  status.checks = all;
  conclude(draft, run, all, verdictOf(state) !== 'fail');
}

/** Somebody changed it, a scaler mostly, and its counts are of before: a check now would be of nothing. */
function waitUnseen(draft: Draft, run: Run): void {
  run.unknownSince ??= now(draft);
  if (remainingMs(draft, run.unknownSince, draft.plan.postPromotion.progressDeadlineMs) > 0) return;
  const cause = whyNotReady(draft.world.primary);
  hold(draft, run, { reason: 'ChecksUnavailable', finding: cause, control: false });
}

/** Expected against actual state of the primary, as check results (document 001). */
function expectations({ world, plan }: Draft, run: Run): CheckResult[] {
  const expected = expectedState(world, plan, run.digest);
  return checkResults(compare(world.primary, expected), stamp(world.nowMs));
}

/** `shareable`: the state of the primary is as expected, so that a failure is one of metrics or webhooks. */
function conclude(draft: Draft, run: Run, results: CheckResult[], shareable: boolean): void {
  const { plan, status } = draft;
  const post = status.postPromotion ?? enter(draft, 'Verifying', 'Verifying');
  const verdict = verdictOf(results);
  const findings = results
    .filter((result) => result.verdict !== 'pass')
    .map(finding)
    .join(', ');
  wakeIn(draft, plan.postPromotion.intervalMs);
  if (verdict === 'unknown') return notKnowing(draft, run, findings);
  delete run.unknownSince;
  post.reason = 'Verifying';
  if (verdict === 'pass') {
    post.passedChecks = (post.passedChecks ?? 0) + 1;
    return passed(draft, run, post.passedChecks);
  }
  post.passedChecks = 0;
  post.failedChecks = (post.failedChecks ?? 0) + 1;
  status.failedChecks = post.failedChecks;
  const { threshold } = plan.postPromotion;
  say(
    draft,
    'Warning',
    'CheckFailed',
    `failed check ${post.failedChecks} of ${threshold} after promotion: ${findings}`,
  );
  if (post.failedChecks >= threshold) {
    return failVerification(draft, run, {
      reason: 'ChecksFailed',
      finding: findings,
      control: true,
      shareable,
    });
  }
  note(
    draft,
    'CheckFailed',
    `failed check ${post.failedChecks} of ${threshold} after promotion: ${findings}`,
  );
}

/** Enough passes make the release good; one is enough when a newer revision waits, unless that was rejected: it is then superseded. */
function passed(draft: Draft, run: Run, passes: number): void {
  const { postPromotion } = draft.plan;
  if (passes >= postPromotion.successThreshold) return act(draft, { type: 'MarkProven', digest: run.digest });
  const head = headFor(draft, run);
  if (!head || head.digest === run.digest || isRejected(draft.world, head.digest)) return;
  if ((draft.status.postPromotion?.failedChecks ?? 0) > 0) return;
  say(draft, 'Normal', 'Superseded', `${nameOf(run)} is superseded before it was verified`);
  draft.status.history = [
    {
      digest: run.digest,
      commit: run.commit,
      result: 'Superseded' as const,
      reason: 'Superseded',
      startTime: run.startTime,
      endTime: stamp(draft.world.nowMs),
    },
    ...(draft.status.history ?? []),
  ].slice(0, 10);
  admit(draft, head);
}

/** Not knowing stops the clock; after the deadline it ends in Held, never in a revert (S29). */
function notKnowing(draft: Draft, run: Run, findings: string): void {
  const post = enter(draft, 'Verifying', 'ChecksUnavailable');
  post.cause = findings;
  run.unknownSince ??= stamp(draft.world.nowMs);
  if (sinceMs(draft.world.nowMs, run.unknownSince) >= draft.plan.postPromotion.progressDeadlineMs) {
    return hold(draft, run, { reason: 'ChecksUnavailable', finding: findings, control: false });
  }
  note(draft, 'ChecksUnavailable', `checks after promotion cannot be had: ${findings}`, {
    action: 'asked again',
  });
}

/** The record was stamped and read back: the release is the last-known-good, the canary may go (S9, S28). */
function finish(draft: Draft, run: Run): void {
  const { rollback: left } = run;
  if (left && !isRejected(draft.world, left.digest))
    return act(draft, { type: 'Reject', ...left, reason: 'RolledBack' });
  end(draft, run, {
    phase: 'Succeeded',
    reason: 'Succeeded',
    message: left
      ? `${nameOf(run)} is back on request`
      : `${nameOf(run)} is promoted ${run.countsAsGood ? 'and counts as good on request' : 'and verified'}`,
  });
}

function backToConverging(draft: Draft, run: Run): void {
  draft.status.phase = 'Promoting';
  enter(draft, 'Converging', 'Promoting');
  converging(draft, run);
}
