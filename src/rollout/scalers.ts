import { carriedBy, podsFor } from './capacity.ts';
import { act, type Draft, remainingMs, trackProgress } from './draft.ts';
import { servingPods } from './readiness.ts';
import type { Run } from './run.ts';
import type { ScalerSide, ScalerView, World } from './world.ts';

/** Which copy a scaler is about. */
export type Side = 'canary' | 'primary';

/** The scaler that owns the number of pods of this copy; undefined where none does, and pods are counted out by us. */
export function scalerOf(world: World, side: Side): ScalerSide | undefined {
  return world.scaler?.[side];
}

/** Pods a canary begins with under its scaler, which goes on from there. */
export function resumeReplicas(scaler: ScalerSide): number {
  return Math.max(1, Math.min(fewest(scaler), scaler.maxReplicas));
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

/** KEDA let the primary rest: without load that is how it should be. */
export function restsAtZero({ scaler, primary }: World): boolean {
  return primary?.desiredReplicas === 0 && scaler?.primary !== undefined && fewest(scaler.primary) === 0;
}

/**
 * Wakes a primary that rests at zero pods: without it there is nothing to compare a canary with, and nobody to serve meanwhile. True once
 * it serves, and when it does not come up within the deadline: then a newer release is the way out.
 */
export function isAwake(draft: Draft, run: Run): boolean {
  const { scaler, primary } = draft.world;
  if (!scaler?.primary || fewest(scaler.primary) > 0 || servingPods(primary) > 0) return true;
  raiseFloor(draft, 'primary', 1);
  trackProgress(draft, run, primary);
  return remainingMs(draft, run.lastProgressTime, draft.plan.progressDeadlineMs) === 0;
}

/** minReplicas without a rollout. */
function fewest({ restoreMinReplicas, minReplicas }: ScalerSide): number {
  return restoreMinReplicas ?? minReplicas;
}

/** Raises the primary's pods to what both carry, as far as its scaler lets. True when enough for this share are ready (S4). */
export function ensurePrimaryCapacity(draft: Draft, sharePercent: number): boolean {
  const { world } = draft;
  raiseFloor(draft, 'primary', carriedBy(world));
  return servingPods(world.primary) >= primaryPodsFor(world, sharePercent);
}

/** Ready pods the primary needs before this share comes to it; without a scaler its rollout alone tells (S1). */
export function primaryPodsFor(world: World, sharePercent: number): number {
  const scaler = scalerOf(world, 'primary');
  return scaler ? Math.min(podsFor(sharePercent, carriedBy(world)), scaler.maxReplicas) : 0;
}

/** KEDA stands still while the canary rests; a HorizontalPodAutoscaler does so by itself when there are no replicas. */
export function pauseCanary(draft: Draft, paused: boolean): void {
  const { scaler } = draft.world;
  if (scaler?.kind !== 'ScaledObject' || !scaler.canary || scaler.canary.paused === paused) return;
  act(draft, { type: 'PauseScaler', side: 'canary', paused });
}

/** A pause on the primary's scaler is never ours; one that came with a copy would leave it without pods (flagger issue 1934). */
export function wakePrimaryScaler(draft: Draft): void {
  if (scalerOf(draft.world, 'primary')?.paused)
    act(draft, { type: 'PauseScaler', side: 'primary', paused: false });
}

/** Gives a copy the minReplicas back that it had before the rollout. True once that was read back. */
export function restoreFloor(draft: Draft, side: Side): boolean {
  if (scalerOf(draft.world, side)?.restoreMinReplicas === undefined) return true;
  act(draft, { type: 'SetScalerFloor', side, minReplicas: undefined });
  return false;
}

/**
 * At the end of a release: the canary's minReplicas goes back at once, the primary's when its scaler had time to see the load that came
 * back (flagger issue 1600). True once both were read back.
 */
export function restoreScalers(draft: Draft, run: Run): boolean {
  const canary = restoreFloor(draft, 'canary');
  return restorePrimary(draft, run.standing?.route?.since) && canary;
}

function restorePrimary(draft: Draft, since: string | undefined): boolean {
  const { scaler } = draft.world;
  if (scaler?.primary?.restoreMinReplicas === undefined) return true;
  if (remainingMs(draft, since, scaler.settleMs) > 0) {
    const timeMs = draft.world.nowMs + remainingMs(draft, since, scaler.settleMs);
    draft.next = { action: "the primary's scaler gets its minReplicas back", timeMs };
    return false;
  }
  return restoreFloor(draft, 'primary');
}

/** At rest: both scalers as Git says, and nothing left of an earlier rollout, nor of a scaler that was named before. */
export function keepScalers(draft: Draft): void {
  removeFormer(draft);
  if (restoreFloors(draft)) act(draft, { type: 'ApplyScalers' });
}

/** At rest, whatever Git says: nothing is left of an earlier rollout. True once that was read back. */
export function restoreFloors(draft: Draft): boolean {
  const { scaler, route } = draft.world;
  if (!scaler || route?.canaryWeight !== 0) return false;
  const canary = restoreFloor(draft, 'canary');
  return restoreFloor(draft, 'primary') && canary;
}

/** Two scalers on the primary would work against each other (flagger issue 1241). The status follows once the write was made. */
function removeFormer({ world, status, actions }: Draft): void {
  const { scaler } = world;
  const former = status.scaler;
  if (former && (former.kind !== scaler?.kind || former.name !== scaler.name)) {
    if (isKind(former.kind)) actions.push({ type: 'RemoveScaler', kind: former.kind, name: former.name });
    delete status.scaler;
  }
  if (scaler?.primary) status.scaler = { kind: scaler.kind, name: scaler.name };
}

function isKind(kind: string): kind is ScalerView['kind'] {
  return kind === 'HorizontalPodAutoscaler' || kind === 'ScaledObject';
}
