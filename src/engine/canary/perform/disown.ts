/** What stays when a Canary goes: without its owner reference the garbage collector leaves it alone. */
import { type KubernetesObject, referenceOf, versionOf } from '../../../api/kubernetes.ts';
import { canaryLabel, ownLabels } from '../../../api/metadata.ts';
import type { RouteKind } from '../../../contracts/routing.ts';
import { isKnative } from '../../../release/service-content.ts';
import { targetKinds } from '../../../workload/kinds.ts';
import { withoutPrimaryAnnotations } from '../../../workload/knative/annotations.ts';
import { type ScalerSpec, scalerKindOf } from '../../../workload/scaler.ts';
import { giveBackPatch } from '../../../workload/service/existing-service.ts';
import { serviceNames } from '../../../workload/shared/names.ts';
import type { ActionContext, CanaryParts, Performer } from '../context/context.ts';
import { serviceKind } from '../context/namespace-view.ts';
import { liveRoutes, routerOf } from '../observe/routes.ts';

const configKinds: readonly RouteKind[] = [
  { apiVersion: 'v1', kind: 'ConfigMap' },
  { apiVersion: 'v1', kind: 'Secret' },
];

/** Services and routing objects stay, since requests still come that way; with `primary` everything that was made for the Canary. */
export const disown: Performer<'Disown'> = (context, { primary }) => {
  const { parts, observation } = context;
  if (primary) return disownAll(parts, observation.canary);
  return disownEach(parts, observation.canary, servedBy(context));
};

/**
 * Everything that was made for the Canary stays: routes, Services, the primary with its scaler and config copies. Found by label or
 * owner, since what Flagger made has no label of ours, and the spec may be broken. True when something was written; throws what the API server refuses.
 */
export async function disownAll(
  parts: Pick<CanaryParts, 'cluster' | 'routeKinds'>,
  canary: KubernetesObject,
): Promise<boolean> {
  const namespace = canary.metadata.namespace ?? '';
  const scalers = [scalerKindOf((canary.spec ?? {}) as ScalerSpec) ?? []].flat();
  const all = [...parts.routeKinds, serviceKind, ...configKinds, ...targetKinds, ...scalers];
  const kinds = new Map(all.map((kind) => [`${kind.apiVersion} ${kind.kind}`, kind]));
  const found = await Promise.all(
    [...kinds.values()].map((kind) => parts.cluster.list({ ...kind, namespace })),
  );
  return disownEach(
    parts,
    canary,
    found.flat().filter((object) => isMadeFor(canary, object)),
  );
}

function isMadeFor(canary: KubernetesObject, { metadata }: KubernetesObject): boolean {
  const isOwned = metadata.ownerReferences?.some(({ uid }) => uid === canary.metadata.uid);
  return isOwned === true || metadata.labels?.[canaryLabel] === ownLabels(canary)[canaryLabel];
}

async function disownEach(
  { cluster }: Pick<CanaryParts, 'cluster'>,
  canary: KubernetesObject,
  objects: readonly KubernetesObject[],
): Promise<boolean> {
  let wrote = false;
  for (const object of objects) {
    const owners = object.metadata.ownerReferences ?? [];
    const others = owners.filter(({ uid }) => uid !== canary.metadata.uid);
    const annotations =
      giveBackPatch(object) ?? (isKnative(object) ? withoutPrimaryAnnotations(object) : undefined);
    if (others.length === owners.length && !annotations) continue;
    const ownerReferences = others.length === owners.length ? {} : { ownerReferences: others };
    const metadata = { ...versionOf(object), ...ownerReferences, ...(annotations ? { annotations } : {}) };
    await cluster.patch(referenceOf(object), { metadata });
    wrote = true;
  }
  return wrote;
}

function servedBy({ parts, observation }: ActionContext): KubernetesObject[] {
  const { canary, view, provider } = observation;
  const names = serviceNames(canary);
  const routes = liveRoutes(routerOf(parts, provider), view, canary);
  const services = [names.primary, names.canary].map((name) => view.get(serviceKind, name));
  return [...routes, ...services].filter((object) => object !== undefined);
}
