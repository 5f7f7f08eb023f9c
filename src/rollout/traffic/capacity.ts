/**
 * How many pods each side needs and has. An autoscaler owns the number of pods of a copy; a rollout raises its minReplicas and restores it
 * (S18, flagger issue 1600).
 */
import { canaryPods, servingPods } from '../../health/readiness.ts';
import type { Action } from '../action.ts';
import { type Context, remainingMs } from '../context.ts';
import { act, combine, type Effects, wake } from '../outcome.ts';
import type { Run, Side } from '../run.ts';
import type { ScalerSide, World } from '../world.ts';

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

/** The scaler that owns the number of pods of this copy; undefined: there is none, and we set the number. */
export function scalerOf(world: World, side: Side): ScalerSide | undefined {
  return world.scaler?.[side];
}

/**
 * Ready pods that a side needs for this share, by its ready threshold: ceil(share x pods); of the primary at most maxReplicas of its
 * scaler (S4).
 */
export function podsNeeded({ world, plan }: Context, side: Side, sharePercent: number): number {
  const threshold = side === 'primary' ? plan.primaryReadyPercent : plan.canaryReadyPercent;
  const whole = Math.max(1, Math.floor((fullSize(world) * threshold) / 100));
  const needed = Math.max(1, Math.ceil((sharePercent * whole) / 100));
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

/** Pods a canary starts with under its scaler, which scales it from there. */
export function resumeReplicas(scaler: ScalerSide): number {
  return Math.max(1, Math.min(ownMinReplicas(scaler), scaler.maxReplicas));
}

/** Raises minReplicas to this many pods, up to maxReplicas; the former value is kept in an annotation and restored at the end (S18). */
export function raiseMinReplicas(world: World, side: Side, pods: number): Action[] {
  const scaler = scalerOf(world, side);
  if (!scaler) return [];
  const minReplicas = Math.min(pods, scaler.maxReplicas);
  return scaler.minReplicas < minReplicas ? [{ type: 'SetScalerFloor', side, minReplicas }] : [];
}

/** Asks for this many canary pods; under a scaler by its minReplicas, and only a canary at zero is scaled by us (S18). */
export function growCanary(world: World, pods: number): Action[] {
  const { target, sharesWorkload } = world;
  if (sharesWorkload || !target) return [];
  const scaler = scalerOf(world, 'canary');
  const resumed = pauseCanary(world, false);
  if (scaler && target.desiredReplicas > 0) return [...resumed, ...raiseMinReplicas(world, 'canary', pods)];
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

/** Pauses KEDA while the canary is at zero; a HorizontalPodAutoscaler does nothing when there are no replicas. */
export function pauseCanary({ scaler }: World, paused: boolean): Action[] {
  if (scaler?.kind !== 'ScaledObject' || !scaler.canary || scaler.canary.paused === paused) return [];
  return [{ type: 'PauseScaler', side: 'canary', paused }];
}

/** A copy has the minReplicas again that it had before the rollout. */
export function isMinReplicasReset(world: World, side: Side): boolean {
  return scalerOf(world, side)?.restoreMinReplicas === undefined;
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
