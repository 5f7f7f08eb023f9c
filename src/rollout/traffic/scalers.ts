/** Autoscalers own the number of pods of a copy; a rollout raises their minReplicas and gives it back (S18, flagger issue 1600). */
import { servingPods } from '../../health/readiness.ts';
import type { Action } from '../action.ts';
import { type Context, remainingMs } from '../context.ts';
import { act, combine, type Effects, wake } from '../outcome.ts';
import type { Run, Side } from '../run.ts';
import type { ScalerSide, ScalerView, World } from '../world.ts';
import { fullSize, scalerOf } from './capacity.ts';

/** Pods a canary begins with under its scaler, which goes on from there. */
export function resumeReplicas(scaler: ScalerSide): number {
  return Math.max(1, Math.min(ownMinReplicas(scaler), scaler.maxReplicas));
}

/** Raises minReplicas to this many pods, as far as maxReplicas lets; the former value is kept in an annotation and restored at the end (S18). */
export function raiseMinReplicas(world: World, side: Side, pods: number): Action[] {
  const scaler = scalerOf(world, side);
  if (!scaler) return [];
  const minReplicas = Math.min(pods, scaler.maxReplicas);
  return scaler.minReplicas < minReplicas ? [{ type: 'SetScalerFloor', side, minReplicas }] : [];
}

/** Before the first traffic leaves it: a primary that is scaled down meanwhile could not take it back (flagger issue 1600). */
export function keepPrimarySize({ world }: Context): Action[] {
  const { route, primary } = world;
  return route?.canaryWeight === 0 ? raiseMinReplicas(world, 'primary', primary?.desiredReplicas ?? 0) : [];
}

/** Asks for this many canary pods; under a scaler by its minReplicas, and only one at rest is started by us (S18). */
export function growCanary(world: World, pods: number): Action[] {
  const { target, sharesWorkload } = world;
  if (sharesWorkload || !target) return [];
  const scaler = scalerOf(world, 'canary');
  const awake = pauseCanary(world, false);
  if (scaler && target.desiredReplicas > 0) return [...awake, ...raiseMinReplicas(world, 'canary', pods)];
  if (target.desiredReplicas >= pods) return awake;
  return [...awake, { type: 'ScaleCanary', replicas: scaler ? resumeReplicas(scaler) : pods }];
}

/** Scales the canary to zero; its scaler is paused first, so that it does not scale it up again. */
export function stopCanary(world: World): Action[] {
  return [...pauseCanary(world, true), { type: 'ScaleCanary', replicas: 0 }];
}

/** KEDA scaled the primary to zero: without load that is as it should be. */
export function isScaledToZero({ scaler, primary }: World): boolean {
  return (
    primary?.desiredReplicas === 0 && scaler?.primary !== undefined && ownMinReplicas(scaler.primary) === 0
  );
}

/** A primary at zero pods by its scaler: it must be woken before there is something to compare a canary with. */
export function mustWake({ scaler, primary }: World): boolean {
  return scaler?.primary !== undefined && ownMinReplicas(scaler.primary) === 0 && servingPods(primary) === 0;
}

/** minReplicas without a rollout. */
function ownMinReplicas({ restoreMinReplicas, minReplicas }: ScalerSide): number {
  return restoreMinReplicas ?? minReplicas;
}

/** Pauses KEDA while the canary is at zero; a HorizontalPodAutoscaler does nothing by itself when there are no replicas. */
export function pauseCanary({ scaler }: World, paused: boolean): Action[] {
  if (scaler?.kind !== 'ScaledObject' || !scaler.canary || scaler.canary.paused === paused) return [];
  return [{ type: 'PauseScaler', side: 'canary', paused }];
}

/** A pause on the primary's scaler is never ours; one that came with a copy would leave it without pods (flagger issue 1934). */
export function unpausePrimaryScaler(world: World): Action[] {
  return scalerOf(world, 'primary')?.paused ? [{ type: 'PauseScaler', side: 'primary', paused: false }] : [];
}

/** A copy has the minReplicas again that it had before the rollout. */
export function isMinReplicasReset(world: World, side: Side): boolean {
  return scalerOf(world, side)?.restoreMinReplicas === undefined;
}

/** Gives it back. */
export function resetMinReplicas(world: World, side: Side): Action[] {
  return isMinReplicasReset(world, side) ? [] : [{ type: 'SetScalerFloor', side, minReplicas: undefined }];
}

/** Both scalers are as before the rollout. */
export function areScalersReset(world: World): boolean {
  return isMinReplicasReset(world, 'canary') && isMinReplicasReset(world, 'primary');
}

/**
 * At the end of a release: the canary's minReplicas goes back at once, the primary's when its scaler had time to see the load that came
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

/** Milliseconds until the primary's scaler may have seen the load; 0 where there is nothing to give back. */
export function scalerWaitMs(context: Context, run: Run): number {
  const { scaler } = context.world;
  if (!scaler || isMinReplicasReset(context.world, 'primary')) return 0;
  return remainingMs(context, run.standing?.route?.since, scaler.settleMs);
}

/** At rest: both scalers as Git says, and nothing left of an earlier rollout, nor of a scaler that was named before. */
export function syncScalers(context: Context): Effects {
  const { world } = context;
  const { scaler, status } = world;
  const former = status.scaler;
  const isFormer = former && (former.kind !== scaler?.kind || former.name !== scaler.name);
  const removed: Action[] =
    isFormer && isKind(former.kind) ? [{ type: 'RemoveScaler', kind: former.kind, name: former.name }] : [];
  const now = scaler?.primary ? { kind: scaler.kind, name: scaler.name } : undefined;
  const named = now || isFormer ? { status: { scaler: now } as Effects['status'] } : {};
  const isSteady = scaler !== undefined && world.route?.canaryWeight === 0 && areScalersReset(world);
  const kept: Action[] = isSteady ? [{ type: 'ApplyScalers' }] : [];
  return combine(act(...removed), resetScalers(world), act(...kept), named as Effects);
}

/** At rest, whatever Git says: nothing is left of an earlier rollout. */
export function resetScalers(world: World): Effects {
  if (!world.scaler || world.route?.canaryWeight !== 0) return {};
  return act(...resetMinReplicas(world, 'canary'), ...resetMinReplicas(world, 'primary'));
}

/** Raises the primary's pods to what both carry, as far as its scaler lets. */
export function raisePrimary(world: World): Action[] {
  return raiseMinReplicas(world, 'primary', fullSize(world));
}

function isKind(kind: string): kind is ScalerView['kind'] {
  return kind === 'HorizontalPodAutoscaler' || kind === 'ScaledObject';
}
