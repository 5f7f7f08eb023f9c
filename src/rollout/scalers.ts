import { carriedBy, podsFor } from './capacity.ts';
import { act, type Draft } from './draft.ts';
import { hasConverged, servingPods } from './readiness.ts';
import type { ScalerSide, World } from './world.ts';

/** Which copy a scaler is about. */
export type Side = 'canary' | 'primary';

/** The scaler that owns the number of pods of this copy; undefined where none does, and pods are counted out by us. */
export function scalerOf(world: World, side: Side): ScalerSide | undefined {
  return world.scaler?.[side];
}

/** Pods a canary begins with under its scaler, which goes on from there. */
export function resumeReplicas(scaler: ScalerSide): number {
  return Math.max(1, Math.min(scaler.restoreMinReplicas ?? scaler.minReplicas, scaler.maxReplicas));
}

/** Raises minReplicas to this many pods, as far as maxReplicas lets; what it was is kept beside it and restored at the end (S18). */
export function raiseFloor(draft: Draft, side: Side, pods: number): void {
  const scaler = scalerOf(draft.world, side);
  if (!scaler) return;
  const minReplicas = Math.min(pods, scaler.maxReplicas);
  if (scaler.minReplicas < minReplicas) act(draft, { type: 'SetScalerFloor', side, minReplicas });
}

/** Before the first traffic leaves it: a primary that is scaled down meanwhile could not take it back (flagger issue 1600). */
export function holdPrimary(draft: Draft): void {
  const { route, primary } = draft.world;
  if (route?.canaryWeight === 0) raiseFloor(draft, 'primary', primary?.desiredReplicas ?? 0);
}

/** Raises the primary's pods until it can carry this share, as far as its scaler lets. True when enough are ready (S4). */
export function ensurePrimaryCapacity(draft: Draft, sharePercent: number): boolean {
  const { world } = draft;
  if (servingPods(world.primary) >= primaryPodsFor(world, sharePercent)) return true;
  raiseFloor(draft, 'primary', podsFor(sharePercent, carriedBy(world)));
  return false;
}

/** Ready pods the primary needs before this share comes to it; without a scaler its rollout alone tells (S1). */
export function primaryPodsFor(world: World, sharePercent: number): number {
  const scaler = scalerOf(world, 'primary');
  return scaler ? Math.min(podsFor(sharePercent, carriedBy(world)), scaler.maxReplicas) : 0;
}

/** The primary's scaler is at work: it asked for pods that are on their way, and nothing is wrong with them. */
export function isGrowing(draft: Draft): boolean {
  const { primary } = draft.world;
  if (!scalerOf(draft.world, 'primary') || !primary?.observed || primary.faults.length > 0) return false;
  return primary.readyReplicas > 0 && !hasConverged(primary, draft.plan.primaryReadyPercent);
}

/** KEDA stands still while the canary rests; a HorizontalPodAutoscaler does so by itself when there are no replicas. */
export function pauseCanary(draft: Draft, paused: boolean): void {
  const { scaler } = draft.world;
  if (scaler?.kind !== 'ScaledObject' || !scaler.canary || scaler.canary.paused === paused) return;
  act(draft, { type: 'PauseScaler', paused });
}

/** Gives both scalers the minReplicas back that they had before the rollout. True once that was read back. */
export function restoreScalers(draft: Draft): boolean {
  const raised = (['primary', 'canary'] as const).filter(
    (side) => scalerOf(draft.world, side)?.restoreMinReplicas !== undefined,
  );
  for (const side of raised) act(draft, { type: 'SetScalerFloor', side, minReplicas: undefined });
  return raised.length === 0;
}

/** At rest: both scalers as Git says, and nothing left of an earlier rollout. */
export function keepScalers(draft: Draft): void {
  if (!draft.world.scaler) return;
  if (restoreScalers(draft)) act(draft, { type: 'ApplyScalers' });
}
