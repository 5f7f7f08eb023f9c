import { ALL_TO_CANARY, trafficAt } from '../../api/canary/plan.ts';
import type { RouteTarget } from '../../api/observed.ts';
import { canaryPods, canaryServes, reachableCanaryPods, servingPods } from '../../health/workload-view.ts';
import { type Context, elapsedMs, remainingMs, settlingMs } from '../context.ts';
import {
  type Action,
  act,
  combine,
  type Effects,
  type Next,
  note,
  type Preference,
  STAY,
  stall,
  wake,
} from '../outcome.ts';
import { isAbandoned, type Run, type ScalerSide, type Side, type World } from '../world.ts';

/**
 * The one allocator of traffic: from the ready pods of both sides, the preferred side, and the route as read back, to the next route (issue
 * 11). A failed side loses at once what the other one can carry; no side gets more than it can carry while the other one can carry it; and
 * no traffic goes to a side without ready pods while the other one has some. With both sides in one workload, the share creates the pods.
 */

/** All traffic is on this side, read back, unless only the other side can serve; an A/B match leaves some with the primary. */
export function isAllOn(context: Context, side: Side): boolean {
  const { world } = context;
  const { route } = world;
  if (!world.sharesWorkload && rescued(context)) return false;
  if (side === 'canary') return route?.canaryWeight === 100 && !route.matched;
  return route !== undefined && route.canaryWeight === 0 && !route.mirrored && !otherBackendsServe(world);
}

/** Requests go to backends that were there before, and not to the two sides yet. */
export function otherBackendsServe({ route, routeInGit }: World): boolean {
  const { others } = route ?? {};
  return others === 'alone' || (others === 'serving' && routeInGit !== true);
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

/** With all its pods ready it is the write of the route that is refused, which says nothing against a release. */
export function isRouteRefused(context: Context, run: Run): boolean {
  return canaryMayServe(context, run) && readySharePercent(context, 'canary') >= 100;
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
export function rescueTraffic(context: Context): Effects | undefined {
  const { world } = context;
  if (world.sharesWorkload) return undefined;
  const isAnybodyReady = servingPods(world.primary) > 0 || canaryServes(world.target);
  if (!world.route) return isAnybodyReady ? recreateRoute(context, undefined, STAY) : undefined;
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
  if (isAbandoned(world)) return {};
  const hadAll = status.postPromotion !== undefined || run?.side === 'primary';
  const wantsCanary =
    (preference.kind === 'all' && preference.side === 'canary') || (hadAll && status.canaryWeight === 100);
  const toPrimary = !canaryServes(target) || (servingPods(primary) > 0 && !wantsCanary);
  return act({ type: 'SetTraffic', route: toPrimary ? trafficAt(plan, 0) : ALL_TO_CANARY });
}

/** The share of this side, in percent. */
export function shareOf(canaryWeight: number, side: Side = 'canary'): number {
  return side === 'primary' ? 100 - canaryWeight : canaryWeight;
}

/** Reports a route that the gateway does not accept; after the deadline it asks a person to look (issue 11, 17). */
export function routeNote(context: Context, run: Run): Effects {
  const { route } = context.world;
  if (!route || route.accepted) return {};
  const message = route.problem ?? 'the gateway has not accepted the route yet';
  const leftMs = remainingMs(context, run.standing?.route?.since, context.plan.progressDeadlineMs);
  // Nothing else may happen until then, not even a change of pods.
  return combine({ note: { reason: 'RouteNotAccepted', message, stalled: leftMs === 0 } }, wake(leftMs));
}

type All = Extract<Preference, { kind: 'all' }>;

function toPrimary(context: Context, run: Run | undefined, { evacuate, overdue }: All): Effects {
  const { world, plan } = context;
  const weight = world.route?.canaryWeight ?? 0;
  const all = act({ type: 'SetTraffic', route: trafficAt(plan, 0) });
  if (servingPods(world.target) === 0) return all;
  const ready = servingPods(world.primary);
  if (ready === 0) return {};
  const grown = act(...raisePrimary(world));
  if (overdue) return combine(all, grown);
  const waitMs = evacuate ? 0 : settlingMs(context, run, 'primary');
  if (waitMs > 0) return combine(grown, wake(waitMs));
  if (readySharePercent(context, 'primary') >= 100) return combine(all, grown);
  const canaryWeight = 100 - readySharePercent(context, 'primary');
  const isPart = plan.splitsTraffic && canaryWeight < weight && (evacuate === true || world.scaler?.primary);
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
  if (!plan.splitsTraffic || (share <= weight && !world.route?.matched)) return grown;
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
  const isMatched = plan.strategy.kind === 'ab' && side === 'canary';
  const needed = podsNeeded(context, side, isMatched ? 1 : percent);
  const canaryWeight = side === 'canary' ? percent : 100 - percent;
  // No match leads to the primary: the rest is the canary's.
  const route =
    side === 'canary'
      ? trafficAt(plan, canaryWeight, mirrored)
      : { primaryWeight: percent, canaryWeight, mirrored: false, matched: false };
  const set = act({ type: 'SetTraffic', route });
  const other = side === 'canary' ? 'primary' : 'canary';
  const before = world.route?.canaryWeight ?? 0;
  // A match leaves all other requests with the primary: they are given back if the canary has them.
  const givesRest = route.matched && before === 100 && world.route?.matched === false;
  const givesBack = givesRest || (side === 'canary' ? canaryWeight < before : canaryWeight > before);
  const rest = route.matched ? 100 : 100 - percent;
  // A side gets back no more than it can carry (S1, S4).
  if (givesBack && readySharePercent(context, other) < rest && readyPods(context, side) > 0)
    return act(...raisePrimary(world));
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

/**
 * How many pods each side needs and has. An autoscaler owns the number of pods of a copy; a rollout raises its minReplicas and restores it
 * (S18, flagger issue 1600).
 */

/**
 * Pods that carry all the traffic of this Canary. If pods follow nodes, a release that wants fewer nodes than the primary has can carry it
 * with those. Under a scaler the copy that has all the traffic counts, too: it was scaled by that traffic.
 */
export function fullSize({ primary, target, route, scaler }: World): number {
  const isAllOnTarget = !route || (route.canaryWeight === 100 && !route.matched);
  const scaled = scaler && isAllOnTarget ? (target?.desiredReplicas ?? 0) : 0;
  const wanted = primary?.wantedReplicas ?? 0;
  const carried = Math.max(1, primary?.desiredReplicas ?? 0, wanted, scaled);
  const nodes = target?.followsNodes ? target.desiredReplicas : 0;
  return nodes > 0 ? Math.min(carried, nodes) : carried;
}

/**
 * Ready pods that a side needs for this share, by its ready threshold: ceil(share x pods); of the primary at most maxReplicas of its
 * scaler (S4).
 */
export function podsNeeded({ world, plan }: Context, side: Side, sharePercent: number): number {
  const threshold = side === 'primary' ? plan.primaryReadyPercent : plan.canaryReadyPercent;
  const whole = Math.max(1, Math.floor((fullSize(world) * threshold) / 100));
  const needed = Math.max(1, Math.ceil((sharePercent * whole) / 100));
  const scaler = side === 'primary' ? world.scaler?.[side] : undefined;
  return scaler ? Math.min(needed, Math.max(1, scaler.maxReplicas)) : needed;
}

/** Pods of a side that may get traffic: the canary's must be of the template under test. */
export function readyPods({ world }: Context, side: Side): number {
  return side === 'primary' ? servingPods(world.primary) : reachableCanaryPods(world.target);
}

/** A share that waits for pods. */
interface Shortage {
  readonly side: Side;
  /** Ready pods that may get it, and those that it needs. */
  readonly ready: number;
  readonly needed: number;
  /** The share, in percent. */
  readonly share: number;
  readonly deadlineMs: number;
}

/** Tells what a share waits for; once its pods were missing for the whole deadline, a person must act. */
export function missingPods(context: Context, run: Run, shortage: Shortage): Effects {
  const { side, ready, deadlineMs } = shortage;
  const { target, scaler } = context.world;
  const isHidden = side === 'canary' && ready < canaryPods(target);
  const port = isHidden ? target?.unreachedPort : undefined;
  const at = port === undefined ? '' : ` at port ${port}`;
  const pods = isHidden ? `ready pods among the endpoints of its Service${at}` : 'ready pods';
  const heldBy = scaler?.[side]?.heldBy;
  const held = heldBy === undefined ? '' : `; ${heldBy} keeps its ScaledObject from adding pods`;
  const message = countOf(shortage, pods) + held;
  const leftMs = remainingMs(context, run.shortSince, deadlineMs);
  if (leftMs > 0) return combine(note('WaitingForCapacity', message), wake(leftMs));
  const advice = ': correct its targetPort, or take the port off the Service';
  return stall('WaitingForCapacity', port === undefined ? message : message + advice);
}

function countOf({ side, ready, needed, share }: Omit<Shortage, 'deadlineMs'>, pods = 'ready pods'): string {
  return `the ${side} has ${ready} of ${needed} ${pods} that it needs for ${share} %`;
}

/** Why a ready primary does not have all traffic yet, which it gets in `leftMs` at the latest; undefined: not for want of pods. */
export function primaryShortage(
  context: Context,
  leftMs: number,
): { readonly why: string; readonly next: Next } | undefined {
  const { world } = context;
  const [ready, needed] = [readyPods(context, 'primary'), podsNeeded(context, 'primary', 100)];
  if (world.sharesWorkload || isAllOn(context, 'primary') || leftMs <= 0 || ready >= needed) return undefined;
  const why = countOf({ side: 'primary', ready, needed, share: 100 });
  const action = 'all traffic to the ready pods of the primary';
  return { why, next: { action, timeMs: world.nowMs + leftMs } };
}

/** The largest share, in percent, that a side's ready pods carry. */
export function readySharePercent(context: Context, side: Side): number {
  const ready = readyPods(context, side);
  const whole = podsNeeded(context, side, 100);
  return ready >= whole ? 100 : Math.floor((ready * 100) / whole);
}

/** Pods a canary starts with under its scaler, which scales it from there. */
export function resumeReplicas(scaler: ScalerSide): number {
  return Math.max(1, Math.min(ownMinReplicas(scaler), scaler.maxReplicas));
}

/** Raises minReplicas to this many pods, up to maxReplicas; the former value is saved in an annotation and restored at the end (S18). */
export function raiseMinReplicas(world: World, side: Side, pods: number): Action[] {
  const scaler = world.scaler?.[side];
  if (!scaler) return [];
  const minReplicas = Math.min(pods, scaler.maxReplicas);
  return scaler.minReplicas < minReplicas ? [{ type: 'SetScalerFloor', side, minReplicas }] : [];
}

/** Asks for this many canary pods; under a scaler by its minReplicas, and only a canary at zero is scaled by us (S18). */
export function growCanary(world: World, pods: number): Action[] {
  const { target, sharesWorkload } = world;
  if (sharesWorkload || !target) return [];
  const scaler = world.scaler?.canary;
  const isUp = target.desiredReplicas > 0;
  const resumed = resumeCanary(world, isUp ? pods : 1);
  if (scaler && isUp) return resumed;
  if (target.desiredReplicas >= pods) return resumed;
  return [...resumed, { type: 'ScaleCanary', replicas: scaler ? resumeReplicas(scaler) : pods }];
}

/** Scales the canary to zero; its scaler is paused first, so that it does not scale it up again. */
export function stopCanary(world: World): Action[] {
  return [...pauseCanary(world, true), { type: 'ScaleCanary', replicas: 0 }];
}

/** A scaler, as of KEDA, may scale the primary to zero, and did: without load that is as it should be. */
export function isScaledToZero(world: World): boolean {
  return world.primary?.desiredReplicas === 0 && mayScaleToZero(world);
}

/** The primary has no ready pod because of its scaler: it must be scaled up before a canary can be compared with it. */
export function mustWake(world: World): boolean {
  return mayScaleToZero(world) && servingPods(world.primary) === 0;
}

function mayScaleToZero({ scaler }: World): boolean {
  return scaler?.primary !== undefined && ownMinReplicas(scaler.primary) === 0;
}

/** minReplicas without a rollout. */
function ownMinReplicas({ restoreMinReplicas, minReplicas }: ScalerSide): number {
  return restoreMinReplicas ?? minReplicas;
}

/**
 * The canary's scaler goes on, with at least so many pods from now on: KEDA may take the last one from a canary that has no traffic yet, or whose
 * traffic the trigger does not show yet.
 */
export function resumeCanary(world: World, pods = 1): Action[] {
  return [...raiseMinReplicas(world, 'canary', pods), ...pauseCanary(world, false)];
}

/** Pauses KEDA while the canary is at zero; a HorizontalPodAutoscaler does nothing when there are no replicas. */
export function pauseCanary({ scaler }: World, paused: boolean): Action[] {
  if (scaler?.kind !== 'ScaledObject' || !scaler.canary || scaler.canary.paused === paused) return [];
  return [{ type: 'PauseScaler', side: 'canary', paused }];
}

/** A copy has the minReplicas again that it had before the rollout. */
export function isMinReplicasReset(world: World, side: Side): boolean {
  return world.scaler?.[side]?.restoreMinReplicas === undefined;
}

/** Restores minReplicas of a copy. */
export function resetMinReplicas(world: World, side: Side): Action[] {
  return isMinReplicasReset(world, side) ? [] : [{ type: 'SetScalerFloor', side, minReplicas: undefined }];
}

/** Both scalers are as before the rollout. */
export function areScalersReset(world: World): boolean {
  return isMinReplicasReset(world, 'canary') && isMinReplicasReset(world, 'primary');
}

/**
 * At the end of a release: the canary's minReplicas is restored at once, the primary's when its scaler had time to see the load that came
 * back (flagger issue 1600).
 */
export function restoreScalers(context: Context, run: Run): Effects {
  const { world } = context;
  const waitMs = scalerWaitMs(context, run);
  const canary = act(...resetMinReplicas(world, 'canary'));
  return waitMs > 0
    ? combine(canary, wake(waitMs))
    : combine(canary, act(...resetMinReplicas(world, 'primary')));
}

/** Milliseconds until the primary's scaler can have seen the load; 0 if there is nothing to restore. */
export function scalerWaitMs(context: Context, run: Run): number {
  const { scaler } = context.world;
  if (!scaler || isMinReplicasReset(context.world, 'primary')) return 0;
  return remainingMs(context, run.standing?.route?.since, scaler.settleMs);
}

/** At rest: both scalers as in Git, and nothing is left of an earlier rollout, nor of a scaler that the Canary named before. */
export function syncScalers(context: Context): Effects {
  const { world } = context;
  const { scaler, status } = world;
  const former = status.scaler;
  const isReplaced = former && (former.kind !== scaler?.kind || former.name !== scaler.name);
  const removed: Action[] =
    isReplaced && (former.kind === 'HorizontalPodAutoscaler' || former.kind === 'ScaledObject')
      ? [{ type: 'RemoveScaler', kind: former.kind, name: former.name }]
      : [];
  const now = scaler?.primary ? { kind: scaler.kind, name: scaler.name } : undefined;
  const named = now || isReplaced ? { status: { scaler: now } as Effects['status'] } : {};
  const isSteady = scaler !== undefined && world.route?.canaryWeight === 0 && areScalersReset(world);
  const applied: Action[] = isSteady ? [{ type: 'ApplyScalers' }] : [];
  return combine(act(...removed), resetScalers(world), act(...applied), named as Effects);
}

/** At rest, whatever Git says: nothing is left of an earlier rollout. */
export function resetScalers(world: World): Effects {
  if (!world.scaler || world.route?.canaryWeight !== 0) return {};
  return act(...resetMinReplicas(world, 'canary'), ...resetMinReplicas(world, 'primary'));
}

/** Raises the primary's pods to what both sides carry, as far as its scaler allows. */
export function raisePrimary(world: World): Action[] {
  return raiseMinReplicas(world, 'primary', fullSize(world));
}
