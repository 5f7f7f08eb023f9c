import { diagnose } from '../../health/diagnosis.ts';
import { hasConverged, servingPods, whyNotReady } from '../../health/readiness.ts';
import type { WorkloadView } from '../../health/workload-view.ts';
import { type Context, later, remainingMs } from '../context.ts';
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
import { isWaitingPointless } from '../post-promotion.ts';
import { settlingMs, sinceProgressMs, withProgress, withProgressReset } from '../progress.ts';
import { isDigestLost, reportLost, soundRecord } from '../records.ts';
import { isPaused } from '../requests.ts';
import type { Run } from '../run.ts';
import { type StateOf, without, withRun } from '../state.ts';
import { canaryServes, podsNeeded, readyPods } from '../traffic/capacity.ts';
import { raisePrimary } from '../traffic/scalers.ts';
import { canaryMayServe, hasArrived, isAllOn } from '../traffic/traffic.ts';
import { describeRelease } from '../world.ts';
import { end, routeNote } from './ending.ts';
import { failDead, failPromotion } from './hold-or-revert.ts';
import { applyPrimary, recreatedCanary, scalePrimaryBack } from './recreate.ts';

/** Traffic is to leave the primary before that is written, for a canary that can stand in for it, and has not arrived there (S2). */
export function mustMoveTraffic(context: Context, run: Run): boolean {
  const { primary, sharesWorkload, target } = context.world;
  // What failed on the primary loses its share to the canary first.
  if (run.side === 'primary' && canaryServes(target)) return !hasArrived(context, run, 'canary');
  if (sharesWorkload || !primary || servingPods(primary) === 0 || !canaryMayServe(context, run)) return false;
  if (primary.keepsReadyPod && !run.mountsConfig) return false;
  return !hasArrived(context, run, 'canary');
}

/** Where traffic goes before the primary is written. */
export function promotingPrefers(context: Context, { run }: StateOf<'Promoting'>): Preference {
  const isReady = !isPaused(context, run) && areRecorded(context, run);
  return isReady && mustMoveTraffic(context, run) ? ALL.canary : STAY;
}

/** The bytes of this release and of what the primary runs are kept, and were read back. */
function areRecorded(context: Context, run: Run): boolean {
  return missingRecords(context, run).length === 0 || mayOverwriteLost(context, run);
}

function missingRecords({ world }: Context, run: Run): string[] {
  return [run.digest, world.primary?.digest]
    .filter((digest) => digest !== undefined)
    .filter((digest) => !soundRecord(world, digest));
}

/** A proven release is a person's way out: with it, what the primary runs and cannot be had again is given up (design section 5). */
function mayOverwriteLost(context: Context, run: Run): boolean {
  const missing = missingRecords(context, run);
  const isLost = missing.some((digest) => isDigestLost(context.world, digest));
  return isLost && run.fastLane && !missing.includes(run.digest);
}

/** Before the first write: the records and the traffic must be in place (S2, S10). */
export function promoting(context: Context, state: StateOf<'Promoting'>): Outcome {
  const { world, good, plan } = context;
  const { run } = state;
  if (isPaused(context, run))
    return stay(state, note('Paused', `paused before ${describeRelease(run)} is written to the primary`));
  const missing = missingRecords(context, run);
  if (!areRecorded(context, run)) {
    if (good && missing.some((digest) => isDigestLost(world, digest)))
      return stay(state, reportLost(world, good));
    const saves = missing.map((digest) => ({ type: 'SaveRecord', digest }) as const);
    return stay(
      state,
      act(...saves),
      note('SavingRecord', 'saving the release records before the primary is written'),
    );
  }
  if (!mustMoveTraffic(context, run)) {
    const words = note('Promoting', `writing ${describeRelease(run)} to the primary`);
    return stay(
      withRun(state, withProgressReset(context, run)),
      act(applyPrimary(context, run.digest)),
      words,
    );
  }
  const words = note('Clearing', 'moving all traffic to the canary before the primary is written');
  const back = act(...recreatedCanary(context, run.digest));
  const next = withRun(state, withProgress(context, run, world.target));
  const leftMs = plan.postPromotion.progressDeadlineMs - sinceProgressMs(context, next.run);
  if (leftMs > 0)
    return stay(next, words, back, isAllOn(context, 'canary') ? routeNote(context, run) : {}, wake(leftMs));
  if (isAllOn(context, 'canary')) return stay(next, words, routeNote(context, run));
  const message = `the canary never had enough ready pods to take all traffic: ${whyNotReady(world.target)}`;
  return end(context, next, {
    phase: 'Failed',
    reason: 'CapacityNotReached',
    message,
    reject: 'CapacityNotReached',
  });
}

/** Somebody changed the template of the primary: it is written again, and judged only then (issue 11, 11). */
export function restoreTemplate(context: Context, digest: string): Effects | undefined {
  const { primary } = context.world;
  const change = primary?.drift?.fields.find(({ path }) => path.startsWith('spec.template'));
  const manager = primary?.drift?.manager ?? 'somebody';
  if (change && !context.world.sharesWorkload) {
    const message = `${manager} changed ${change.path} of the primary; it is restored`;
    return combine(act(applyPrimary(context, digest)), note('ForeignChange', message));
  }
  return undefined;
}

/** Who has traffic while the primary takes the release over: as it is, and then the primary. */
export function convergingPrefers(context: Context, state: StateOf<'Converging'>): Preference {
  return canaryMayServe(context, state.run) || state.run.side === 'primary' ? STAY : ALL.primary;
}

/** The primary was written: it converges, and then gets the traffic (design section 4). */
export function converging(context: Context, before: StateOf<'Converging'>): Outcome {
  const { world, plan } = context;
  const { primary } = world;
  const state = withRun(before, withProgress(context, before.run, primary));
  const { run } = state;
  const again = restoreTemplate(context, run.digest);
  if (again) return stay(state, again);
  // It served already: one that dies has failed verification, whichever of the loss and its fault was seen first.
  const dead = state.post.passedChecks === undefined ? undefined : failDead(context, state);
  if (dead) return dead;
  const isScaled = scalePrimaryBack(context).length > 0;
  if (!isScaled && hasConverged(primary, plan.primaryReadyPercent)) return shift(context, state);
  const { progressDeadlineMs, onFailure } = plan.postPromotion;
  const isLost = onFailure === 'auto' && isWaitingPointless(diagnose(primary, world.target));
  const leftMs = progressDeadlineMs - sinceProgressMs(context, run);
  if (isLost || leftMs <= 0)
    return failPromotion(context, state, { reason: 'PrimaryNotReady', control: false });
  const words = note(
    'Converging',
    `the primary is rolling out ${describeRelease(run)}: ${whyNotReady(primary)}`,
    {
      action: 'hold or revert if it makes no progress',
      timeMs: world.nowMs + leftMs,
    },
  );
  return stay(state, words, wake(leftMs));
}

/** The primary is whole: traffic moves to it, by stepWeightPromotion per interval, and is read back (S8). */
function shift(context: Context, state: StateOf<'Converging'>): Outcome {
  const { world, plan } = context;
  const { run } = state;
  const weight = world.route?.canaryWeight ?? 0;
  if (hasArrived(context, run, 'primary')) return startVerifying(context, state);
  const words = note(
    'Converging',
    `the primary is ready; moving traffic to it, ${weight} % left on the canary`,
  );
  if (isAllOn(context, 'primary'))
    return stay(state, words, routeNote(context, run), wake(settlingMs(context, run, 'route')));
  const settleMs = settlingMs(context, run, 'primary');
  if (settleMs > 0) return stay(state, words, wake(settleMs));
  const stepped = plan.splitsTraffic && plan.promotionStepPercent < 100;
  const waitMs =
    stepped && run.stepTime !== undefined && run.weight === weight
      ? remainingMs(context, run.stepTime, plan.intervalMs)
      : 0;
  if (waitMs > 0) return stay(state, words, wake(waitMs));
  const to = stepped ? Math.max(0, weight - plan.promotionStepPercent) : 0;
  const grown = act(...raisePrimary(world));
  if (!carries(context, world.primary, 100 - to)) {
    const short = note('WaitingForCapacity', `the primary needs more ready pods for ${100 - to} %`);
    return stay({ ...state, run: { ...run, weight, stepTime: context.now } }, grown, short);
  }
  const told = say('Normal', 'TrafficShifted', `primary weight ${100 - weight} % -> ${100 - to} %`);
  const next = { ...state, iterations: 0, run: { ...run, weight: to, stepTime: context.now } };
  const again = to > 0 ? wake(plan.intervalMs) : {};
  const prefers: Preference = { kind: 'share', side: 'primary', percent: 100 - to };
  return { ...stay(next, words, told, grown, again), prefers };
}

function carries(context: Context, primary: WorkloadView | undefined, sharePercent: number): boolean {
  const needed = podsNeeded(context, 'primary', sharePercent);
  const isUpdated =
    (primary?.updatedReadyReplicas ?? 0) >= Math.min(needed, primary?.desiredReplicas ?? needed);
  return context.world.sharesWorkload || (isUpdated && readyPods(context, 'primary') >= needed);
}

function startVerifying(context: Context, { run, post, iterations }: StateOf<'Converging'>): Outcome {
  const { now } = context;
  // Checks count from when all traffic is on the primary, not from the end of the time that is left to the data plane.
  const fullSince = (run.stepTime && later(run.stepTime, run.standing?.route?.since)) ?? now;
  const { cause: _, ...rest } = post;
  const counted = { ...rest, reason: 'Verifying', startTime: now, failedChecks: 0, passedChecks: 0 };
  return enter(
    {
      kind: 'Verifying',
      run: { ...without(run, 'unknownSince'), stepTime: fullSince },
      failedChecks: 0,
      iterations,
      post: counted,
    },
    say('Normal', 'Verifying', `all traffic is on the primary with ${describeRelease(run)}; verifying it`),
  );
}
