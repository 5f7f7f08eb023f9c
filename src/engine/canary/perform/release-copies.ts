/** What a copying provider made, once the target serves alone and is rolled out in place from then on (ADR 21). */
import { describe, type KubernetesObject, referenceOf, versionOf } from '../../../api/kubernetes.ts';
import { canaryLabel, keepAwayAnnotations, ownLabels } from '../../../api/metadata.ts';
import type { RouteKind } from '../../../contracts/routing.ts';
import { labelRecord } from '../../../release/record.ts';
import { workloadKind } from '../../../workload/kinds.ts';
import { scalerKinds } from '../../../workload/scaler.ts';
import { giveBackPatch } from '../../../workload/service/existing-service.ts';
import { appliedAnnotation, primaryName, serviceNames } from '../../../workload/shared/names.ts';
import type { ActionContext, Performer } from '../context/context.ts';
import { serviceKind } from '../context/namespace-view.ts';
import { liveRoutes, routerOf } from '../observe/routes.ts';
import { ensureFresh } from './write.ts';

const configKinds: readonly RouteKind[] = [
  { apiVersion: 'v1', kind: 'ConfigMap' },
  { apiVersion: 'v1', kind: 'Secret' },
];

/**
 * Services and routes carry the traffic: they stay as they are, without owner, marks and labels of ours, so that Git may hold them. Then what stood behind
 * the primary goes, and the primary last of all: while it is there, not everything was released.
 */
export const releaseCopies: Performer<'ReleaseCopies'> = async (context) => {
  await ensureFresh(context);
  const { parts, observation } = context;
  const serving = [...servedBy(context), ...(await madeFor(context, [...parts.routeKinds, serviceKind]))];
  const each = [...new Map(serving.map((object) => [describe(object), object])).values()];
  const held = each.filter((object) => isHeld(context, object));
  for (const object of held) await orphan(context, object);
  const copies = await madeFor(context, [...scalerKinds, ...configKinds]);
  const gone = copies.filter(
    (object) => isOwned(context, object) && object.metadata.name.endsWith('-primary'),
  );
  const primary = observation.view.get(workloadKind(observation.canary), primaryName(observation.canary));
  const all = [...gone, ...(primary && isOwned(context, primary) ? [primary] : [])];
  for (const object of all) await parts.cluster.delete(referenceOf(object), versionOf(object));
  return held.length + all.length > 0;
};

/** What requests come by, also where it was taken over from somebody, and carries no label. */
function servedBy({ parts, observation }: ActionContext): KubernetesObject[] {
  const { canary, view, provider } = observation;
  const services = Object.values(serviceNames(canary)).map((name) => view.get(serviceKind, name));
  const routes = liveRoutes(routerOf(parts, provider), view, canary);
  return [...routes, ...services].filter((object) => object !== undefined);
}

function isHeld(context: ActionContext, object: KubernetesObject): boolean {
  const isMarked = object.metadata.labels?.[canaryLabel] !== undefined || giveBackPatch(object) !== undefined;
  return isMarked || isOwned(context, object);
}

/** Found by label, as far as their kinds are served; records of releases are no copies. */
async function madeFor(
  { parts, observation }: ActionContext,
  kinds: readonly RouteKind[],
): Promise<KubernetesObject[]> {
  const { canary, view } = observation;
  const labelSelector = `${canaryLabel}=${ownLabels(canary)[canaryLabel]},!${labelRecord}`;
  const each = new Map(kinds.map((kind) => [`${kind.apiVersion} ${kind.kind}`, kind]));
  const found = await Promise.all(
    [...each.values()].map((kind) =>
      parts.cluster.list({ ...kind, namespace: view.namespace, labelSelector }),
    ),
  );
  return found.flat();
}

/** A merge patch of its metadata, over the version that was read. */
async function orphan({ parts, observation }: ActionContext, object: KubernetesObject): Promise<void> {
  const { ownerReferences = [] } = object.metadata;
  const others = ownerReferences.filter(({ uid }) => uid !== observation.canary.metadata.uid);
  const marks = [...Object.keys(keepAwayAnnotations), appliedAnnotation];
  await parts.cluster.patch(referenceOf(object), {
    metadata: {
      ...versionOf(object),
      labels: { [canaryLabel]: null },
      annotations: { ...Object.fromEntries(marks.map((key) => [key, null])), ...giveBackPatch(object) },
      ...(others.length < ownerReferences.length ? { ownerReferences: others } : {}),
    },
  });
}

function isOwned({ observation }: ActionContext, { metadata }: KubernetesObject): boolean {
  const { uid } = observation.canary.metadata;
  return metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;
}
