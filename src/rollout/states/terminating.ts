import { ALL_TO_CANARY } from '../../api/canary/plan.ts';
import { sinceMs } from '../../api/time.ts';
import { isReady, servingPods, whyNotReady } from '../../health/readiness.ts';
import type { WorkloadView } from '../../health/workload-view.ts';
import type { Action } from '../action.ts';
import { type Context, remainingMs } from '../context.ts';
import { ALL, act, combine, type Effects, note, say, wake } from '../outcome.ts';
import { SETTLE_MS } from '../progress.ts';
import { isLost } from '../records.ts';
import { canaryPods, canaryServes, fullSize, scalerOf } from '../traffic/capacity.ts';
import {
  growCanary,
  isMinReplicasReset,
  pauseCanary,
  resetMinReplicas,
  resumeReplicas,
} from '../traffic/scalers.ts';
import { allocate, isAllOn, rescueTraffic } from '../traffic/traffic.ts';
import type { RecordView, World } from '../world.ts';

/** Beyond the time that pods may take: routes, reads and the queue (L10). */
const GRACE_MS = 30_000;

/** What a deletion gives: things to do, and Flagger's phase. `intentFirst`: the status is written before them. */
export interface DeletionEffects extends Effects {
  readonly intentFirst?: boolean;
}

/**
 * The Canary is deleted with `revertOnDeletion`: the target takes the traffic back with the last-known-good, read back, and only then may
 * everything that the Canary owns go (flagger-behaviour 2.12). Bounded: after the deadline it goes, what is needed to serve stays, and a
 * person is told (L10).
 */
export function terminating(context: Context): DeletionEffects {
  const { world, plan } = context;
  const { status } = world;
  const leftMs =
    plan.progressDeadlineMs + GRACE_MS - sinceMs(world.nowMs, world.canary.metadata.deletionTimestamp);
  if (world.sharesWorkload) return endInPlace(context, leftMs);
  // Between two providers the traffic is on its way to the target anyway.
  if (world.canary.spec.revertOnDeletion !== true && world.movesTo === undefined) {
    const words = note(
      'Terminating',
      'spec.revertOnDeletion is off: the Canary is deleted with everything it created',
    );
    return { ...combine(words, act({ type: 'RemoveFinalizer' })), intentFirst: true };
  }
  const back = handBackTraffic(context);
  if (back.isThere) {
    const words = note('HandedBack', 'the target carries all traffic; deleting what the Canary created');
    const gone = combine(back.effects, { status: { phase: 'Terminated' } }, words);
    if (status.phase !== 'Terminated') return combine(gone, wake(SETTLE_MS));
    const settleMs = remainingMs(context, status.lastTransitionTime, SETTLE_MS);
    if (settleMs > 0) return combine(gone, wake(settleMs));
    const scaler = hasScalerBack(context, leftMs);
    return scaler.isBack
      ? combine(gone, finishHandBack(context), { intentFirst: true } as Effects)
      : combine(gone, scaler.effects);
  }
  if (leftMs > 0) return combine(back.effects, { status: { phase: 'Terminating' } }, wake(leftMs));
  return giveUp(context);
}

/** The target's scaler is as it was before the rollout; it first has time to see the load, as far as there is any left. */
export function hasScalerBack(
  context: Context,
  leftMs: number,
): { readonly isBack: boolean; readonly effects: Effects } {
  const { scaler, status } = context.world;
  if (!scaler || isMinReplicasReset(context.world, 'canary')) return { isBack: true, effects: {} };
  const waitMs = remainingMs(context, status.lastTransitionTime, scaler.settleMs);
  if (leftMs > 0 && waitMs > 0) return { isBack: false, effects: wake(leftMs, waitMs) };
  return { isBack: false, effects: act(...resetMinReplicas(context.world, 'canary')) };
}

/** One step towards all traffic on a ready target; `isThere` once that was read back. */
export function handBackTraffic(context: Context): { readonly isThere: boolean; readonly effects: Effects } {
  const { world, good } = context;
  const { target, route } = world;
  const words = note(
    'Terminating',
    `handing the traffic back to the target before the Canary is deleted: ${whyNotReady(target)}`,
    {
      action: 'the Canary is deleted once the target carries all traffic',
    },
  );
  const goesOn = (...effects: readonly Effects[]) => ({
    isThere: false,
    effects: combine(words, ...effects),
  });
  const rescue = rescueTraffic(context);
  if (rescue) return goesOn(rescue);
  if (good && needsLastKnownGood(context, good) && (!isLost(good) || servingPods(world.primary) > 0)) {
    // The target changes only without traffic.
    if (route && !isAllOn(context, 'primary')) return goesOn(allocate(context, undefined, ALL.primary));
    // Nothing unproven takes the place of a last-known-good that serves and cannot be written again.
    if (isLost(good)) return goesOn();
    return goesOn(
      act(...pauseCanary(world, false), {
        type: 'ApplyCanary',
        digest: good.digest,
        replicas: podsToStart(world),
      }),
    );
  }
  if (!target) return { isThere: world.primary === undefined, effects: words };
  const carried = carriesAll(context, target);
  if (!carried.isReady) return goesOn(act(...carried.actions));
  if (!isAllOn(context, 'canary')) return goesOn(act({ type: 'SetTraffic', route: ALL_TO_CANARY }));
  return { isThere: route?.accepted === true, effects: combine(words, act(...apexFollows(world))) };
}

/** The target has the pods for all traffic, ready. With the traffic on it, its scaler alone decides how many it has. */
function carriesAll(
  context: Context,
  target: WorkloadView,
): { readonly isReady: boolean; readonly actions: readonly Action[] } {
  const { world, plan } = context;
  if (isAllOn(context, 'canary') && scalerOf(world, 'canary') && canaryServes(target))
    return { isReady: true, actions: [] };
  if (target.desiredReplicas >= fullSize(world))
    return { isReady: isReady(target, plan.canaryReadyPercent), actions: [] };
  return { isReady: false, actions: growCanary(world, fullSize(world)) };
}

/** Who calls the apex Service past the route reaches the target as well, before the primary goes. */
function apexFollows({ target }: World): Action[] {
  const digest = target?.digest;
  return digest ? [{ type: 'EnsureServices', primaryDigest: digest, canaryDigest: digest }] : [];
}

/** Under a scaler a target begins with what that allows, and keeps the pods it has. */
function podsToStart(world: World): number {
  const scaler = scalerOf(world, 'canary');
  return scaler ? Math.max(resumeReplicas(scaler), world.target?.desiredReplicas ?? 0) : fullSize(world);
}

/** The target runs something else than the last-known-good, unless it is the only healthy copy: then what serves goes on serving. */
function needsLastKnownGood({ world }: Context, good: RecordView): boolean {
  const { target, primary, route } = world;
  if (target?.digest === good.digest || world.foreignTarget) return false;
  const onlyTheTarget = (route?.canaryWeight ?? 0) > 0 && primary?.digest !== good.digest;
  return !onlyTheTarget || servingPods(target) === 0;
}

/** The time is up: who can carry the traffic has it and stays, and this is reported (S2, L10). */
function giveUp(context: Context): DeletionEffects {
  const { primary, target } = context.world;
  const moves = lastTrafficShift(context);
  const keepsPrimary = moves.length > 0 || !carriesAlone(context);
  const rest =
    keepsPrimary && primary
      ? `${primary.name} stays without an owner, and the Canary is deleted`
      : 'the Canary is deleted anyway';
  const message = `the target did not take the traffic back in time: ${whyNotReady(target)}; ${rest}`;
  return {
    ...combine(
      { status: { phase: 'Terminated' } },
      note('HandBackGivenUp', message),
      say('Warning', 'HandBackGivenUp', message),
      act(...moves, ...(keepsPrimary ? [] : apexFollows(context.world))),
      releaseObjects(context, keepsPrimary),
    ),
    intentFirst: true,
  };
}

/** Moves the traffic to whoever can carry it. Nobody is there afterwards to give back what these would raise (S18). */
function lastTrafficShift(context: Context): Action[] {
  const { world, good } = context;
  const { primary, target, route } = world;
  if (!route) return [];
  const isWhole = canaryPods(target) >= fullSize(world);
  const servesAlone = servingPods(primary) === 0 && canaryPods(target) > 0;
  const isWrong = good !== undefined && needsLastKnownGood(context, good) && servingPods(primary) > 0;
  if ((isWhole && !isWrong) || servesAlone)
    return isAllOn(context, 'canary') ? [] : [{ type: 'SetTraffic', route: ALL_TO_CANARY }];
  const { actions = [] } = primary ? allocate(context, undefined, ALL.primary) : {};
  return actions.filter(({ type }) => type !== 'SetScalerFloor');
}

/** The primary may go only when the target was read back to carry all of it. */
function carriesAlone(context: Context): boolean {
  const { route, target } = context.world;
  return isAllOn(context, 'canary') && route?.accepted === true && servingPods(target) > 0;
}

function finishHandBack(context: Context): Effects {
  const message = 'the target carries all traffic; Services and routes stay without an owner';
  return combine(say('Normal', 'HandedBack', message), releaseObjects(context, false));
}

/** The status is written first: after the finalizer there is nothing to write to. */
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
 * The Canary of a workload that is rolled out in place is deleted: the workload stays, and first goes back to what it ran before a release that is being
 * tried, with its own settings. It goes on with that by itself; after the deadline nobody waits for its pods any more (L10).
 */
function endInPlace(context: Context, leftMs: number): DeletionEffects {
  const back = allocate(context, undefined, ALL.primary);
  if (leftMs > 0 && (back.actions ?? []).length > 0) {
    const words = note(
      'Terminating',
      'reverting the workload to the previous release before the Canary is deleted',
    );
    return combine(back, { status: { phase: 'Terminating' } }, words, wake(leftMs));
  }
  const words = note('HandedBack', 'the workload is as Git says; the Canary is deleted');
  return {
    ...combine({ status: { phase: 'Terminated' } }, words, act({ type: 'RemoveFinalizer' })),
    intentFirst: true,
  };
}
