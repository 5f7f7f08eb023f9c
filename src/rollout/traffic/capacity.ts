import { servingPods } from '../../health/readiness.ts';
import type { WorkloadView } from '../../health/workload-view.ts';
import type { Context } from '../context.ts';
import type { Side } from '../run.ts';
import type { ScalerSide, World } from '../world.ts';

/**
 * Pods that carry all the traffic of this Canary when it is whole. Where pods follow nodes, a release that wants fewer nodes than the
 * primary has can carry it with those. Under a scaler the copy that has all the traffic tells, too: it was scaled by that traffic.
 */
export function fullSize({ primary, target, route, scaler }: World): number {
  const isAllOnTarget = !route || (route.canaryWeight === 100 && !route.matched);
  const scaled = scaler && isAllOnTarget ? (target?.desiredReplicas ?? 0) : 0;
  const wanted = primary?.wantedReplicas ?? 0;
  const carried = Math.max(1, primary?.desiredReplicas ?? 0, wanted, scaled);
  const nodes = target?.followsNodes ? target.desiredReplicas : 0;
  return nodes > 0 ? Math.min(carried, nodes) : carried;
}

/** Ready pods a share of what so many pods carry needs: ceil(share x pods) (S4). */
function podsFor(sharePercent: number, carried: number): number {
  return Math.max(1, Math.ceil((sharePercent * carried) / 100));
}

/** The scaler that owns the number of pods of this copy; undefined where none does, and pods are counted out by us. */
export function scalerOf(world: World, side: Side): ScalerSide | undefined {
  return world.scaler?.[side];
}

/** Ready pods that a side needs for this share, by its ready threshold; of the primary no more than its scaler may ever give it (S4). */
export function podsNeeded({ world, plan }: Context, side: Side, sharePercent: number): number {
  const threshold = side === 'primary' ? plan.primaryReadyPercent : plan.canaryReadyPercent;
  const whole = Math.max(1, Math.floor((fullSize(world) * threshold) / 100));
  const needed = podsFor(sharePercent, whole);
  const scaler = side === 'primary' ? scalerOf(world, side) : undefined;
  return scaler ? Math.min(needed, Math.max(1, scaler.maxReplicas)) : needed;
}

/** Pods of a side that may get traffic: the canary's must be of the template under test. */
export function readyPods({ world }: Context, side: Side): number {
  return side === 'primary' ? servingPods(world.primary) : canaryPods(world.target);
}

/** The largest share, in percent, that a side's ready pods carry. */
export function readySharePercent(context: Context, side: Side): number {
  const ready = readyPods(context, side);
  const whole = podsNeeded(context, side, 100);
  return ready >= whole ? 100 : Math.floor((ready * 100) / whole);
}

/** The canary's pods that may answer: ready, and of the template under test. */
export function canaryPods(view: WorkloadView | undefined): number {
  return view?.observed ? view.updatedReadyReplicas : 0;
}

/**
 * The canary can answer. Between a change of its number of pods, a scaler's mostly, and its controller's look at it, what was ready still is.
 */
export function canaryServes(view: WorkloadView | undefined): boolean {
  return view !== undefined && (view.observed ? view.updatedReadyReplicas : view.readyReplicas) > 0;
}
