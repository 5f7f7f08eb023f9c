import { planOf } from '../../src/api/canary/plan.ts';
import { sinceMs } from '../../src/api/time.ts';
import { hasConverged } from '../../src/health/readiness.ts';
import { canaryPods, servingPods } from '../../src/health/workload-view.ts';
import { contextOf, elapsedMs, SETTLE_MS } from '../../src/rollout/context.ts';
import type { Action } from '../../src/rollout/outcome.ts';
import { podsNeeded } from '../../src/rollout/traffic/traffic.ts';
import {
  headRelease,
  isDigestLost,
  lastKnownGood,
  rejectionOf,
  runOf,
  soundRecord,
  type World,
} from '../../src/rollout/world.ts';

/** Which rule of docs/invariants.md an action would break in this world, and how. */
export interface Violation {
  rule: string;
  detail: string;
}

type Rule = (world: World, action: Action) => string | undefined;

/**
 * The trusted spec: what an action must never do, judged on the world as it is at the moment of the write. Used by tests and simulation on
 * every prefix of every decision.
 */
const RULES: Readonly<Record<string, Rule>> = {
  S1: raisesOnlyTheReady,
  S2: (world, action) =>
    keepsTheHealthyOne(world, action) ??
    releasesOnlyTheIdle(world, action) ??
    namedBeforeAndAfter(world, action),
  S3: weightsAddUp,
  S4: (world, action) => capacityBeforeShare(world, action) ?? primaryCapacityBeforeShare(world, action),
  S5: onlyGoodReachesThePrimary,
  S7: drainedBeforeScaledDown,
  S9: provenOnlyUnderFullTraffic,
  S10: recordBeforeOverwrite,
  S11: adoptsOnlyWhatIsKept,
  S12: onlyKeptBytes,
  S14: rejectedStaysOut,
  S16: copiesOfWhatRuns,
  S18: scalersOwnReplicas,
};

/** Every rule this action would break. Empty when it is safe. */
export function violations(world: World, action: Action): Violation[] {
  return Object.entries(RULES).flatMap(([rule, check]) => {
    const detail = check(world, action);
    return detail === undefined ? [] : [{ rule, detail: `${action.type}: ${detail}` }];
  });
}

function raisesOnlyTheReady(world: World, action: Action): string | undefined {
  if (action.type !== 'SetTraffic' || !world.route) return undefined;
  if (world.sharesWorkload) return raisesOnlyFromAStep(world, action);
  const { primary, target, route } = world;
  const plan = planOf(world.canary, world.options);
  const raisesPrimary = action.route.canaryWeight < route.canaryWeight;
  if (raisesPrimary && servingPods(target) > 0) {
    const ready =
      hasConverged(primary, plan.primaryReadyPercent) ||
      servingPods(primary) >= podsNeeded(contextOf(world), 'primary', 100 - action.route.canaryWeight);
    const rescue = canaryPods(target) === 0 && servingPods(primary) > 0;
    if (!ready && !rescue && !isAtDeadline(world))
      return 'traffic to a primary that is not ready while the canary is';
  }
  const raisesCanary = action.route.canaryWeight > route.canaryWeight;
  if (raisesCanary && canaryPods(target) === 0 && servingPods(primary) > 0) {
    return 'traffic to a canary without ready pods while the primary has some';
  }
  return undefined;
}

/** Pods of one workload come with their share: it rises only from a step that was reached, on its own template. */
function raisesOnlyFromAStep(
  { route, target, status }: World,
  action: Extract<Action, { type: 'SetTraffic' }>,
): string | undefined {
  if (action.route.canaryWeight === 0) return undefined;
  if (target?.digest !== status.run?.digest) return 'a share for another template than the one that is tried';
  const rises = action.route.canaryWeight > (route?.canaryWeight ?? 0);
  return rises && !route?.accepted ? 'a further share before the last one was reached' : undefined;
}

function keepsTheHealthyOne(world: World, action: Action): string | undefined {
  const { primary, target, route } = world;
  if (action.type === 'ApplyPrimary' && primary && action.digest !== primary.digest) {
    const primaryHasTraffic = !route || route.canaryWeight < 100 || route.matched;
    const others = canaryPods(target) > 0;
    if (primaryHasTraffic && others && route && servingPods(primary) > 0 && !primary.keepsReadyPod) {
      const waiting = world.status.postPromotion?.state === 'Reverting';
      if (!waiting) return 'a serving primary would lose its last ready pod';
    }
  }
  if (
    action.type !== 'ApplyCanary' &&
    emptiesCanary(action) &&
    servingPods(target) > 0 &&
    servingPods(primary) === 0
  ) {
    return 'the only ready workload would be scaled down';
  }
  return undefined;
}

/** A paused ScaledObject is scaled to zero by KEDA. */
function emptiesCanary(action: Action): boolean {
  if (action.type === 'PauseScaler') return action.paused && action.side === 'canary';
  return (action.type === 'ScaleCanary' || action.type === 'ApplyCanary') && action.replicas === 0;
}

/** The primary goes for good only when the target carries all the traffic by itself. */
function releasesOnlyTheIdle({ route, target }: World, action: Action): string | undefined {
  if (action.type !== 'ReleaseCopies') return undefined;
  if (route?.canaryWeight !== 100 || route.matched) return 'the primary would go with traffic on it';
  return servingPods(target) > 0 ? undefined : 'the primary would go, and nobody would serve';
}

/** Proxies hear of a backend before it gets requests, and have left one before it is gone. */
function namedBeforeAndAfter({ route, status, nowMs }: World, action: Action): string | undefined {
  if (action.type !== 'SetTraffic' || route?.others === undefined) return undefined;
  const { others } = action.route;
  if (others === route.others || (others === 'serving' && route.others === 'alone')) return undefined;
  const standing = status.otherBackends;
  const isSettled = standing?.state === route.others && sinceMs(nowMs, standing.since) >= SETTLE_MS;
  const isNext = route.others === 'serving' ? others === 'idle' : route.others === 'idle';
  return isSettled && isNext ? undefined : `from backends that are ${route.others} to ${others ?? 'none'}`;
}

function weightsAddUp(_world: World, action: Action): string | undefined {
  if (action.type !== 'SetTraffic') return undefined;
  const { primaryWeight, canaryWeight } = action.route;
  const whole = Number.isInteger(primaryWeight) && Number.isInteger(canaryWeight);
  const inside = primaryWeight >= 0 && canaryWeight >= 0 && primaryWeight + canaryWeight === 100;
  return whole && inside ? undefined : `weights ${primaryWeight}/${canaryWeight}`;
}

function capacityBeforeShare(world: World, action: Action): string | undefined {
  if (action.type !== 'SetTraffic' || !world.route || action.route.matched) return undefined;
  if (world.sharesWorkload) return undefined;
  const { canaryWeight } = action.route;
  if (canaryWeight <= world.route.canaryWeight || servingPods(world.primary) === 0) return undefined;
  const needed = podsNeeded(contextOf(world), 'canary', canaryWeight);
  const ready = canaryPods(world.target);
  return ready >= needed
    ? undefined
    : `${canaryWeight} % needs ${needed} ready canary pods, there are ${ready}`;
}

/** A side that is left and had its time loses everything to whoever answers on the other (issue 11, 1). */
function isAtDeadline(world: World): boolean {
  const { lastProgressTime, startTime } = runOf(world.status) ?? {};
  const context = contextOf(world);
  const isLong = elapsedMs(context, lastProgressTime ?? startTime) >= context.plan.progressDeadlineMs;
  return isLong && servingPods(world.primary) > 0;
}

/** Traffic comes back to a scaled primary only as far as its pods carry it, unless the canary cannot serve. */
function primaryCapacityBeforeShare(world: World, action: Action): string | undefined {
  if (action.type !== 'SetTraffic' || !world.route || servingPods(world.target) === 0) return undefined;
  const { canaryWeight } = action.route;
  if (canaryWeight >= world.route.canaryWeight || isAtDeadline(world)) return undefined;
  const needed = podsNeeded(contextOf(world), 'primary', 100 - canaryWeight);
  const ready = servingPods(world.primary);
  return ready >= needed
    ? undefined
    : `${100 - canaryWeight} % needs ${needed} ready primary pods, there are ${ready}`;
}

/** Under a scaler replicas are written only to let the canary rest or begin; a floor stays within its bounds. */
function scalersOwnReplicas(world: World, action: Action): string | undefined {
  const { scaler, target, primary } = world;
  const isOff = scaler?.kind === 'HorizontalPodAutoscaler' && primary?.desiredReplicas === 0;
  if (action.type === 'ScalePrimary' && scaler?.primary && !isOff) return 'the primary has a scaler';
  if (action.type === 'PauseScaler' && action.paused && action.side === 'primary')
    return 'the primary must be scaled';
  if (
    action.type === 'ScaleCanary' &&
    scaler?.canary &&
    action.replicas > 0 &&
    (target?.desiredReplicas ?? 0) > 0
  )
    return 'the canary has a scaler, and pods already';
  if (action.type !== 'SetScalerFloor' || action.minReplicas === undefined) return undefined;
  const side = scaler?.[action.side];
  return side && action.minReplicas <= side.maxReplicas
    ? undefined
    : `no scaler allows ${action.minReplicas} pods`;
}

function onlyGoodReachesThePrimary(world: World, action: Action): string | undefined {
  if (action.type !== 'ApplyPrimary') return undefined;
  const good = lastKnownGood(world);
  if (!good || action.digest === good.digest || action.digest === world.status.run?.digest) return undefined;
  return `${action.digest} is neither the last-known-good nor the release under way`;
}

function drainedBeforeScaledDown(world: World, action: Action): string | undefined {
  if (!emptiesCanary(action) || !world.route || world.route.canaryWeight === 0) return undefined;
  return `canary still has ${world.route.canaryWeight} % of the traffic`;
}

function provenOnlyUnderFullTraffic(world: World, action: Action): string | undefined {
  // What Flagger promoted, or what proved itself under another digest, is good already.
  if (action.type !== 'MarkProven' || world.adoptable?.release.digest === action.digest) return undefined;
  const plan = planOf(world.canary, world.options);
  const whole =
    hasConverged(world.primary, plan.primaryReadyPercent) && world.primary?.digest === action.digest;
  return whole && world.route?.canaryWeight === 0
    ? undefined
    : 'the primary does not run it with all traffic';
}

function recordBeforeOverwrite(world: World, action: Action): string | undefined {
  if (action.type !== 'ApplyPrimary') return undefined;
  const good = lastKnownGood(world);
  const current = world.primary?.digest;
  if (!good || current === undefined || current === action.digest) return undefined;
  // What is lost cannot be kept: a proven release, or one that is tried on the primary, may take its place.
  const run = runOf(world.status);
  const givenUp = (run?.fastLane || run?.side === 'primary') && isDigestLost(world, current);
  const kept = soundRecord(world, current) !== undefined || givenUp;
  return kept || action.digest === good.digest ? undefined : `what the primary runs (${current}) is not kept`;
}

/** A primary is not said to run something that cannot be had again. */
function adoptsOnlyWhatIsKept(world: World, action: Action): string | undefined {
  if (action.type !== 'AdoptPrimary') return undefined;
  if (world.status.run && world.primary?.digest !== undefined) return 'a release is under way';
  return soundRecord(world, action.digest) ? undefined : `${action.digest} is not kept`;
}

/** What is written is what was kept, or what Git still says with the same digest. */
function onlyKeptBytes(world: World, action: Action): string | undefined {
  if (action.type !== 'ApplyPrimary' || headRelease(world)?.digest === action.digest) return undefined;
  return isDigestLost(world, action.digest) ? `the record of ${action.digest} is damaged` : undefined;
}

function copiesOfWhatRuns({ primary }: World, action: Action): string | undefined {
  if (action.type !== 'RestoreConfigs' || primary?.digest === action.digest) return undefined;
  return `the primary runs ${primary?.digest}, the copies would be those of ${action.digest}`;
}

function rejectedStaysOut(world: World, action: Action): string | undefined {
  const runs = action.type === 'ApplyPrimary' || (action.type === 'ApplyCanary' && action.replicas > 0);
  return runs && rejectionOf(contextOf(world), action.digest) ? `${action.digest} was rejected` : undefined;
}
