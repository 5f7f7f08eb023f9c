/**
 * The one allocator of traffic: from the ready pods of both sides, who should serve, and the route as read back, to the next route (issue
 * 11). A side that is left loses at once what the other one carries; nobody gets more than it carries while somebody else can; and nothing
 * goes to a side without ready pods while the other one has some. In place, both sides are pods of one workload, and the share brings them.
 */
import { ALL_TO_CANARY, trafficAt } from '../../api/canary/plan.ts';
import type { RouteTarget, RouteView } from '../../api/observed.ts';
import { servingPods } from '../../health/readiness.ts';
import type { Action } from '../action.ts';
import { type Context, elapsedMs } from '../context.ts';
import { act, combine, type Effects, type Preference, wake } from '../outcome.ts';
import { settlingMs } from '../progress.ts';
import type { Run, Side } from '../run.ts';
import {
  canaryPods,
  canaryServes,
  fullSize,
  podsNeeded,
  readyPods,
  readySharePercent,
  scalerOf,
} from './capacity.ts';
import { otherBackendsServe } from './other-backends.ts';
import { growCanary, raiseMinReplicas } from './scalers.ts';

/** All traffic is on this side, read back, and it can answer if anybody can; an A/B match leaves some with the primary. */
export function isAllOn(context: Context, side: Side): boolean {
  const { world } = context;
  const { route } = world;
  if (!world.sharesWorkload && rescued(context)) return false;
  if (side === 'canary') return route?.canaryWeight === 100 && !route.matched;
  return route !== undefined && route.canaryWeight === 0 && !route.mirrored && !otherBackendsServe(world);
}

/**
 * The move has arrived: read back, taken over by the gateway, and the data plane had time to follow. Only then may what it left be scaled
 * down, written or judged (issue 11, 17).
 */
export function hasArrived(context: Context, run: Run | undefined, side: Side): boolean {
  const { world } = context;
  if (!isAllOn(context, side) || world.route?.accepted !== true) return false;
  if (world.sharesWorkload) return side === 'canary' || !isTried(context);
  return settlingMs(context, run, 'route') === 0;
}

/** The one workload of both sides says another release than its old pods run, be it without a pod of it. */
function isTried({ world: { sharesWorkload, primary, target } }: Context): boolean {
  return sharesWorkload === true && primary !== undefined && target?.digest !== primary.digest;
}

/** The canary may stand in for this release: it runs it, unless another tool wrote something newer to the target meanwhile. */
export function canaryMayServe({ world }: Context, run: { readonly digest: string } | undefined): boolean {
  return !world.foreignTarget || world.target?.digest === run?.digest;
}

/** The next route towards what is preferred, and the pods it takes. Nothing where that is reached, or must wait. */
export function allocate(context: Context, run: Run | undefined, preference: Preference): Effects {
  const { world } = context;
  const settling = wake(settlingMs(context, run, 'route'));
  if (preference.kind === 'none') return {};
  if (world.sharesWorkload) return inOneWorkload(context, preference);
  if (!world.route) return recreateRoute(context, run, preference);
  const rescue = rescued(context);
  if (rescue) return act({ type: 'SetTraffic', route: rescue });
  const isThere =
    preference.kind === 'stay' || (preference.kind === 'all' && isAllOn(context, preference.side));
  if (isThere) {
    if (preference.kind === 'all' && preference.reapply)
      return act({ type: 'SetTraffic', route: trafficAt(context.plan, 0) });
    const isSlow = elapsedMs(context, run?.standing?.route?.since) >= context.plan.intervalMs;
    return world.route.accepted || world.route.others || !isSlow
      ? settling
      : combine(settling, reapplyRoute(world.route));
  }
  if (preference.kind === 'share') return toShare(context, preference);
  return preference.side === 'primary'
    ? toPrimary(context, run, preference)
    : toCanary(context, run, preference);
}

/** A route that the gateway has not taken over for an interval is written as it is: what the Canary says of it may have changed. It costs nothing where nothing differs. */
function reapplyRoute({ primaryWeight, canaryWeight, mirrored, matched }: RouteView): Effects {
  return act({ type: 'SetTraffic', route: { primaryWeight, canaryWeight, mirrored, matched } });
}

/** What the traffic needs at once, whoever should have it: a route that is gone, or one that leads to nobody while somebody is ready. */
export function rescueTraffic(context: Context, run?: Run): Effects | undefined {
  const { world } = context;
  if (world.sharesWorkload) return undefined;
  const isAnybodyReady = servingPods(world.primary) > 0 || canaryServes(world.target);
  if (!world.route) return isAnybodyReady ? recreateRoute(context, run, { kind: 'stay' }) : undefined;
  const route = rescued(context);
  return route && act({ type: 'SetTraffic', route });
}

/** Whoever has traffic has no ready pod, and the other one has: it goes there, whatever is preferred (S1). */
function rescued({ world, plan }: Context): RouteTarget | undefined {
  const { route, primary, target } = world;
  if (!route) return undefined;
  const primaryServes = route.canaryWeight < 100 || route.matched;
  if (primaryServes && servingPods(primary) === 0 && canaryPods(target) > 0) return ALL_TO_CANARY;
  const isLeft = route.canaryWeight > 0 && servingPods(target) === 0 && servingPods(primary) > 0;
  return isLeft ? trafficAt(plan, 0) : undefined;
}

/** The route is gone: whoever should have the traffic and is ready gets all of it; where nobody is, it waits for the primary. */
function recreateRoute({ world, plan }: Context, run: Run | undefined, preference: Preference): Effects {
  const { primary, target, status } = world;
  const hadAll = status.postPromotion !== undefined || run?.side === 'primary';
  const wantsCanary =
    (preference.kind === 'all' && preference.side === 'canary') || (hadAll && status.canaryWeight === 100);
  const toPrimary = !canaryServes(target) || (servingPods(primary) > 0 && !wantsCanary);
  return act({ type: 'SetTraffic', route: toPrimary ? trafficAt(plan, 0) : ALL_TO_CANARY });
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

/** As much as its pods carry now, never less than it has: for clear and hold (design sections 4 and 5). */
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

/** Nothing rises before its pods are there (S4). */
function toShare(
  context: Context,
  { side, percent, mirrored = false }: Extract<Preference, { kind: 'share' }>,
): Effects {
  const { world, plan } = context;
  // An A/B match takes an unknown share: one pod is asked for, as Flagger does.
  const needed = podsNeeded(context, side, plan.strategy.kind === 'ab' ? 1 : percent);
  const canaryWeight = side === 'canary' ? percent : 100 - percent;
  // To the primary no match leads: what it does not have yet is the canary's.
  const route =
    side === 'canary'
      ? trafficAt(plan, canaryWeight, mirrored)
      : { primaryWeight: percent, canaryWeight, mirrored: false, matched: false };
  const set = act({ type: 'SetTraffic', route });
  const other = side === 'canary' ? 'primary' : 'canary';
  const before = world.route?.canaryWeight ?? 0;
  const givesBack = side === 'canary' ? canaryWeight < before : canaryWeight > before;
  // A side gets back no more than it carries (S1, S4).
  if (givesBack && readySharePercent(context, other) < 100 - percent && readyPods(context, side) > 0)
    return act(...raiseMinReplicas(world, 'primary', fullSize(world)));
  if (percent === 0 || readyPods(context, side) >= needed) return set;
  return act(...(side === 'canary' ? growCanary(world, needed) : raiseMinReplicas(world, 'primary', needed)));
}

/** The share brings its pods; going back brings those that it needs, and takes none away before. */
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
