/** The objects that were created for a Canary, when it is deleted or moves to native. Without an owner the garbage collector keeps them. */
import {
  canaryLabel,
  describe,
  hasOwnLabels,
  isOwnedBy,
  type KubernetesObject,
  keepAwayAnnotations,
  ownLabels,
  referenceOf,
  versionOf,
} from '../../../api/kubernetes.ts';
import type { Cluster } from '../../../contracts/cluster.ts';
import type { RouteKind } from '../../../contracts/routing.ts';
import { labelRecord } from '../../../release/record.ts';
import { isKnative } from '../../../release/release.ts';
import { targetKinds, workloadKind } from '../../../workload/kinds.ts';
import { withoutPrimaryAnnotations } from '../../../workload/knative/knative.ts';
import { type ScalerSpec, scalerKindOf, scalerKinds } from '../../../workload/scaler.ts';
import { giveBackPatch, originalSpecPatch } from '../../../workload/service/existing-service.ts';
import { appliedAnnotation, primaryName, serviceNames } from '../../../workload/shared/metadata.ts';
import { failureOf, isStale, notKept } from '../../failure.ts';
import type { ActionContext, CanaryParts, Performers } from '../context/context.ts';
import { serviceKind } from '../context/namespace-view.ts';
import { routerOf } from '../context/observation.ts';
import { isDividedByOthers, liveRoutes } from '../observe/routes.ts';
import { kindsOf } from '../watches.ts';
import { ensureFresh } from './write.ts';

/** Kinds of the copies of config. */
const configKinds: readonly RouteKind[] = [
  { apiVersion: 'v1', kind: 'ConfigMap' },
  { apiVersion: 'v1', kind: 'Secret' },
];

/** Keeps what was created for a Canary that is deleted. */
export const disownPerformers = {
  /** Services and routing objects stay, since requests still come that way; with `primary` everything that was made for the Canary. */
  Disown: (context, { primary }) => {
    const { parts, observation } = context;
    if (primary) return disownAll(parts, observation.canary);
    return disownEach(parts, observation.canary, servingObjects(context));
  },
} satisfies Partial<Performers>;

/**
 * Everything that was made for the Canary stays: routes, Services, the primary with its scaler and config copies. Found by label or
 * owner, since what Flagger made has no label of ours, and the spec may be broken. True when something was written; throws refusals.
 */
export async function disownAll(
  parts: Pick<CanaryParts, 'cluster' | 'options' | 'routeKinds' | 'routing'>,
  canary: KubernetesObject,
): Promise<boolean> {
  const scalers = [scalerKindOf((canary.spec ?? {}) as ScalerSpec) ?? []].flat();
  const all = [...parts.routeKinds, serviceKind, ...configKinds, ...targetKinds, ...scalers];
  const found = await listed(parts, canary, all);
  // A kind of several versions is listed in each of them.
  const each = new Map(found.map((object) => [object.metadata.uid, object]));
  return disownEach(
    parts,
    canary,
    [...each.values()].filter((object) => isOwnedBy(object, canary) || hasOwnLabels(object, canary)),
  );
}

async function disownEach(
  { cluster }: Pick<CanaryParts, 'cluster'>,
  canary: KubernetesObject,
  objects: readonly KubernetesObject[],
): Promise<boolean> {
  let wrote = false;
  for (const object of objects) wrote = (await disownOne(cluster, canary, object)) || wrote;
  return wrote;
}

/** What somebody writes at the same time is read again: another controller may undo each write, and so keep the owner for ever. */
async function disownOne(
  cluster: Cluster,
  canary: KubernetesObject,
  object: KubernetesObject,
  triesLeft = 3,
): Promise<boolean> {
  const owners = object.metadata.ownerReferences ?? [];
  const others = owners.filter(({ uid }) => uid !== canary.metadata.uid);
  const annotations =
    giveBackPatch(object) ?? (isKnative(object) ? withoutPrimaryAnnotations(object) : undefined);
  if (others.length === owners.length && !annotations) return false;
  const ownerReferences = others.length === owners.length ? {} : { ownerReferences: others };
  const metadata = { ...versionOf(object), ...ownerReferences, ...(annotations ? { annotations } : {}) };
  const spec = originalSpecPatch(object);
  try {
    const body = { metadata, ...(spec ? { spec } : {}) };
    refuseOwned(canary, await cluster.patch(referenceOf(object), body));
    return true;
  } catch (error) {
    if (!isStale(error) || triesLeft <= 1) throw error;
  }
  const live = await cluster.get(referenceOf(object));
  return live ? disownOne(cluster, canary, live, triesLeft - 1) : false;
}

/** An object that keeps its owner goes with it, and so would the requests. */
function refuseOwned(canary: KubernetesObject, stored: KubernetesObject): void {
  if (isOwnedBy(stored, canary))
    throw notKept(`${describe(stored)}: metadata.ownerReferences still names ${describe(canary)}`);
}

/** Routes and Services that requests pass, but a route of users that another Canary goes on dividing. */
function servingObjects({ parts, observation }: ActionContext): KubernetesObject[] {
  const { canary, view, provider } = observation;
  const names = serviceNames(canary);
  const routes = liveRoutes(routerOf(parts, provider), view, canary).filter(
    (route) => !isDividedByOthers(parts, canary, route),
  );
  const services = [names.primary, names.canary].map((name) => view.get(serviceKind, name));
  return [...routes, ...services].filter((object) => object !== undefined);
}

/**
 * Objects of these kinds in the Canary's namespace. Without kinds that have no namespace: their objects have no owner, and the label does not
 * tell whose they are. Of a kind that Holdfast has no rights on (`install --providers`) nothing was made, unless the Canary itself needs it.
 */
async function listed(
  parts: Pick<CanaryParts, 'cluster' | 'options' | 'routing'>,
  canary: KubernetesObject,
  kinds: readonly RouteKind[],
  selection: { readonly labelSelector?: string } = {},
): Promise<KubernetesObject[]> {
  const namespace = canary.metadata.namespace ?? '';
  const keyOf = ({ apiVersion, kind }: RouteKind) => `${apiVersion} ${kind}`;
  const needed = new Set([...kindsOf(canary, parts), serviceKind, ...configKinds].map(keyOf));
  const each = new Map(
    kinds.filter((kind) => kind.namespace === undefined).map((kind) => [keyOf(kind), kind]),
  );
  const found = await Promise.all(
    [...each].map(([key, kind]) =>
      parts.cluster.list({ ...kind, namespace, ...selection }).catch((error: unknown) => {
        if (needed.has(key) || failureOf(error).reason !== 'Forbidden') throw error;
        return [];
      }),
    ),
  );
  return found.flat();
}

/** What a target is given back with that is rolled out in place from now on. */
export const releasePerformers = {
  /**
   * For a target that serves alone and is rolled out in place from now on (ADR 21). Services and routes carry the traffic: they stay as they are,
   * without owner, marks and labels of ours, so that Git may hold them. Then what stood behind the primary is deleted, and the primary last of all:
   * while it is there, not everything was released.
   */
  async ReleaseCopies(context) {
    await ensureFresh(context);
    const { parts, observation } = context;
    const { canary, view } = observation;
    const labelled = await labelledFor(context, [...parts.routeKinds, serviceKind]);
    const serving = [...servingObjects(context), ...labelled];
    const each = [...new Map(serving.map((object) => [describe(object), object])).values()];
    // Also what was adopted, and has no label of ours.
    const held = each.filter(
      (object) =>
        object.metadata.labels?.[canaryLabel] !== undefined ||
        giveBackPatch(object) !== undefined ||
        isOwnedBy(object, canary),
    );
    for (const object of held) await orphan(context, object);
    const copies = await labelledFor(context, [...scalerKinds, ...configKinds]);
    const behind = copies.filter(({ metadata }) => metadata.name.endsWith('-primary'));
    const primary = view.get(workloadKind(canary), primaryName(canary)) ?? [];
    const all = [...behind, primary].flat().filter((object) => isOwnedBy(object, canary));
    for (const object of all) await parts.cluster.delete(referenceOf(object), versionOf(object));
    return held.length + all.length > 0;
  },
} satisfies Partial<Performers>;

/** Found by label, as far as their kinds are served; records of releases are no copies. */
async function labelledFor(
  { parts, observation }: ActionContext,
  kinds: readonly RouteKind[],
): Promise<KubernetesObject[]> {
  const { canary } = observation;
  const labelSelector = `${canaryLabel}=${ownLabels(canary)[canaryLabel]},!${labelRecord}`;
  return listed(parts, canary, kinds, { labelSelector });
}

/** Removes owner, marks and label of the Canary, over the version that was read. */
async function orphan({ parts, observation }: ActionContext, object: KubernetesObject): Promise<void> {
  const { ownerReferences = [] } = object.metadata;
  const others = ownerReferences.filter(({ uid }) => uid !== observation.canary.metadata.uid);
  const marks = [...Object.keys(keepAwayAnnotations), appliedAnnotation];
  const stored = await parts.cluster.patch(referenceOf(object), {
    metadata: {
      ...versionOf(object),
      labels: { [canaryLabel]: null },
      annotations: { ...Object.fromEntries(marks.map((key) => [key, null])), ...giveBackPatch(object) },
      ...(others.length < ownerReferences.length ? { ownerReferences: others } : {}),
    },
  });
  refuseOwned(observation.canary, stored);
}
