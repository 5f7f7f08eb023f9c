/** Shares, what carries them, and who may be held: arithmetic of the rules, from pods alone. */
import type { Action } from '../../src/rollout/outcome.ts';
import { podsNeeded } from './ledger.ts';
import { isHealthy, lastGood, type Place, PODS, podsOf, type Side, serving, type Variant } from './place.ts';

/** A side whose share rises, and the other one. */
export interface Rise {
  readonly up: Side;
  readonly down: Side;
  /** Shares in percent. */
  readonly before: number;
  readonly after: number;
}

/** Whose share rises by this action; undefined where nobody's does. */
export function riseOf({ route }: Place, action: Action): Rise | undefined {
  if (action.type !== 'SetTraffic') return undefined;
  const [before, after] = [route?.weight ?? 0, action.route.canaryWeight];
  if (before === after) return undefined;
  if (after > before) return { up: 'canary', down: 'primary', before, after };
  return { up: 'primary', down: 'canary', before: 100 - before, after: 100 - after };
}

/** The share that a side's ready pods carry: of two pods each carries half, or all, by the ready threshold. */
function carries({ primary }: Place, variant: Variant, side: Side, ready: number): number {
  const whole = Math.max(1, Math.min(PODS, primary?.desired ?? PODS));
  const needed = (whole * (variant.readyPercent?.[side] ?? 100)) / 100;
  return Math.min(100, Math.floor((ready * 100) / Math.max(0.5, needed)));
}

/** The share that a side carries now. */
export function carriedBy(place: Place, variant: Variant, side: Side): number {
  return carries(place, variant, side, serving(podsOf(place, side)));
}

/** It did not prove itself yet. */
export const isNew = (place: Place, digest: string | undefined) =>
  digest !== undefined && !place.proven.includes(digest as never);

/** Nobody can say that the other side should have kept it: it cannot carry what it would have left. */
export function otherSideIsFull(place: Place, variant: Variant, { down, after }: Rise): boolean {
  return carriedBy(place, variant, down) <= 100 - after;
}

/** The largest share that the analysis gives next on a side, from where it is. */
export function nextStep({ steps }: Variant, before: number): number {
  return steps.find((share) => share > before) ?? before;
}

/** A policy, or something that only people can change, keeps it held. */
export function isHeldForGood(place: Place, variant: Variant, isLost: boolean): boolean {
  const { phase, postPromotion: post } = place.status;
  const onFailure = place.onFailure ?? variant.spec.postPromotion?.onFailure ?? 'auto';
  const good = lastGood(place);
  const canServe = isHealthy(place, good, 'primary') && place.room.primary >= podsNeeded(variant, 'primary');
  if (isLost || post?.reason === 'LKGFailsToo') return true;
  if (post?.reason === 'ChecksUnavailable') return place.metrics.primary === 'unknown';
  return phase === 'Failed' ? !canServe : onFailure === 'hold' || onFailure === 'halt' || !canServe;
}
