import type { CheckResult } from '../../api/canary/status.ts';
import { stamp } from '../../api/time.ts';
import { checkResults, findings, verdictOf } from '../../health/check-results.ts';
import { isBroken } from '../../health/drift.ts';
import { compare } from '../../health/expectation.ts';
import { hasConverged, lostReadiness, servingPods, whyNotReady } from '../../health/readiness.ts';
import { check, primaryCheck } from '../checks.ts';
import { type Context, elapsedMs, later } from '../context.ts';
import { canRestoreCopies } from '../generated-objects.ts';
import { act, combine, type Effects, enter, note, type Outcome, say, stay, wake } from '../outcome.ts';
import { expectedState } from '../post-promotion.ts';
import { rejectionOf } from '../run.ts';
import { promotionState, type StateOf, without, withRun } from '../state.ts';
import { hasArrived, isAllOn } from '../traffic/traffic.ts';
import { headForRun } from '../windows.ts';
import { describeRelease } from '../world.ts';
import { admit } from './admit.ts';
import { end } from './ending.ts';
import { failDead, failVerification, hold } from './hold-or-revert.ts';
import { restoreTemplate } from './promoting.ts';
import { scalePrimaryBack } from './recreate.ts';

type Verifying = StateOf<'Verifying'>;

/** All traffic on the primary, the canary still there (design sections 2.3 and 4). */
export function verifying(context: Context, state: Verifying): Outcome {
  const { world, plan, good } = context;
  const { run } = state;
  const { postPromotion } = plan;
  if (good?.digest === run.digest) return proven(context, state);
  const other = notAsPromoted(context, state);
  if (other) return other;
  const isGood = run.countsAsGood || postPromotion.successThreshold === 0;
  const isWhole = hasConverged(world.primary, plan.primaryReadyPercent);
  if (isGood && isWhole && hasArrived(context, run, 'primary'))
    return stay(state, act({ type: 'MarkProven', digest: run.digest }), words(context, state));
  const isRestored = world.primary?.configCopies.some(isBroken) && canRestoreCopies(context);
  if (world.primary?.observed === false || isRestored) return waitForObservation(context, state);
  const isFirst = later(run.lastCheckTime, run.stepTime) === run.stepTime;
  const first = isFirst ? { afterMs: Math.max(postPromotion.intervalMs, postPromotion.settleMs) } : {};
  const asked = check(context, run, { ...primaryCheck(context, run), ...first });
  const next = withRun(state, asked.run);
  if (asked.waits) return stay(next, words(context, next), asked.waits);
  const expected = checkResults(
    compare(world.primary, expectedState(world, plan, run.digest)),
    stamp(world.nowMs),
  );
  return conclude(context, next, [...expected, ...asked.results], verdictOf(expected) !== 'fail');
}

/** Route, primary or its template are not as they were when verification began: what follows, before any check. */
function notAsPromoted(context: Context, state: Verifying): Outcome | undefined {
  const { world } = context;
  const { primary } = world;
  const begunAnew = { ...state, run: { ...state.run, stepTime: context.now } };
  // Somebody deleted the route: it is recreated, and checks count from then on.
  if (!world.route) return stay(begunAnew, words(context, state));
  const isEmpty = servingPods(primary) === 0 && primary && !lostReadiness(primary);
  const isScaled = scalePrimaryBack(context).length > 0;
  if (primary?.digest !== state.run.digest || isEmpty || isScaled) return backToConverging(context, state);
  const dead = failDead(context, state);
  if (dead) return dead;
  const again = restoreTemplate(context, state.run.digest);
  if (again) return stay(begunAnew, again);
  return isAllOn(context, 'primary') ? undefined : backToConverging(context, state);
}

function words({ plan }: Context, { run, post }: Verifying): Effects {
  const count = `${post.passedChecks ?? 0} of ${plan.postPromotion.successThreshold} checks passed`;
  return note('Verifying', `${describeRelease(run)} serves from the primary; ${count}`);
}

/** Somebody changed it, a scaler mostly, and its counts are of before: a check now would be of nothing. */
function waitForObservation(context: Context, state: Verifying): Outcome {
  const unknownSince = state.run.unknownSince ?? context.now;
  const next = withRun(state, { unknownSince });
  const leftMs = context.plan.postPromotion.progressDeadlineMs - elapsedMs(context, unknownSince);
  if (leftMs > 0) return stay(next, words(context, next), wake(leftMs));
  const cause = whyNotReady(context.world.primary);
  return hold(context, next, { reason: 'ChecksUnavailable', finding: cause, control: false });
}

/** `shareable`: the state of the primary is as expected, so that a failure is one of metrics or webhooks. */
function conclude(
  context: Context,
  state: Verifying,
  results: readonly CheckResult[],
  shareable: boolean,
): Outcome {
  const { plan } = context;
  const { post } = state;
  const known = { status: { checks: [...results] } };
  const verdict = verdictOf(results);
  const found = findings(results);
  if (verdict === 'unknown') return withoutAnswer(context, state, found, known);
  const told: Verifying = {
    ...state,
    run: without(state.run, 'unknownSince'),
    post: { ...post, reason: 'Verifying' },
  };
  if (verdict === 'pass')
    return passed(
      context,
      { ...told, post: { ...told.post, passedChecks: (post.passedChecks ?? 0) + 1 } },
      known,
    );
  const failedChecks = (post.failedChecks ?? 0) + 1;
  const next: Verifying = { ...told, failedChecks, post: { ...told.post, passedChecks: 0, failedChecks } };
  const { threshold } = plan.postPromotion;
  const line = `failed check ${failedChecks} of ${threshold} after promotion: ${found}`;
  const heard = combine(known, say('Warning', 'CheckFailed', line));
  if (failedChecks < threshold)
    return stay(next, heard, note('CheckFailed', line), wake(plan.postPromotion.intervalMs));
  const failed = failVerification(context, next, {
    reason: 'ChecksFailed',
    finding: found,
    control: true,
    shareable,
  });
  return { ...failed, ...combine(heard, failed) };
}

/** Enough passes make the release good; one is enough when a newer revision waits, unless that was rejected: it is then superseded. */
function passed(context: Context, state: Verifying, known: Effects): Outcome {
  const { plan, world, now } = context;
  const { run, post } = state;
  const again = wake(plan.postPromotion.intervalMs);
  if ((post.passedChecks ?? 0) >= plan.postPromotion.successThreshold)
    return stay(state, known, words(context, state), act({ type: 'MarkProven', digest: run.digest }));
  const head = headForRun(context, run);
  const isSuperseded =
    head && head.digest !== run.digest && !rejectionOf(context, head.digest) && !post.failedChecks;
  if (!isSuperseded) return stay(state, known, words(context, state), again);
  const message = `${describeRelease(run)} was superseded before it was verified`;
  const entry = {
    ...{
      digest: run.digest,
      commit: run.commit,
      result: 'Superseded' as const,
      reason: 'Superseded',
      message,
    },
    ...{ startTime: run.startTime, endTime: now },
  };
  const admitted = admit(context, head, { before: run });
  const history = { status: { history: [entry, ...(world.status.history ?? [])].slice(0, 10) } };
  const {
    actions: _,
    check: __,
    ...told
  } = combine(known, say('Normal', 'Superseded', message), admitted, history);
  return enter(admitted.next, told);
}

/** Not knowing stops the clock; after the deadline it ends in Held, never in a revert (S29). */
function withoutAnswer(context: Context, state: Verifying, findings: string, known: Effects): Outcome {
  const { progressDeadlineMs, intervalMs } = context.plan.postPromotion;
  const unknownSince = state.run.unknownSince ?? context.now;
  const next: Verifying = {
    ...withRun(state, { unknownSince }),
    post: { ...state.post, reason: 'ChecksUnavailable', cause: findings },
  };
  if (elapsedMs(context, unknownSince) < progressDeadlineMs) {
    const line = note('ChecksUnavailable', `checks after promotion have no answer: ${findings}`);
    return stay(next, known, line, wake(intervalMs));
  }
  const held = hold(context, next, { reason: 'ChecksUnavailable', finding: findings, control: false });
  return { ...held, ...combine(known, held) };
}

/** The record was stamped and read back: the release is the last-known-good, the canary may go (S9, S28). */
function proven(context: Context, state: Verifying): Outcome {
  const { run } = state;
  const { rollback: left } = run;
  const rejects =
    left && !rejectionOf(context, left.digest) ? [{ ...left, reason: 'RolledBack' as const }] : [];
  const message = left
    ? `rolled back to ${describeRelease(run)} on request`
    : `${describeRelease(run)} is promoted ${run.countsAsGood ? 'and accepted as good on request' : 'and verified'}`;
  const ended = end(context, state, { phase: 'Succeeded', reason: 'Succeeded', message });
  return { ...ended, rejects };
}

/** The primary or its traffic is not as it was: it takes the release over once more. */
function backToConverging(context: Context, { run, failedChecks, iterations, post }: Verifying): Outcome {
  const next = promotionState(context, {
    run: without(run, 'stepTime'),
    failedChecks,
    iterations,
    post: { ...post, reason: 'Promoting', startTime: context.now },
  });
  return enter(next);
}
