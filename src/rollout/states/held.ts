import { gitPart } from '../../api/digest.ts';
import { findings, verdictOf } from '../../health/check-results.ts';
import { diagnose, sentence } from '../../health/diagnosis.ts';
import { canaryServes, hasConverged, lostReadiness, servingPods } from '../../health/readiness.ts';
import { check, primaryCheck, quietCheck } from '../checks.ts';
import type { Context } from '../context.ts';
import {
  ALL,
  act,
  combine,
  type Effects,
  emit,
  enter,
  note,
  type Outcome,
  type Preference,
  STAY,
  stay,
  wake,
} from '../outcome.ts';
import { isWaitingPointless, sharedCause } from '../post-promotion.ts';
import { sinceProgressMs, withProgress, withProgressReset } from '../progress.ts';
import { isLost, revertTarget, soundRecord } from '../records.ts';
import { promotionState, type State, type StateOf, without, withRun } from '../state.ts';
import { hasArrived, isAllOn } from '../traffic/traffic.ts';
import { describeRelease, type ReleaseView } from '../world.ts';
import { admit, newerRevision } from './head.ts';
import { applyPrimary, recreatedCanary } from './restore.ts';
import { failDead, revert, startRevert } from './transitions.ts';

type Held = StateOf<'Held'>;

/** Held for a reason that says nothing about the release, which the canary runs too: traffic stays where it is (ADR 5 and 14). */
function staysOnPrimary({ reason }: Held): boolean {
  return reason === 'ChecksUnavailable' || reason === 'SharedCause';
}

/** Held because checks failed: a ready primary does not end it. */
function isForChecks({ reason }: Held): boolean {
  return reason === 'ChecksFailed' || reason === 'AnalysisFailed' || reason === 'NoData';
}

/** Traffic while a release is held: to the canary if it can serve, or nobody else can. */
export function heldPrefers(context: Context, state: Held): Preference {
  const { target, primary } = context.world;
  if (staysOnPrimary(state) && !newerRelease(context, state)) return STAY;
  return canaryServes(target) || servingPods(primary) === 0 ? ALL.canary : STAY;
}

/** The healthy canary carries the traffic; the promotion continues when the primary recovers. onFailure applies as it is in each step (issue 11, 7). */
export function held(context: Context, state: Held): Outcome {
  const { world, plan } = context;
  const newer = newerRelease(context, state);
  const superseded = newer && giveWayTo(context, state, newer);
  if (superseded) return superseded;
  if (staysOnPrimary(state)) return recheck(context, state);
  if (!isForChecks(state) && hasConverged(world.primary, plan.primaryReadyPercent))
    return enter(
      promotingAgain(context, state),
      emit('Normal', 'Resumed', `the primary runs ${describeRelease(state.run)} now; promotion continues`),
    );
  return byPolicy(context, state);
}

/** A newer revision in Git. Under halt no template is written, so that a change of config outside Git does not count. */
function newerRelease(context: Context, state: Held): ReleaseView | undefined {
  const head = newerRevision(context, state);
  if (!head || head.digest === state.run.rollback?.digest) return undefined;
  const isSameInGit = gitPart(head.digest) === gitPart(state.run.digest);
  return isHalt(context) && isSameInGit ? undefined : head;
}

/** Under onFailure halt no template is written. */
function isHalt({ plan }: Context): boolean {
  return plan.postPromotion.onFailure === 'halt';
}

/** The primary is reverted to the last-known-good first; if that must not or cannot be written, the newer revision is tried on the primary. */
function giveWayTo(context: Context, state: Held, head: ReleaseView): Outcome | undefined {
  const { good } = context;
  if (!good || isLost(good) || isHalt(context))
    return hasArrived(context, state.run, 'canary')
      ? admit(context, head, { side: 'primary', before: state.run })
      : undefined;
  const finding = `a newer revision waits: ${describeRelease(head)}`;
  return startRevert(context, state, good, { reason: 'Superseded', finding, reject: false, control: false });
}

/** What ends the hold automatically: nothing for hold and halt; revert reverts at once; auto at the deadline. */
function byPolicy(context: Context, before: Held): Outcome {
  const { world, plan } = context;
  const { onFailure, progressDeadlineMs } = plan.postPromotion;
  const state = withRun(before, withProgress(context, before.run, world.primary));
  const { run } = state;
  const cause = state.post.cause ?? '';
  const where = isAllOn(context, 'canary')
    ? 'the canary carries all traffic'
    : 'traffic is moving to the canary';
  const message = `${describeRelease(run)} is held, ${where}: ${cause}`;
  // A copy that somebody deleted is created again as it was.
  const isRestored = onFailure !== 'halt' && soundRecord(world, run.digest) !== undefined;
  const restored = act(
    ...(isRestored && !world.primary ? [applyPrimary(context, run.digest)] : []),
    ...(isRestored ? recreatedCanary(context, run.digest) : []),
  );
  const waits =
    onFailure === 'hold' || onFailure === 'halt' || run.keepWaiting || !revertTarget(context.good, run);
  const action = isForChecks(state) ? 'nothing automatic' : 'promotion continues if the primary recovers';
  if (waits) return stay(before, note(state.reason, message, { action }), restored);
  const diagnosis = diagnose(world.primary, world.target);
  if (onFailure === 'revert' || isForChecks(state))
    return revert(context, state, { reason: state.reason, finding: cause, control: isForChecks(state) });
  const leftMs = progressDeadlineMs - sinceProgressMs(context, run);
  const mayRecover = canaryServes(world.target) && !isWaitingPointless(diagnosis);
  if (!mayRecover || leftMs <= 0)
    return revert(context, state, {
      reason: state.reason,
      finding: sentence(diagnosis, world.primary),
      control: false,
      cause: diagnosis.cause,
    });
  const next = { action: 'revert unless the primary recovers first', timeMs: world.nowMs + leftMs };
  return stay(state, note(state.reason, message, next), restored, wake(leftMs));
}

/** Promotion continues from the state that the primary is in. */
function promotingAgain(context: Context, { run, failedChecks, iterations, post }: Held): State {
  const base = { run: without(withProgressReset(context, run), 'stepTime'), failedChecks, iterations };
  return promotionState(context, {
    ...base,
    post: { ...post, reason: 'Promoting', startTime: context.now },
  });
}

/**
 * Held because checks have no answer, or because other Canaries fail their checks too: the checks are repeated each interval. Any answer, or
 * with a shared cause a passed check, continues verification. If this Canary still fails when the others do not, its own release is the
 * cause and is reverted (design section 5, auto).
 */
function recheck(context: Context, state: Held): Outcome {
  const { run, post, reason } = state;
  const { intervalMs, onFailure } = context.plan.postPromotion;
  const isShared = reason === 'SharedCause';
  const { why, action, resumed } = RECHECK[isShared ? 'SharedCause' : 'ChecksUnavailable'];
  const statusNote = note(reason, `${describeRelease(run)} is held: ${post.cause ?? why}`, { action });
  const notServing = withoutReadyPrimary(context, state);
  if (notServing) return notServing;
  if (isShared && onFailure === 'revert' && !run.keepWaiting && revertTarget(context.good, run))
    return revert(context, state, { reason: 'ChecksFailed', finding: post.cause ?? '', control: true });
  const asked = (isShared ? check : quietCheck)(context, run, primaryCheck(context, run));
  const next = { ...state, run: asked.run };
  if (asked.waits) return stay(isShared ? next : state, statusNote, asked.waits);
  const checked = { status: { checks: [...asked.results] } };
  const verdict = verdictOf(asked.results);
  if (!isShared || verdict === 'pass') {
    const event = emit('Normal', 'Resumed', `${resumed}; verification of ${describeRelease(run)} continues`);
    return verifyAgain(context, next, combine(checked, event));
  }
  if (verdict !== 'fail' || run.keepWaiting || sharedCause(context.world))
    return stay(next, statusNote, checked, wake(intervalMs));
  const finding = findings(asked.results);
  const reverted = revert(context, next, { reason: 'ChecksFailed', finding, control: true });
  return { ...reverted, ...combine(checked, reverted) };
}

/** A primary that was deleted or scaled to zero has to become ready again; one that fails is not a question of checks. */
function withoutReadyPrimary(context: Context, state: Held): Outcome | undefined {
  const { primary } = context.world;
  if (!primary || (servingPods(primary) === 0 && !lostReadiness(primary)))
    return enter(promotingAgain(context, state));
  return failDead(context, state);
}

/** Messages about a hold that checks may end. */
const RECHECK = {
  ChecksUnavailable: {
    why: 'checks have no answer',
    action: 'verification continues once the checks answer again',
    resumed: 'the checks answer again',
  },
  SharedCause: {
    why: 'other Canaries fail their checks, too',
    action: 'checked again every interval',
    resumed: 'the checks pass again',
  },
} as const;

/** Continues verification. After a shared cause checks are counted from zero: those that failed said nothing about this release. */
function verifyAgain(context: Context, state: Held, { status = {}, events = [] }: Effects): Outcome {
  const { run, iterations, reason } = state;
  const { cause, ...post } = { ...state.post, reason: 'Verifying', startTime: context.now };
  const isShared = reason === 'SharedCause';
  const counted = isShared ? { ...post, failedChecks: 0, passedChecks: 0 } : { ...post, cause };
  return enter(
    {
      kind: 'Verifying',
      run: { ...without(run, 'unknownSince'), stepTime: context.now },
      failedChecks: isShared ? 0 : state.failedChecks,
      iterations,
      post: counted,
    },
    { status, events },
  );
}
