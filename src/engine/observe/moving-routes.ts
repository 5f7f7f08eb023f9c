/** While traffic moves to a workload that is rolled out in place, what carries it stays as it was written (ADR 21). */
import { describe, type KubernetesObject } from '../../api/kubernetes.ts';
import { serviceNames } from '../../workload/names.ts';
import { RefusedError } from '../../workload/refusal.ts';
import type { ReadContext } from '../perform/action-context.ts';
import { isAsMarked } from '../perform/applied.ts';
import { wantedRoutes } from '../perform/traffic-objects.ts';
import { serviceKind } from './namespace-view.ts';

/**
 * Routes are written with the spec as it is now, so that a gateway or a name that left it together with the provider would take the requests along.
 * Throws RefusedError then; once the target has all of the traffic, nothing of them is written any more.
 */
export async function refuseOtherRoutes(context: ReadContext): Promise<void> {
  const { canary, view, world } = context.observation;
  if (world.status.move?.handedOverTime !== undefined) return;
  const other = world.route ? undefined : otherService(context);
  const { route } = world;
  const wanted = route ? await wantedRoutes(context, route) : [];
  const changed = wanted.find((object) => {
    const live = view.get(object, object.metadata.name);
    return live !== undefined && !isAsMarked(live, object);
  });
  const found = other ?? changed;
  if (!found) return;
  throw new RefusedError({
    reason: 'TargetInvalid',
    object: describe(canary),
    field: 'spec.service',
    message: `must stay as it was until the Canary has moved to ${world.movesTo}, and ${describe(found)} is not what it says; the traffic is as before`,
  });
}

/** Made for this Canary under another name: the name went out of the spec. */
function otherService({ observation }: ReadContext): KubernetesObject | undefined {
  const { canary, view } = observation;
  const names = new Set<string>(Object.values(serviceNames(canary)));
  return view
    .list(serviceKind)
    .find(
      ({ metadata }) =>
        !names.has(metadata.name) &&
        metadata.ownerReferences?.some(({ uid }) => uid === canary.metadata.uid) === true,
    );
}
