import { ALL_TO_CANARY } from '../../api/canary/plan.ts';
import { isReady, whyNotReady } from '../../health/readiness.ts';
import {
  canaryPods,
  canaryServes,
  reachableCanaryPods,
  servingPods,
  type WorkloadView,
} from '../../health/workload-view.ts';
import { type Context, remainingMs, SETTLE_MS, untilSettledMs } from '../context.ts';
import { type Action, ALL, act, combine, type Effects, emit, note, wake } from '../outcome.ts';
import {
  allocate,
  fullSize,
  growCanary,
  isAllOn,
  isMinReplicasReset,
  pauseCanary,
  podsNeeded,
  rescueTraffic,
  resetMinReplicas,
  resumeCanary,
  resumeReplicas,
} from '../traffic/traffic.ts';
import { isLost, type RecordView, type World } from '../world.ts';

/** Added to the time that pods may take, for routes, reads and the queue (L10). */
const GRACE_MS = 30_000;

/** Effects of a deletion. `intentFirst`: the status is written before the actions. */
interface DeletionEffects extends Effects {
  readonly intentFirst?: boolean;
}

/**
 * The Canary is deleted with `revertOnDeletion`: the target takes the traffic with the last-known-good, read back, and only then everything
 * that the Canary owns is deleted (flagger-behaviour 2.12). After the deadline it is deleted anyway, what serves stays, and this is
 * reported (L10).
 */
export function terminating(context: Context): DeletionEffects {
  const { world, plan } = context;
  const { status } = world;
  const { nowMs, deletingSinceMs = nowMs } = world;
  const leftMs = plan.progressDeadlineMs + GRACE_MS - (nowMs - deletingSinceMs);
  if (world.sharesWorkload) return terminateInPlace(context, leftMs);
  // During a switch of providers the traffic is moving to the target anyway.
  if (world.canary.spec.revertOnDeletion !== true && world.movesTo === undefined) {
    const statusNote = note(
      'Terminating',
      'spec.revertOnDeletion is off: the Canary is deleted with everything it created',
    );
    return { ...combine(statusNote, act({ type: 'RemoveFinalizer' })), intentFirst: true };
  }
  const handBack = handBackTraffic(context, status.handBack?.readyTime);
  if (handBack.isDone) {
    const statusNote = note('HandedBack', 'the target carries all traffic; deleting what the Canary created');
    const handedBack = combine(handBack.effects, { status: { phase: 'Terminated' } }, statusNote);
    if (status.phase !== 'Terminated') return combine(handedBack, wake(SETTLE_MS));
    const settleMs = untilSettledMs(context, status.lastTransitionTime);
    if (settleMs > 0) return combine(handedBack, wake(settleMs));
    const scaler = handScalerBack(context, leftMs);
    if (!scaler.isDone) return combine(handedBack, scaler.effects);
    const message = 'the target carries all traffic; Services and routes stay without an owner';
    return combine(handedBack, emit('Normal', 'HandedBack', message), releaseObjects(context, false));
  }
  if (leftMs <= 0) return giveUp(context);
  const { readyTime } = handBack;
  const known = {
    phase: 'Terminating',
    handBack: readyTime === undefined ? undefined : { readyTime },
  } as const;
  return combine(handBack.effects, { status: known }, wake(leftMs));
}

/** One step of a hand-over; `isDone` once its result was read back. */
interface HandOver {
  readonly isDone: boolean;
  readonly effects: Effects;
}

/** Restores minReplicas of the target's scaler, after it had time to see the load, if there is time left. */
export function handScalerBack(context: Context, leftMs: number): HandOver {
  const { scaler, status } = context.world;
  if (!scaler || isMinReplicasReset(context.world, 'canary')) return { isDone: true, effects: {} };
  const waitMs = remainingMs(context, status.lastTransitionTime, scaler.settleMs);
  if (leftMs > 0 && waitMs > 0) return { isDone: false, effects: wake(leftMs, waitMs) };
  return { isDone: false, effects: act(...resetMinReplicas(context.world, 'canary')) };
}

/** One step of the traffic's way to the target. */
interface HandBack extends HandOver {
  /** Since when the target could carry all traffic; undefined while it cannot. The caller stores it for the next step. */
  readonly readyTime?: string;
}

/**
 * One step towards all traffic on a ready target. A target that had none gets it once it was ready since `readyTime` for as long as the data
 * plane needs to learn of its endpoints (S2).
 */
export function handBackTraffic(context: Context, readyTime: string | undefined): HandBack {
  const { world, good, now } = context;
  const { target, route } = world;
  const statusNote = note(
    'Terminating',
    `handing the traffic back to the target before the Canary is deleted: ${whyNotReady(target)}`,
    {
      action: 'the Canary is deleted once the target carries all traffic',
    },
  );
  const continues = (...effects: readonly Effects[]) => ({
    isDone: false,
    effects: combine(statusNote, ...effects),
  });
  const rescue = rescueTraffic(context);
  if (rescue) return continues(rescue);
  if (good && needsLastKnownGood(context, good) && (!isLost(good) || servingPods(world.primary) > 0)) {
    // The target is written only without traffic.
    if (route && !isAllOn(context, 'primary')) return continues(allocate(context, undefined, ALL.primary));
    return continues(writeLastKnownGood(world, good));
  }
  if (!target) return { isDone: world.primary === undefined, effects: statusNote };
  const carried = carriesAll(context, target);
  if (!carried.isReady) return continues(act(...carried.actions));
  if (isAllOn(context, 'canary'))
    return { isDone: route?.accepted === true, effects: combine(statusNote, act(...apexToTarget(world))) };
  const since = readyTime ?? now;
  const leftMs = servingPods(world.primary) > 0 ? untilSettledMs(context, since) : 0;
  const next = leftMs > 0 ? wake(leftMs) : act({ type: 'SetTraffic', route: ALL_TO_CANARY });
  return { ...continues(next), readyTime: since };
}

function writeLastKnownGood(world: World, good: RecordView): Effects {
  // An unproven release does not replace a last-known-good that serves and cannot be written again.
  if (isLost(good)) return {};
  // Under a scaler the target starts with what that allows, and keeps the pods it has.
  const scaler = world.scaler?.canary;
  const desired = world.target?.desiredReplicas ?? 0;
  const replicas = scaler ? Math.max(resumeReplicas(scaler), desired) : fullSize(world);
  return act(...resumeCanary(world), { type: 'ApplyCanary', digest: good.digest, replicas });
}

/** Whether the target has ready pods for all traffic. With all traffic on it, its scaler alone decides how many it has. */
function carriesAll(
  context: Context,
  target: WorkloadView,
): { readonly isReady: boolean; readonly actions: readonly Action[] } {
  const { world, plan } = context;
  if (isAllOn(context, 'canary') && world.scaler?.canary && canaryServes(target))
    return { isReady: true, actions: [] };
  if (target.desiredReplicas >= fullSize(world)) {
    const isReachable = reachableCanaryPods(target) >= podsNeeded(context, 'canary', 100);
    return { isReady: isReady(target, plan.canaryReadyPercent) && isReachable, actions: [] };
  }
  return { isReady: false, actions: growCanary(world, fullSize(world)) };
}

/**
 * Requests to the apex Service that do not use the route reach the target, too, before the primary is deleted; with the ports of the primary if
 * it is unknown what the target runs.
 */
function apexToTarget({ target, primary }: World): Action[] {
  const digest = target?.digest ?? primary?.digest;
  return digest ? [{ type: 'EnsureServices', primaryDigest: digest, canaryDigest: digest }] : [];
}

/** The target runs another release than the last-known-good, unless it is the only copy that serves: then it keeps serving. */
function needsLastKnownGood({ world }: Context, good: RecordView): boolean {
  const { target, primary, route } = world;
  if (target?.digest === good.digest || world.foreignTarget) return false;
  const onlyTheTarget = (route?.canaryWeight ?? 0) > 0 && primary?.digest !== good.digest;
  return !onlyTheTarget || servingPods(target) === 0;
}

/** The deadline has passed: a side that can carry the traffic gets it and stays, and this is reported (S2, L10). */
function giveUp(context: Context): DeletionEffects {
  const { primary, target, route } = context.world;
  const moves = lastTrafficShift(context);
  // The primary may be deleted only if the target was read back to carry all traffic.
  const targetCarriesAll = isAllOn(context, 'canary') && route?.accepted === true && servingPods(target) > 0;
  const keepsPrimary = moves.length > 0 || !targetCarriesAll;
  const rest =
    keepsPrimary && primary
      ? `${primary.name} stays without an owner, and the Canary is deleted`
      : 'the Canary is deleted anyway';
  const message = `the target did not take the traffic back in time: ${whyNotReady(target)}; ${rest}`;
  return {
    ...combine(
      { status: { phase: 'Terminated' } },
      note('HandBackGivenUp', message),
      emit('Warning', 'HandBackGivenUp', message),
      act(...moves, ...(keepsPrimary ? [] : apexToTarget(context.world))),
      releaseObjects(context, keepsPrimary),
    ),
    intentFirst: true,
  };
}

/** Moves the traffic to the side that can carry it. minReplicas are not raised, since they could not be restored afterwards (S18). */
function lastTrafficShift(context: Context): Action[] {
  const { world, good } = context;
  const { primary, target, route } = world;
  if (!route) return [];
  const isComplete = reachableCanaryPods(target) >= fullSize(world);
  const servesAlone = servingPods(primary) === 0 && canaryPods(target) > 0;
  const isWrongRelease = good !== undefined && needsLastKnownGood(context, good) && servingPods(primary) > 0;
  if ((isComplete && !isWrongRelease) || servesAlone)
    return isAllOn(context, 'canary') ? [] : [{ type: 'SetTraffic', route: ALL_TO_CANARY }];
  const { actions = [] } = primary ? allocate(context, undefined, ALL.primary) : {};
  return actions.filter(({ type }) => type !== 'SetScalerFloor');
}

/** Restores scalers and releases what the Canary owns. The finalizer is removed last: after that there is no status to write. */
function releaseObjects({ world }: Context, keepsPrimary: boolean): Effects {
  return act(
    ...pauseCanary(world, false),
    ...resetMinReplicas(world, 'canary'),
    ...(keepsPrimary ? resetMinReplicas(world, 'primary') : []),
    { type: 'Disown', primary: keepsPrimary },
    { type: 'RemoveFinalizer' },
  );
}

/**
 * The Canary of a workload that is rolled out in place is deleted: the workload stays. A release that is being tried is reverted first, to what
 * the workload ran before and with its own settings. Its controller finishes that alone; after the deadline its pods are not waited for (L10).
 */
function terminateInPlace(context: Context, leftMs: number): DeletionEffects {
  const traffic = allocate(context, undefined, ALL.primary);
  if (leftMs > 0 && (traffic.actions ?? []).length > 0) {
    const statusNote = note(
      'Terminating',
      'reverting the workload to the previous release before the Canary is deleted',
    );
    return combine(traffic, { status: { phase: 'Terminating' } }, statusNote, wake(leftMs));
  }
  const { primary, target } = context.world;
  const left = target && target.digest !== primary?.digest ? leftAtStep(target) : undefined;
  const statusNote = left ?? note('HandedBack', 'the workload is as Git says; the Canary is deleted');
  return {
    ...combine({ status: { phase: 'Terminated' } }, statusNote, act({ type: 'RemoveFinalizer' })),
    // A person is told with the status; where nobody has to be, one that cannot be written holds nothing up (L10).
    intentFirst: left !== undefined,
  };
}

/** The API server refused to take its template back until the deadline. */
function leftAtStep({ name }: WorkloadView): Effects {
  const message = `${name} could not be reverted in time and stays at its step, and no controller finishes it; the Canary is deleted anyway`;
  return combine(note('HandBackGivenUp', message), emit('Warning', 'HandBackGivenUp', message));
}
