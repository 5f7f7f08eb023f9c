/** What is refused of a Canary that is, or is going to be, rolled out in place (ADR 21). */
import type { Canary } from '../../../api/canary/canary.ts';
import { controllerOf, describe, isOwnedBy, type KubernetesObject } from '../../../api/kubernetes.ts';
import { workloadKind } from '../../../workload/kinds.ts';
import { primaryName, serviceNames } from '../../../workload/shared/metadata.ts';
import { RefusedError } from '../../../workload/shared/refusal.ts';
import { isAsMarked } from '../../applied.ts';
import { type NamespaceView, serviceKind } from '../context/namespace-view.ts';
import type { ReadContext } from '../context/observation.ts';
import { wantedRoutes } from './routes.ts';
import type { TargetOwner } from './target-owner.ts';

/** Throws RefusedError for a target that another tool applies, and for one whose copy still serves. */
export function refuseInPlace(canary: Canary, view: NamespaceView, owner: TargetOwner): void {
  refuseForeignOwner(canary, owner);
  const { name } = canary.spec.targetRef;
  const controller = controllerOf(view.get(workloadKind(canary), primaryName(canary)));
  if (controller?.kind !== canary.kind || controller.name !== canary.metadata.name) return;
  throw refused(
    canary,
    'TargetInvalid',
    `${primaryName(canary)}, which another provider made of ${name}, still serves, and it is not known which provider: set spec.provider to it until the Canary is Ready, then to native`,
  );
}

/** Throws RefusedError for a target that another tool applies. */
export function refuseForeignOwner(canary: Canary, owner: TargetOwner): void {
  if (owner !== 'another') return;
  throw refused(
    canary,
    'OwnedByAnother',
    `native changes ${canary.spec.targetRef.name} itself, but another tool applies it: let a Source apply it, or choose a provider that copies it`,
  );
}

function refused(canary: Canary, reason: 'OwnedByAnother' | 'TargetInvalid', message: string): RefusedError {
  return new RefusedError({ reason, object: describe(canary), field: 'spec.provider', message });
}

/**
 * While traffic moves to a workload that is rolled out in place, Services and routes stay as they were written (ADR 21): they are written with
 * the spec as it is now, and a gateway or a name that left it together with the provider would take the requests along. Throws RefusedError
 * where the spec asks for other ones; once the target has all of the traffic, nothing of them is written any more.
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
    message: `must not change until the Canary has moved to ${world.movesTo}, but ${describe(found)} differs from it; the traffic is unchanged`,
  });
}

/** A Service of this Canary under a name that the spec no longer has. */
function otherService({ observation }: ReadContext): KubernetesObject | undefined {
  const { canary, view } = observation;
  const names = new Set<string>(Object.values(serviceNames(canary)));
  return view
    .list(serviceKind)
    .find((service) => !names.has(service.metadata.name) && isOwnedBy(service, canary));
}
