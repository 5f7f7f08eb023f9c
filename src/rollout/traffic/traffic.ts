/**
 * The one allocator of traffic: from the ready pods of both sides, the preferred side, and the route as read back, to the next route (issue
 * 11). A failed side loses at once what the other one can carry; no side gets more than it can carry while the other one can carry it; and
 * no traffic goes to a side without ready pods while the other one has some. With both sides in one workload, the share creates the pods.
 */
import { ALL_TO_CANARY, trafficAt } from '../../api/canary/plan.ts';
import type { RouteTarget } from '../../api/observed.ts';
import { canaryPods, canaryServes, servingPods } from '../../health/readiness.ts';
import type { Action } from '../action.ts';
import { type Context, elapsedMs } from '../context.ts';
import { act, combine, type Effects, type Preference, wake } from '../outcome.ts';
import { settlingMs } from '../progress.ts';
import type { Run, Side } from '../run.ts';
import {
  fullSize,
  growCanary,
  podsNeeded,
  raiseMinReplicas,
  readyPods,
  readySharePercent,
  scalerOf,
} from './capacity.ts';
import { otherBackendsServe } from './other-backends.ts';

/** All traffic is on this side, read back, unless only the other side can serve; an A/B match leaves some with the primary. */
export function isAllOn(context: Context, side: Side): boolean {
  const { world } = context;
  const { route } = world;
  if (!world.sharesWorkload && rescued(context)) return false;
  if (side === 'canary') return route?.canaryWeight === 100 && !route.matched;
  return route !== undefined && route.canaryWeight === 0 && !route.mirrored && !otherBackendsServe(world);
}

/**
 * A move of traffic is complete: read back, accepted by the gateway, and the data plane had time to follow. Only then may the other side be
 * scaled down, written or judged (issue 11, 17).
 */
export function hasArrived(context: Context, run: Run | undefined, side: Side): boolean {
  const { world } = context;
  if (!isAllOn(context, side) || world.route?.accepted !== true) return false;
  if (world.sharesWorkload) return side === 'canary' || !isTried(context);
  return settlingMs(context, run, 'route') === 0;
}

/** The shared workload has the template of another release than its old pods run, even if it has no pod yet. */
function isTried({ world: { sharesWorkload, primary, target } }: Context): boolean {
  return sharesWorkload === true && primary !== undefined && target?.digest !== primary.digest;
}

/** The canary may serve this release: it runs it, unless another tool has written something newer to the target. */
export function canaryMayServe({ world }: Context, run: { readonly digest: string } | undefined): boolean {
  return !world.foreignTarget || world.target?.digest === run?.digest;
}

/** Before the primary is written, its traffic must move to a canary that can serve in its place, and has not arrived there yet (S2). */
export function mustMoveTraffic(context: Context, run: Run): boolean {
  const { primary, sharesWorkload, target } = context.world;
  // A release that failed on the primary loses its share to the canary first.
  if (run.side === 'primary' && canaryServes(target)) return !hasArrived(context, run, 'canary');
  if (sharesWorkload || !primary || servingPods(primary) === 0 || !canaryMayServe(context, run)) return false;
  if (primary.keepsReadyPod && !run.mountsConfig) return false;
  return !hasArrived(context, run, 'canary');
}

/** The next route towards the preference, and the pods it needs. No action if that is reached, or has to wait. */
export function allocate(context: Context, run: Run | undefined, preference: Preference): Effects {
  const { world } = context;
  const settling = wake(settlingMs(context, run, 'route'));
  if (preference.kind === 'none') return {};
  if (world.sharesWorkload) return inOneWorkload(context, preference);
  if (!world.route) return recreateRoute(context, run, preference);
  const rescue = rescued(context);
  if (rescue) return act({ type: 'SetTraffic', route: rescue });
  const isReached =
    preference.kind === 'stay' || (preference.kind === 'all' && isAllOn(context, preference.side));
  if (isReached) {
    if (preference.kind === 'all' && preference.reapply)
      return act({ type: 'SetTraffic', route: trafficAt(context.plan, 0) });
    // A route that the gateway has not accepted for an interval is written again: the Canary's settings of the route may have changed.
    const isSlow = elapsedMs(context, run?.standing?.route?.since) >= context.plan.intervalMs;
    const { primaryWeight, canaryWeight, mirrored, matched, accepted, others } = world.route;
    if (accepted || others || !isSlow) return settling;
    const route = { primaryWeight, canaryWeight, mirrored, matched };
    return combine(settling, act({ type: 'SetTraffic', route }));
  }
  if (preference.kind === 'share') return toShare(context, preference);
  return preference.side === 'primary'
    ? toPrimary(context, run, preference)
    : toCanary(context, run, preference);
}

/** What traffic needs at once, whatever is preferred: a missing route, or one that leads to no ready pod while the other side has some. */
export function rescueTraffic(context: Context, run?: Run): Effects | undefined {
  const { world } = context;
  if (world.sharesWorkload) return undefined;
  const isAnybodyReady = servingPods(world.primary) > 0 || canaryServes(world.target);
  if (!world.route) return isAnybodyReady ? recreateRoute(context, run, { kind: 'stay' }) : undefined;
  const route = rescued(context);
  return route && act({ type: 'SetTraffic', route });
}

/** The side with traffic has no ready pod and the other one has: traffic goes there, whatever is preferred (S1). */
function rescued({ world, plan }: Context): RouteTarget | undefined {
  const { route, primary, target } = world;
  if (!route) return undefined;
  const primaryServes = route.canaryWeight < 100 || route.matched;
  if (primaryServes && servingPods(primary) === 0 && canaryPods(target) > 0) return ALL_TO_CANARY;
  const isLeft = route.canaryWeight > 0 && servingPods(target) === 0 && servingPods(primary) > 0;
  return isLeft ? trafficAt(plan, 0) : undefined;
}

/** The route is missing: the preferred side gets all traffic if it is ready; if no side is, the route leads to the primary. */
function recreateRoute({ world, plan }: Context, run: Run | undefined, preference: Preference): Effects {
  const { primary, target, status } = world;
  const hadAll = status.postPromotion !== undefined || run?.side === 'primary';
  const wantsCanary =
    (preference.kind === 'all' && preference.side === 'canary') || (hadAll && status.canaryWeight === 100);
  const toPrimary = !canaryServes(target) || (servingPods(primary) > 0 && !wantsCanary);
  return act({ type: 'SetTraffic', route: toPrimary ? trafficAt(plan, 0) : ALL_TO_CANARY });
}

/** Reports a route that the gateway does not accept; after the deadline it asks a person to look (issue 11, 17). */
export function routeNote(context: Context, run: Run): Effects {
  const { route } = context.world;
  if (!route || route.accepted) return {};
  const message = route.problem ?? 'the gateway has not accepted the route yet';
  const isLong = elapsedMs(context, run.standing?.route?.since) >= context.plan.progressDeadlineMs;
  return { note: { reason: 'RouteNotAccepted', message, stalled: isLong } };
}

type All = Extract<Preference, { kind: 'all' }>;

function toPrimary(context: Context, run: Run | undefined, { evacuate, overdue }: All): Effects {
  const { world, plan } = context;
  const weight = world.route?.canaryWeight ?? 0;
  const all = act({ type: 'SetTraffic', route: trafficAt(plan, 0) });
  if (servingPods(world.target) === 0) return all;
  const ready = servingPods(world.primary);
  if (ready === 0) return {};
  const grown = act(...raiseMinReplicas(world, 'primary', fullSize(world)));
  // A match leaves the rest with the primary anyway.
  if (overdue || (evacuate && world.route?.matched)) return combine(all, grown);
  const waitMs = evacuate ? 0 : settlingMs(context, run, 'primary');
  if (waitMs > 0) return combine(grown, wake(waitMs));
  if (readySharePercent(context, 'primary') >= 100) return combine(all, grown);
  const canaryWeight = 100 - readySharePercent(context, 'primary');
  const isPart =
    plan.splitsTraffic && canaryWeight < weight && (evacuate === true || scalerOf(world, 'primary'));
  return isPart ? combine(act({ type: 'SetTraffic', route: trafficAt(plan, canaryWeight) }), grown) : grown;
}

/** As much as the canary's pods carry now, never less than it has: for clear and hold (design sections 4 and 5). */
function toCanary(context: Context, run: Run | undefined, { overdue }: All): Effects {
  const { world, plan } = context;
  if (!canaryMayServe(context, run)) return {};
  const grown = act(...growCanary(world, podsNeeded(context, 'canary', 100)));
  const share = readySharePercent(context, 'canary');
  const weight = world.route?.canaryWeight ?? 0;
  if (share < 1) return grown;
  const waitMs = weight === 0 && servingPods(world.primary) > 0 ? settlingMs(context, run, 'standIn') : 0;
  if (waitMs > 0) return combine(grown, wake(waitMs));
  if (share >= 100 || overdue) return combine(act({ type: 'SetTraffic', route: ALL_TO_CANARY }), grown);
  if (!plan.splitsTraffic || share <= weight) return grown;
  const route = { primaryWeight: 100 - share, canaryWeight: share, mirrored: false, matched: false };
  return combine(act({ type: 'SetTraffic', route }), grown);
}

/** No share rises before its pods are ready (S4). */
function toShare(
  context: Context,
  { side, percent, mirrored = false }: Extract<Preference, { kind: 'share' }>,
): Effects {
  const { world, plan } = context;
  // An A/B match takes an unknown share: one pod is asked for, as Flagger does.
  const needed = podsNeeded(context, side, plan.strategy.kind === 'ab' ? 1 : percent);
  const canaryWeight = side === 'canary' ? percent : 100 - percent;
  // No match leads to the primary: the rest is the canary's.
  const route =
    side === 'canary'
      ? trafficAt(plan, canaryWeight, mirrored)
      : { primaryWeight: percent, canaryWeight, mirrored: false, matched: false };
  const set = act({ type: 'SetTraffic', route });
  const other = side === 'canary' ? 'primary' : 'canary';
  const before = world.route?.canaryWeight ?? 0;
  const givesBack = side === 'canary' ? canaryWeight < before : canaryWeight > before;
  // A side gets back no more than it can carry (S1, S4).
  if (givesBack && readySharePercent(context, other) < 100 - percent && readyPods(context, side) > 0)
    return act(...raiseMinReplicas(world, 'primary', fullSize(world)));
  if (percent === 0 || readyPods(context, side) >= needed) return set;
  return act(...(side === 'canary' ? growCanary(world, needed) : raiseMinReplicas(world, 'primary', needed)));
}

/** Both sides in one workload: the share creates the pods; a move back creates those that it needs, and removes none before. */
function inOneWorkload(context: Context, preference: Preference): Effects {
  const { world, plan } = context;
  if (preference.kind === 'share')
    return act({ type: 'SetTraffic', route: trafficAt(plan, preference.percent) });
  if (preference.kind !== 'all' || preference.side === 'canary') return {};
  if (isAllOn(context, 'primary') && !isTried(context))
    return preference.reapply ? act({ type: 'SetTraffic', route: trafficAt(plan, 0) }) : {};
  const { stuckPods = [] } = world;
  const replaced: Action[] = stuckPods.length > 0 ? [{ type: 'ReplacePods', pods: stuckPods }] : [];
  return act({ type: 'SetTraffic', route: trafficAt(plan, 0) }, ...replaced);
}
