import type { CheckResult } from '../../api/canary/status.ts';
import { checkResults, findings, verdictOf } from '../../health/check-results.ts';
import { compare } from '../../health/expectation.ts';
import { hasConverged, lostReadiness, replacedPods, whyNotReady } from '../../health/readiness.ts';
import { servingPods } from '../../health/workload-view.ts';
import { check, expectedState, hasHooks, primaryCheck } from '../checks.ts';
import { type Context, elapsedMs, later } from '../context.ts';
import { act, combine, type Effects, emit, note, wake } from '../outcome.ts';
import { enter, type Outcome, promotionState, type StateOf, stay, without, withRun } from '../state.ts';
import { hasArrived, isAllOn } from '../traffic/traffic.ts';
import { headForRun } from '../windows.ts';
import { describeRelease, rejectionOf } from '../world.ts';
import { historyWith } from './ending.ts';
import { admit } from './head.ts';
import { isChanging, restoreTemplate, scalePrimaryBack, whyIncomplete } from './restore.ts';
import { end, failDead, failVerification, hold, holdUnderChanges } from './transitions.ts';

type Verifying = StateOf<'Verifying'>;

/** All traffic is on the primary; the canary keeps its pods (design sections 2.3 and 4). */
export function verifying(context: Context, before: Verifying): Outcome {
  const { world, plan, good } = context;
  const { postPromotion } = plan;
  if (good?.digest === before.run.digest) return proven(context, before);
  const changed = notAsPromoted(context, before);
  if (changed) return changed;
  const state = withRun(before, { stepTime: before.run.stepTime ?? context.now });
  const { run } = state;
  // Also while its record cannot be marked: nothing more is asked of it then.
  const isGood = run.countsAsGood || (state.post.passedChecks ?? 0) >= postPromotion.successThreshold;
  const isWhole = hasConverged(world.primary, plan.primaryReadyPercent);
  if (isGood && isWhole && hasArrived(context, run, 'primary'))
    return stay(state, act({ type: 'MarkProven', digest: run.digest }), progressNote(context, state));
  if (isChanging(context)) {
    const unknownSince = run.unknownSince ?? context.now;
    const next = withRun(state, { unknownSince });
    const leftMs = postPromotion.progressDeadlineMs - elapsedMs(context, unknownSince);
    if (leftMs > 0) return stay(next, progressNote(context, next), wake(leftMs));
    const finding = whyNotReady(world.primary);
    if (later(unknownSince, run.stepTime) === unknownSince)
      return hold(context, next, { reason: 'ChecksUnavailable', finding, control: false });
    const meanwhile = 'and what others change of it is put back again and again';
    return holdUnderChanges(context, next, `${finding}, ${meanwhile}`);
  }
  const calm = afterChange(state);
  const isFirst = later(run.lastCheckTime, run.stepTime) === run.stepTime;
  const first = isFirst ? { afterMs: Math.max(postPromotion.intervalMs, postPromotion.settleMs) } : {};
  const asked = check(context, calm.run, { ...primaryCheck(context, run), ...first });
  const next = withRun(calm, asked.run);
  if (asked.waits) return stay(next, progressNote(context, next), asked.waits);
  const replaced = replacedPods(world.primary, plan.primaryReadyPercent);
  const expected = checkResults(
    compare(world.primary, expectedState(world, plan, run.digest)),
    context.now,
  ).map((result) =>
    result.verdict === 'fail' && replaced.has(result.name)
      ? { ...result, verdict: 'inconclusive' as const }
      : result,
  );
  return conclude(context, next, [...expected, ...asked.results], verdictOf(expected) !== 'fail');
}

/** A change of the primary, as by its scaler, is over. What is put back again and again goes on, and so do checks without an answer. */
function afterChange(state: Verifying): Verifying {
  const { run, post } = state;
  const goesOn =
    post.reason === 'ChecksUnavailable' || later(run.stepTime, run.unknownSince) === run.stepTime;
  return goesOn ? state : { ...state, run: without(run, 'unknownSince') };
}

/** What follows if route, primary or its template are not as they were when verification began. */
function notAsPromoted(context: Context, state: Verifying): Outcome | undefined {
  const { world } = context;
  const { primary } = world;
  const countedAnew = { ...state, run: without(state.run, 'stepTime') };
  // Somebody deleted the route: it is recreated, and checks count from then on.
  if (!world.route) return stay(countedAnew, progressNote(context, state));
  const isEmpty = servingPods(primary) === 0 && primary && !lostReadiness(primary);
  const isScaled = scalePrimaryBack(context).length > 0;
  if (primary?.digest !== state.run.digest || isEmpty || isScaled) return backToConverging(context, state);
  const dead = failDead(context, state);
  if (dead) return dead;
  const again = restoreTemplate(context, state.run.digest);
  if (again) return restored(context, countedAnew, again);
  return isAllOn(context, 'primary') ? undefined : backToConverging(context, state);
}

/** A template that others change more often than it can be checked is not put back for ever without a word. */
function restored(context: Context, state: Verifying, again: Effects): Outcome {
  const unknownSince = state.run.unknownSince ?? context.now;
  const next = withRun(state, { unknownSince });
  const isOver = elapsedMs(context, unknownSince) >= context.plan.postPromotion.progressDeadlineMs;
  return isOver ? holdUnderChanges(context, next, whyIncomplete(context, '')) : stay(next, again);
}

function progressNote({ plan }: Context, { run, post }: Verifying): Effects {
  const count = `${post.passedChecks ?? 0} of ${plan.postPromotion.successThreshold} checks passed`;
  return note('Verifying', `${describeRelease(run)} serves from the primary; ${count}`);
}

/** `shareable`: the primary is in the expected state, so that only metrics or webhooks can have failed. */
function conclude(
  context: Context,
  state: Verifying,
  results: readonly CheckResult[],
  shareable: boolean,
): Outcome {
  const { plan } = context;
  const { post } = state;
  const checked = { status: { checks: [...results] } };
  const verdict = verdictOf(results);
  const finding = findings(results);
  if (verdict === 'unknown') return withoutAnswer(context, state, finding, checked);
  const answered: Verifying = {
    ...state,
    run: without(state.run, 'unknownSince'),
    post: { ...post, reason: 'Verifying' },
  };
  if (verdict === 'pass')
    return passed(
      context,
      { ...answered, post: { ...answered.post, passedChecks: (post.passedChecks ?? 0) + 1 } },
      checked,
    );
  const failedChecks = (post.failedChecks ?? 0) + 1;
  const failedPost = { ...answered.post, passedChecks: 0, failedChecks };
  const next: Verifying = { ...answered, failedChecks, post: failedPost };
  const { threshold } = plan.postPromotion;
  const message = `failed check ${failedChecks} of ${threshold} after promotion: ${finding}`;
  const reported = combine(checked, emit('Warning', 'CheckFailed', message));
  if (failedChecks < threshold)
    return stay(next, reported, note('CheckFailed', message), wake(plan.postPromotion.intervalMs));
  const failure = { reason: 'ChecksFailed', finding, control: true, shareable } as const;
  const failed = failVerification(context, next, failure);
  return { ...failed, ...combine(reported, failed) };
}

/**
 * Enough passed checks make the release good. If a newer revision waits that was not rejected, one is enough, and this one is superseded; not if
 * that may have to wait for confirm-rollout, while nobody would look at this one.
 */
function passed(context: Context, state: Verifying, checked: Effects): Outcome {
  const { plan } = context;
  const { run, post } = state;
  const progress = combine(checked, progressNote(context, state));
  if ((post.passedChecks ?? 0) >= plan.postPromotion.successThreshold)
    return stay(state, progress, act({ type: 'MarkProven', digest: run.digest }));
  const head = hasHooks(context, 'confirm-rollout') ? undefined : headForRun(context, run);
  const isSuperseded =
    head && head.digest !== run.digest && !rejectionOf(context, head.digest) && !post.failedChecks;
  if (!isSuperseded) return stay(state, progress, wake(plan.postPromotion.intervalMs));
  const message = `${describeRelease(run)} was superseded before it was verified`;
  const ended = { result: 'Superseded', reason: 'Superseded', message } as const;
  const admitted = admit(context, head, { before: run });
  const history = { status: { history: historyWith(context, run, ended) } };
  const event = emit('Normal', 'Superseded', message);
  return enter(admitted.next, combine(checked, event, admitted, history));
}

/** An inconclusive check neither passes nor fails; after the deadline the release is held, never reverted (S29). */
function withoutAnswer(context: Context, state: Verifying, finding: string, checked: Effects): Outcome {
  const { progressDeadlineMs, intervalMs } = context.plan.postPromotion;
  const unknownSince = state.run.unknownSince ?? context.now;
  const next: Verifying = {
    ...withRun(state, { unknownSince }),
    post: { ...state.post, reason: 'ChecksUnavailable', cause: finding },
  };
  if (elapsedMs(context, unknownSince) < progressDeadlineMs) {
    const statusNote = note('ChecksUnavailable', `checks after promotion have no answer: ${finding}`);
    return stay(next, checked, statusNote, wake(intervalMs));
  }
  const held = hold(context, next, { reason: 'ChecksUnavailable', finding, control: false });
  return { ...held, ...combine(checked, held) };
}

/** The record was marked as proven and read back: the release is the last-known-good, and the canary can be scaled down (S9, S28). */
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

/** The primary or its traffic changed: the primary has to become ready and get the traffic again. */
function backToConverging(context: Context, { run, failedChecks, iterations, post }: Verifying): Outcome {
  const next = promotionState(context, {
    run: without(run, 'stepTime'),
    failedChecks,
    iterations,
    post: { ...post, reason: 'Promoting', startTime: context.now },
  });
  return enter(next);
}
