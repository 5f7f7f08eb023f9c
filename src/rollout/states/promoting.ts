import { type Diagnosis, diagnose, sentence } from '../../health/diagnosis.ts';
import { whyNotReady } from '../../health/readiness.ts';
import {
  type Context,
  elapsedMs,
  later,
  remainingMs,
  settlingMs,
  sinceProgressMs,
  untilWritten,
  withProgress,
} from '../context.ts';
import { ALL, act, type Effects, emit, note, type Preference, STAY, wake } from '../outcome.ts';
import { canaryState, decidePromotion, isWaitingPointless } from '../post-promotion.ts';
import { enter, type Outcome, type StateOf, standingStill, stay, without, withRun } from '../state.ts';
import {
  canaryMayServe,
  hasArrived,
  isAllOn,
  isRouteRefused,
  missingPods,
  mustMoveTraffic,
  podsNeeded,
  raisePrimary,
  readyPods,
  routeNote,
} from '../traffic/traffic.ts';
import { isPaused, notePause } from '../windows.ts';
import { describeRelease, isDigestLost, type Run } from '../world.ts';
import { missingRecords, saveRecords } from './head.ts';
import {
  applyPrimary,
  isComplete,
  recreatedCanary,
  reportLost,
  restoreTemplate,
  whyIncomplete,
} from './restore.ts';
import { end, failDead, hold, holdUnderChanges, revert } from './transitions.ts';

/** Traffic before the primary is written. */
export function promotingPrefers(context: Context, { run }: StateOf<'Promoting'>): Preference {
  const isReady = !isPaused(context, run) && areRecorded(context, run);
  return isReady && mustMoveTraffic(context, run) ? ALL.canary : STAY;
}

/**
 * The records of this release and of what the primary runs were read back. A proven release may also replace what the primary runs if that
 * is lost, so that a person has a way out (design section 5).
 */
function areRecorded(context: Context, run: Run): boolean {
  const missing = missingRecords(context, run);
  const isLost = missing.some((digest) => isDigestLost(context.world, digest));
  return missing.length === 0 || (isLost && run.fastLane && !missing.includes(run.digest));
}

/** Before the primary is written, records must be saved and traffic moved (S2, S10). */
export function promoting(context: Context, state: StateOf<'Promoting'>): Outcome {
  const { world, good, plan } = context;
  const { run } = state;
  if (isPaused(context, run))
    return stay(
      { ...state, run: standingStill(run) },
      notePause(context, `before ${describeRelease(run)} is written to the primary`),
    );
  const missing = missingRecords(context, run);
  if (!areRecorded(context, run)) {
    if (good && missing.some((digest) => isDigestLost(world, digest)))
      return stay(state, reportLost(world, good));
    return stay(
      state,
      note('SavingRecord', 'saving the release records before the primary is written'),
      saveRecords(context, run, missing),
    );
  }
  if (!mustMoveTraffic(context, run)) {
    const statusNote = note('Promoting', `writing ${describeRelease(run)} to the primary`);
    return stay(
      { ...state, run: untilWritten(context, run) },
      act(applyPrimary(context, run.digest)),
      statusNote,
    );
  }
  const statusNote = note('Clearing', 'moving all traffic to the canary before the primary is written');
  const back = act(...recreatedCanary(context, run.digest));
  const next = withRun(state, withProgress(context, run, world.target));
  const leftMs = plan.postPromotion.progressDeadlineMs - sinceProgressMs(context, next.run);
  const accepted = isAllOn(context, 'canary') ? routeNote(context, run) : {};
  if (leftMs > 0 || isAllOn(context, 'canary') || isRouteRefused(context, run))
    return stay(next, statusNote, back, accepted, wake(leftMs));
  const message = `the canary never had enough ready pods to take all traffic: ${whyNotReady(world.target)}`;
  const reason = 'CapacityNotReached';
  return end(context, next, { phase: 'Failed', reason, message, reject: reason });
}

/** Traffic while the primary rolls the release out: unchanged if the canary may serve it, else to the primary. */
export function convergingPrefers(context: Context, state: StateOf<'Converging'>): Preference {
  return canaryMayServe(context, state.run) || state.run.side === 'primary' ? STAY : ALL.primary;
}

/** The primary was written: it becomes ready, and then gets the traffic (design section 4). */
export function converging(context: Context, before: StateOf<'Converging'>): Outcome {
  const { world, plan } = context;
  const { primary } = world;
  const state = withRun(before, withProgress(context, before.run, primary));
  const { run } = state;
  // It passed checks before: if it fails now, verification has failed, in whichever order its pods and their fault were seen.
  const dead = state.post.passedChecks === undefined ? undefined : failDead(context, state);
  if (dead) return dead;
  // Once it is ready its deadline is over; what becomes of it later has another one.
  if (isComplete(context)) return shift(context, { ...before, run: standingStill(before.run) });
  const { progressDeadlineMs, onFailure } = plan.postPromotion;
  const diagnosis = diagnose(primary, world.target);
  const isPointless = onFailure === 'auto' && isWaitingPointless(diagnosis);
  const leftMs = progressDeadlineMs - sinceProgressMs(context, run);
  if (isPointless || leftMs <= 0) return failPromotion(context, state, diagnosis);
  const again = restoreTemplate(context, run.digest);
  if (again && elapsedMs(context, run.restoredSince) >= progressDeadlineMs)
    return holdUnderChanges(context, state, whyIncomplete(context, ''));
  if (again) return stay(state, again, wake(leftMs));
  const statusNote = note(
    'Converging',
    `the primary is rolling out ${describeRelease(run)}: ${whyIncomplete(context, whyNotReady(primary))}`,
    {
      action: 'hold or revert if it makes no progress',
      timeMs: world.nowMs + leftMs,
    },
  );
  return stay(state, statusNote, wake(leftMs));
}

/** By onFailure: revert at once; hold; or, for auto, hold while the canary with the same digest is healthy, and revert if it is not, or shows the same fault. */
function failPromotion(context: Context, state: StateOf<'Converging'>, diagnosis: Diagnosis): Outcome {
  const { plan, world } = context;
  const failure = {
    reason: 'PrimaryNotReady' as const,
    finding: whyIncomplete(context, sentence(diagnosis, world.primary)),
    control: false,
    cause: diagnosis.cause,
  };
  const canary = canaryState(world, state.run.digest, plan.canaryReadyPercent, diagnosis);
  const { action } = decidePromotion(plan.postPromotion.onFailure, canary);
  return action === 'revert' ? revert(context, state, failure) : hold(context, state, failure);
}

/** The primary is ready: traffic moves to it, by stepWeightPromotion per interval, and is read back (S8). */
function shift(context: Context, state: StateOf<'Converging'>): Outcome {
  const { world, plan } = context;
  const { run } = state;
  const weight = world.route?.canaryWeight ?? 0;
  if (hasArrived(context, run, 'primary')) return startVerifying(context, state);
  const statusNote = note(
    'Converging',
    `the primary is ready; moving traffic to it, ${weight} % left on the canary`,
  );
  if (isAllOn(context, 'primary'))
    return stay(state, statusNote, routeNote(context, run), wake(settlingMs(context, run, 'route')));
  const settleMs = settlingMs(context, run, 'primary');
  if (settleMs > 0) return stay(state, statusNote, wake(settleMs));
  const { isStepped, to, share, prefers } = nextShift(context, weight);
  const waitMs =
    isStepped && run.stepTime !== undefined && run.weight === weight
      ? remainingMs(context, later(run.stepTime, run.standing?.route?.since), plan.intervalMs)
      : 0;
  if (waitMs > 0) return stay(state, statusNote, wake(waitMs));
  const grown = act(...raisePrimary(world));
  const needed = podsNeeded(context, 'primary', share);
  if (!world.sharesWorkload && !hasPodsFor(context, needed))
    return waitForPods(context, state, { needed, share, grown });
  // Asked for before, and not read back yet: the time of each try would call for the next one at once.
  const isAsked = run.weight === to && run.stepTime !== undefined;
  const moved = {
    ...without(run, 'shortSince'),
    weight: to,
    stepTime: isAsked ? run.stepTime : context.now,
  };
  const next = { ...state, iterations: 0, run: moved };
  const again = to > 0 ? wake(plan.intervalMs) : {};
  return { ...stay(next, statusNote, grown, again), prefers };
}

/** What is left `to` the canary, and the share that the primary must carry. */
interface Shift {
  readonly isStepped: boolean;
  readonly to: number;
  readonly share: number;
  readonly prefers: Preference;
}

/** Of an A/B test the requests that match go back by steps, as in Flagger; all of them at once if the canary had others, too. */
function nextShift({ world, plan }: Context, weight: number): Shift {
  const isAbTest = plan.strategy.kind === 'ab';
  const isMatched = isAbTest && world.route?.matched === true;
  const isStepped = plan.promotionStepPercent < 100 && (isMatched || !isAbTest);
  const to = isStepped ? Math.max(0, weight - plan.promotionStepPercent) : 0;
  // The primary has all other requests, too.
  if (isMatched)
    return { isStepped, to, share: 100, prefers: { kind: 'share', side: 'canary', percent: to } };
  return { isStepped, to, share: 100 - to, prefers: { kind: 'share', side: 'primary', percent: 100 - to } };
}

function hasPodsFor(context: Context, needed: number): boolean {
  const { updatedReadyReplicas = 0, desiredReplicas = needed } = context.world.primary ?? {};
  return updatedReadyReplicas >= Math.min(needed, desiredReplicas) && readyPods(context, 'primary') >= needed;
}

/** Both sides run the release: nothing is taken back, but a person is asked for. */
function waitForPods(
  context: Context,
  state: StateOf<'Converging'>,
  { needed, share, grown }: { readonly needed: number; readonly share: number; readonly grown: Effects },
): Outcome {
  const { world, plan, now } = context;
  const { run } = state;
  const isKnown = run.shortSince !== undefined && run.stepTime !== undefined;
  const since = isKnown ? {} : { stepTime: now, shortSince: run.shortSince ?? now };
  const short = { ...run, weight: world.route?.canaryWeight ?? 0, ...since };
  const deadlineMs = plan.postPromotion.progressDeadlineMs;
  const ready = Math.min(readyPods(context, 'primary'), world.primary?.updatedReadyReplicas ?? 0);
  const missing = missingPods(context, short, { side: 'primary', ready, needed, share, deadlineMs });
  return stay({ ...state, run: short }, grown, missing);
}

function startVerifying(context: Context, { run, post, iterations }: StateOf<'Converging'>): Outcome {
  const { now } = context;
  // Checks count from when all traffic was on the primary, without the time that the data plane had to follow.
  const allTrafficSince = (run.stepTime && later(run.stepTime, run.standing?.route?.since)) ?? now;
  const { cause: _, ...rest } = post;
  const counted = { ...rest, reason: 'Verifying', startTime: now, failedChecks: 0, passedChecks: 0 };
  return enter(
    {
      kind: 'Verifying',
      run: { ...without(run, 'unknownSince', 'shortSince'), stepTime: allTrafficSince },
      failedChecks: 0,
      iterations,
      post: counted,
    },
    emit('Normal', 'Verifying', `all traffic is on the primary with ${describeRelease(run)}; verifying it`),
  );
}
