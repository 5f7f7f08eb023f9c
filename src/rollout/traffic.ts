import { canaryPods, canaryServes, carriedBy, mostToCanary, podsFor, shareFor } from './capacity.ts';
import { act, type Draft } from './draft.ts';
import { othersServe } from './other-backends.ts';
import { ALL_TO_CANARY, trafficAt } from './plan.ts';
import { hasConverged, servingPods } from './readiness.ts';
import type { Run } from './run.ts';
import { ensurePrimaryCapacity, pauseCanary, raiseFloor, resumeReplicas, scalerOf } from './scalers.ts';
import { isUnsettled } from './standing.ts';
import type { WorkloadView, World } from './world.ts';

/** All traffic is on the primary, read back. */
export function isAllOnPrimary(draft: Draft): boolean {
  const { route } = draft.world;
  return route !== undefined && route.canaryWeight === 0 && !route.mirrored && !othersServe(draft);
}

/** The one workload of both sides says another release than its old pods run, be it without a pod of it. */
function isTried({ sharesWorkload, primary, target }: World): boolean {
  return sharesWorkload === true && primary !== undefined && target?.digest !== primary.digest;
}

/** All traffic is on the canary, also what an A/B match would leave out, read back. */
export function isAllOnCanary(draft: Draft): boolean {
  const { route } = draft.world;
  return route?.canaryWeight === 100 && !route.matched;
}

/**
 * Moves all traffic to the primary if it may serve it: converged, or nobody else is ready (S1). True once that was read back.
 */
export function returnToPrimary(draft: Draft): boolean {
  const { primary, target } = draft.world;
  if (isAllOnPrimary(draft) && !isTried(draft.world)) return true;
  // Going back brings the pods that it needs, and takes none away before.
  if (draft.world.sharesWorkload) {
    act(draft, { type: 'SetTraffic', route: trafficAt(draft.plan, 0) });
    replaceStuck(draft);
    return false;
  }
  const isWhole =
    hasConverged(primary, draft.plan.primaryReadyPercent) || servingPods(primary) >= carriedBy(draft.world);
  if (servingPods(target) === 0 || (isWhole && ensurePrimaryCapacity(draft, 100)))
    act(draft, { type: 'SetTraffic', route: trafficAt(draft.plan, 0) });
  else if (isWhole) returnInPart(draft);
  return false;
}

/** On the way back alone: pods that its controller would wait for, though their release is left. */
export function replaceStuck(draft: Draft): void {
  const { stuckPods = [] } = draft.world;
  if (stuckPods.length > 0) act(draft, { type: 'ReplacePods', pods: stuckPods });
}

/** A primary whose scaler brings up more pods already takes what it can carry. */
function returnInPart({ world, plan, actions }: Draft): void {
  const canaryWeight = 100 - shareFor(servingPods(world.primary), carriedBy(world));
  if (plan.splitsTraffic && world.route && canaryWeight < world.route.canaryWeight)
    actions.push({ type: 'SetTraffic', route: trafficAt(plan, canaryWeight) });
}

/** Raises the canary's pods until it can carry this share. True when enough are ready (S4). */
export function ensureCanaryCapacity(draft: Draft, sharePercent: number): boolean {
  const { target, primary } = draft.world;
  // The share itself brings its pods.
  if (draft.world.sharesWorkload) return true;
  const needed = podsFor(sharePercent, carriedBy(draft.world));
  if (canaryPods(target) >= needed) return true;
  if (target && primary) growCanary(draft, target, needed);
  return false;
}

/** Asks for this many canary pods; under a scaler by its minReplicas, and only one at rest is started by us (S18). */
export function growCanary(draft: Draft, target: WorkloadView, pods: number): void {
  if (draft.world.sharesWorkload) return;
  const scaler = scalerOf(draft.world, 'canary');
  pauseCanary(draft, false);
  if (scaler && target.desiredReplicas > 0) return raiseFloor(draft, 'canary', pods);
  if (target.desiredReplicas < pods)
    act(draft, { type: 'ScaleCanary', replicas: scaler ? resumeReplicas(scaler) : pods });
}

/** Takes the canary to zero; its scaler stands still first, so that it does not bring it back. */
export function restCanary(draft: Draft): void {
  pauseCanary(draft, true);
  act(draft, { type: 'ScaleCanary', replicas: 0 });
}

/** The canary may stand in for this release: it runs it, unless another tool wrote something newer to the target meanwhile. */
export function canStandIn({ world }: Draft, run: { readonly digest: string } | undefined): boolean {
  return !world.foreignTarget || world.target?.digest === run?.digest;
}

/** Traffic is to leave the primary before that is written, for a canary that can stand in for it: it has not, or only just now (S2). */
export function mustClear(draft: Draft, run: Run): boolean {
  const { primary, sharesWorkload } = draft.world;
  if (sharesWorkload || !primary || servingPods(primary) === 0 || !canStandIn(draft, run)) return false;
  if (primary.keepsReadyPod && !run.mountsConfig) return false;
  return !isAllOnCanary(draft) || isUnsettled(draft, run, 'route');
}

/**
 * Moves all traffic to the canary, at once or as far as its pods can carry it. True once all of it was read back there.
 */
export function moveToCanary(draft: Draft): boolean {
  if (isAllOnCanary(draft)) return true;
  if (draft.world.sharesWorkload || !canStandIn(draft, draft.run)) return false;
  ensureCanaryCapacity(draft, 100);
  const most = mostToCanary(draft.plan, draft.world);
  const weight = draft.world.route?.canaryWeight ?? 0;
  if (
    weight === 0 &&
    draft.run &&
    servingPods(draft.world.primary) > 0 &&
    isUnsettled(draft, draft.run, 'standIn')
  )
    return false;
  if (most && (most === ALL_TO_CANARY || most.canaryWeight > weight))
    act(draft, { type: 'SetTraffic', route: most });
  return false;
}

/**
 * Whatever the policy says: traffic goes to whichever copy is ready (design section 5). Acts only when the copy that has traffic has no
 * ready pod and the other one does, or when somebody took the route away. True when it acted.
 */
export function rescueTraffic(draft: Draft): boolean {
  const { route, primary, target } = draft.world;
  // A Service sends requests to the ready pods of either side by itself.
  if (draft.world.sharesWorkload) return false;
  if (!route) return routeAnew(draft);
  const primaryServes = route.canaryWeight < 100 || route.matched;
  if (primaryServes && servingPods(primary) === 0 && canaryPods(target) > 0) {
    act(draft, { type: 'SetTraffic', route: ALL_TO_CANARY });
    return true;
  }
  if (route.canaryWeight > 0 && servingPods(target) === 0 && servingPods(primary) > 0) {
    act(draft, { type: 'SetTraffic', route: trafficAt(draft.plan, 0) });
    return true;
  }
  return false;
}

/**
 * The route is gone: whoever is ready gets all the traffic. After promotion that is the canary, where it had all of it before; else the
 * primary first.
 */
function routeAnew(draft: Draft): boolean {
  const { primary, target, status } = draft.world;
  if (servingPods(primary) === 0 && !canaryServes(target)) return false;
  const hadAll = status.postPromotion !== undefined && status.canaryWeight === 100 && canaryServes(target);
  const toPrimary = servingPods(primary) > 0 && !hadAll;
  act(draft, { type: 'SetTraffic', route: toPrimary ? trafficAt(draft.plan, 0) : ALL_TO_CANARY });
  return true;
}
