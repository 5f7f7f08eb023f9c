import { gitPart } from '../../api/digest.ts';
import { findings, verdictOf } from '../../health/check-results.ts';
import { diagnose, sentence } from '../../health/diagnosis.ts';
import { hasConverged, lostReadiness, servingPods } from '../../health/readiness.ts';
import { check, primaryCheck, quietCheck } from '../checks.ts';
import type { Context } from '../context.ts';
import {
  ALL,
  act,
  combine,
  type Effects,
  enter,
  note,
  type Outcome,
  type Preference,
  STAY,
  say,
  stay,
  wake,
} from '../outcome.ts';
import { isWaitingPointless, sharedCause } from '../post-promotion.ts';
import { sinceProgressMs, withProgress, withProgressReset } from '../progress.ts';
import { isLost, revertTarget, soundRecord } from '../records.ts';
import { promotionState, type State, type StateOf, without, withRun } from '../state.ts';
import { canaryServes } from '../traffic/capacity.ts';
import { hasArrived, isAllOn } from '../traffic/traffic.ts';
import { describeRelease, type ReleaseView } from '../world.ts';
import { admit } from './admit.ts';
import { newerRevision } from './head.ts';
import { failDead, revert, startRevert } from './hold-or-revert.ts';
import { applyPrimary, recreatedCanary } from './recreate.ts';

type Held = StateOf<'Held'>;

/** Held for what does not speak for the canary, which runs the same release: traffic stays where it is (ADR 5 and 14). */
function staysOnPrimary({ reason }: Held): boolean {
  return reason === 'ChecksUnavailable' || reason === 'SharedCause';
}

/** Checks said so: that the primary is ready does not end it. */
function isForChecks({ reason }: Held): boolean {
  return reason === 'ChecksFailed' || reason === 'AnalysisFailed' || reason === 'NoData';
}

/** The healthy copy that is not the failing one. */
export function heldPrefers(context: Context, state: Held): Preference {
  const { target, primary } = context.world;
  if (staysOnPrimary(state) && !newerRelease(context, state)) return STAY;
  return canaryServes(target) || servingPods(primary) === 0 ? ALL.canary : STAY;
}

/** The healthy canary carries the traffic; the promotion goes on by itself when the primary heals. onFailure is looked at in every step (issue 11, 7). */
export function held(context: Context, state: Held): Outcome {
  const { world, plan } = context;
  const newer = newerRelease(context, state);
  const superseded = newer && giveWayTo(context, state, newer);
  if (superseded) return superseded;
  if (staysOnPrimary(state)) return recheck(context, state);
  if (!isForChecks(state) && hasConverged(world.primary, plan.primaryReadyPercent))
    return resume(context, state);
  return byPolicy(context, state);
}

/** A newer revision. Under halt nothing is written for config that changed outside Git: templates are not written. */
function newerRelease(context: Context, state: Held): ReleaseView | undefined {
  const head = newerRevision(context, state);
  if (!head || head.digest === state.run.rollback?.digest) return undefined;
  const isSameInGit = gitPart(head.digest) === gitPart(state.run.digest);
  return isHalt(context) && isSameInGit ? undefined : head;
}

function isHalt({ plan }: Context): boolean {
  return plan.postPromotion.onFailure === 'halt';
}

/** The primary is reverted to the last-known-good first; where that must not or cannot be written, the newer revision is tried on the primary. */
function giveWayTo(context: Context, state: Held, head: ReleaseView): Outcome | undefined {
  const { good } = context;
  if (!good || isLost(good) || isHalt(context))
    return hasArrived(context, state.run, 'canary')
      ? admit(context, head, { side: 'primary', before: state.run })
      : undefined;
  const finding = `a newer revision waits: ${describeRelease(head)}`;
  return startRevert(context, state, good, { reason: 'Superseded', finding, reject: false, control: false });
}

/** What ends the hold by itself: nothing for hold and halt, at once for revert, the deadline for auto. */
function byPolicy(context: Context, before: Held): Outcome {
  const { world, plan } = context;
  const { onFailure, progressDeadlineMs } = plan.postPromotion;
  const state = withRun(before, withProgress(context, before.run, world.primary));
  const { run } = state;
  const cause = state.post.cause ?? '';
  const where = isAllOn(context, 'canary')
    ? 'the canary carries all traffic'
    : 'traffic is moving to the canary';
  const line = `${describeRelease(run)} is held, ${where}: ${cause}`;
  const back = onFailure === 'halt' ? {} : restoreDeleted(context, state);
  const waits =
    onFailure === 'hold' || onFailure === 'halt' || run.keepWaiting || !revertTarget(context.good, run);
  const action = isForChecks(state) ? 'nothing automatic' : 'promotion continues if the primary recovers';
  if (waits) return stay(before, note(state.reason, line, { action }), back);
  const diagnosis = diagnose(world.primary, world.target);
  if (onFailure === 'revert' || isForChecks(state))
    return revert(context, state, { reason: state.reason, finding: cause, control: isForChecks(state) });
  const leftMs = progressDeadlineMs - sinceProgressMs(context, run);
  const mayHeal = canaryServes(world.target) && !isWaitingPointless(diagnosis);
  if (!mayHeal || leftMs <= 0)
    return revert(context, state, {
      reason: state.reason,
      finding: sentence(diagnosis, world.primary),
      control: false,
      cause: diagnosis.cause,
    });
  const next = { action: 'revert unless the primary recovers first', timeMs: world.nowMs + leftMs };
  return stay(state, note(state.reason, line, next), back, wake(leftMs));
}

/** A copy that somebody deleted meanwhile comes back as it was: the primary goes on trying, the canary on serving. */
function restoreDeleted(context: Context, { run }: Held): Effects {
  const { world } = context;
  if (!soundRecord(world, run.digest)) return {};
  return act(
    ...(world.primary ? [] : [applyPrimary(context, run.digest)]),
    ...recreatedCanary(context, run.digest),
  );
}

/** The primary converged after all: promotion simply goes on. */
function resume(context: Context, state: Held): Outcome {
  const message = `the primary runs ${describeRelease(state.run)} now; promotion continues`;
  return enter(promotingAgain(context, state), say('Normal', 'Resumed', message));
}

function promotingAgain(context: Context, { run, failedChecks, iterations, post }: Held): State {
  const base = { run: without(withProgressReset(context, run), 'stepTime'), failedChecks, iterations };
  return promotionState(context, {
    ...base,
    post: { ...post, reason: 'Promoting', startTime: context.now },
  });
}

/**
 * Held since nobody could tell, or since other Canaries fail their checks, too: asked again each interval. What they say now brings verification back:
 * any answer, or, of a shared cause, a pass; when the others are well again and this one still fails, it was its own release, which is
 * reverted (design section 5, auto).
 */
function recheck(context: Context, state: Held): Outcome {
  const { run, post, reason } = state;
  const { intervalMs, onFailure } = context.plan.postPromotion;
  const isShared = reason === 'SharedCause';
  const { why, action, resumed } = RECHECK[isShared ? 'SharedCause' : 'ChecksUnavailable'];
  const line = note(reason, `${describeRelease(run)} is held: ${post.cause ?? why}`, { action });
  const dead = deadPrimary(context, state);
  if (dead) return dead;
  if (isShared && onFailure === 'revert' && !run.keepWaiting && revertTarget(context.good, run))
    return revert(context, state, { reason: 'ChecksFailed', finding: post.cause ?? '', control: true });
  const asked = (isShared ? check : quietCheck)(context, run, primaryCheck(context, run));
  const next = { ...state, run: asked.run };
  if (asked.waits) return stay(isShared ? next : state, line, asked.waits);
  const known = { status: { checks: [...asked.results] } };
  const verdict = verdictOf(asked.results);
  if (!isShared || verdict === 'pass') {
    const told = say('Normal', 'Resumed', `${resumed}; verification of ${describeRelease(run)} continues`);
    return verifyAgain(context, next, combine(known, told));
  }
  if (verdict !== 'fail' || run.keepWaiting || sharedCause(context.world))
    return stay(next, line, known, wake(intervalMs));
  const finding = findings(asked.results);
  const back = revert(context, next, { reason: 'ChecksFailed', finding, control: true });
  return { ...back, ...combine(known, back) };
}

/** The words about a hold that checks may end. */
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

/** A primary that serves and dies is no question of checks any more. */
function deadPrimary(context: Context, state: Held): Outcome | undefined {
  const { primary } = context.world;
  // Somebody took it away: it takes the release over once more.
  if (!primary || (servingPods(primary) === 0 && !lostReadiness(primary)))
    return enter(promotingAgain(context, state));
  return failDead(context, state);
}

/** After a shared cause the checks are counted from zero: those that failed said nothing of this release. */
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
