import type { Plan } from '../api/plan.ts';
import type { Expected } from '../health/comparison.ts';
import { scalerOf } from './capacity.ts';
import type { World } from './world.ts';

/** What must be true of the primary, with this release on it, as `plan` says. */
export function expectedState(world: World, plan: Plan, digest: string | undefined): Expected {
  return {
    digest,
    readyPercent: plan.primaryReadyPercent,
    maxRestarts: plan.postPromotion.maxRestarts,
    replicas: rangeOf(world),
  };
}

/** While it takes a release over, all pods that are asked for must be there; afterwards its scaler decides, within its bounds. */
function rangeOf(world: World): Expected['replicas'] {
  const { state } = world.status.postPromotion ?? {};
  const scaler = scalerOf(world, 'primary');
  if (!scaler || (state !== undefined && state !== 'Verifying')) return undefined;
  return { min: scaler.minReplicas, max: scaler.maxReplicas };
}
