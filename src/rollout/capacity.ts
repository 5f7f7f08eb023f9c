import type { RouteTarget } from '../api/observed.ts';
import { ALL_TO_CANARY, type Plan } from './plan.ts';
import type { WorkloadView, World } from './world.ts';

/**
 * Pods that carry all the traffic of this Canary when it is whole. Where pods follow nodes, a release that wants fewer nodes than the
 * primary has can carry it with those. Under a scaler the copy that has all the traffic tells, too: it was scaled by that traffic.
 */
export function carriedBy({ primary, target, route, scaler }: World): number {
  const isAllOnTarget = !route || (route.canaryWeight === 100 && !route.matched);
  const scaled = scaler && isAllOnTarget ? (target?.desiredReplicas ?? 0) : 0;
  const carried = Math.max(1, primary?.desiredReplicas ?? 0, scaled);
  const nodes = target?.followsNodes ? target.desiredReplicas : 0;
  return nodes > 0 ? Math.min(carried, nodes) : carried;
}

/** Ready pods a share of the traffic needs: ceil(share x what both carry) (S4). */
export function podsFor(sharePercent: number, carried: number): number {
  return Math.max(1, Math.ceil((sharePercent * carried) / 100));
}

/** The largest share, in percent, that these ready pods may get. */
export function shareFor(readyPods: number, carried: number): number {
  return readyPods >= carried ? 100 : Math.floor((readyPods * 100) / carried);
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

/**
 * As much traffic to the canary as it can carry now, never less than it has: for clear and hold (design sections 4 and 5).
 * Undefined when it can carry none.
 */
export function mostToCanary(plan: Plan, world: World): RouteTarget | undefined {
  const share = shareFor(canaryPods(world.target), carriedBy(world));
  if (share >= 100) return ALL_TO_CANARY;
  if (!plan.splitsTraffic || share < 1) return undefined;
  const canaryWeight = Math.max(share, world.route?.canaryWeight ?? 0);
  return { primaryWeight: 100 - canaryWeight, canaryWeight, mirrored: false, matched: false };
}
