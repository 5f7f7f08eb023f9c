import {
  isGenerated,
  type KubernetesObject,
  type ObjectReference,
  ownerReference,
  ownLabels,
  referenceOf,
} from '../../../api/kubernetes.ts';
import { isKnative } from '../../../release/release.ts';
import { possibleCopies } from '../../../workload/adopted-target.ts';
import { rolloutManager, takenOverFields } from '../../../workload/compare/managed-fields.ts';
import { primaryAnnotations, primaryRevisionOf } from '../../../workload/knative/knative.ts';
import { scalerKindOf, scalerNames } from '../../../workload/scaler.ts';
import { isOwnerlessCopy } from '../../../workload/service/service.ts';
import { configStamp, releaseAnnotations } from '../../../workload/shared/configs.ts';
import { configAnnotation, serviceNames } from '../../../workload/shared/metadata.ts';
import { StaleView } from '../../failure.ts';
import type { ActionContext, Performers } from '../context/context.ts';
import { serviceKind } from '../context/namespace-view.ts';
import { routeReferences, routerOf } from '../context/observation.ts';
import { bytesOf } from '../observe/releases.ts';
import { wantedRoutes } from '../observe/routes.ts';
import { ensureFresh, patchRollout } from './write.ts';

/** The takeover of what Flagger generated. */
export const adoptionPerformers = {
  /**
   * Only metadata is written: managedFields give us the fields that Flagger wrote, and annotations on the primary and its config copies name
   * their release. The primary comes last: its digest completes the takeover.
   */
  async AdoptPrimary(context, { digest }) {
    const { canary, primary, target, view } = context.observation;
    if (!primary) throw new StaleView('the primary');
    await ensureFresh(context);
    const revision = primaryRevisionOf(primary);
    // Both sides are one object: an annotation names the release of the primary's revision.
    if (isKnative(primary) && revision !== undefined) {
      if (!target) throw new StaleView('the target');
      const annotations = primaryAnnotations(target, { digest, revision });
      return patchRollout(context, target, { metadata: { annotations } });
    }
    const { release } = await bytesOf(context, digest);
    const marks = { labels: ownLabels(canary), annotations: releaseAnnotations(release) };
    const stamp = configStamp(release);
    const routes = await knownRoutes(context);
    for (const reference of servingObjects(context)) {
      const known = routes.find(
        ({ kind, metadata }) => kind === reference.kind && metadata.name === reference.name,
      );
      await takeOver(context, reference, {}, known);
    }
    for (const { kind, name } of possibleCopies(primary))
      await takeOver(context, { apiVersion: 'v1', kind, name, namespace: view.namespace }, marks);
    const annotations = { ...marks.annotations, ...(stamp ? { [configAnnotation]: stamp } : {}) };
    return takeOver(context, referenceOf(primary), { ...marks, annotations });
  },
} satisfies Partial<Performers>;

/** Routes as they are going to be written: what Flagger wrote beside that, as the class of an ingress, is never taken out. */
async function knownRoutes(context: ActionContext): Promise<KubernetesObject[]> {
  const { parts, observation } = context;
  const { world, provider } = observation;
  if (!world.route || routerOf(parts, provider).apexFollowsTraffic) return [];
  const { primaryWeight, canaryWeight, mirrored, matched } = world.route;
  return wantedRoutes(context, { primaryWeight, canaryWeight, mirrored, matched });
}

function servingObjects({ parts, observation }: ActionContext): ObjectReference[] {
  const { canary, view, provider } = observation;
  const { namespace } = view;
  const names = serviceNames(canary);
  const services = Object.values(names).map((name) => ({ ...serviceKind, name, namespace }));
  const routes = routeReferences(routerOf(parts, provider), canary).map((route) => ({ namespace, ...route }));
  const scaler = scalerKindOf(canary.spec);
  const scalers = scaler
    ? [{ apiVersion: scaler.apiVersion, kind: scaler.kind, name: scalerNames(canary).primary, namespace }]
    : [];
  return [...services, ...routes, ...scalers];
}

async function takeOver(
  context: ActionContext,
  reference: ObjectReference,
  marks: Pick<KubernetesObject['metadata'], 'labels' | 'annotations'>,
  known?: KubernetesObject,
): Promise<boolean> {
  const { parts, observation } = context;
  const live = await parts.cluster.get(reference);
  if (!live) return false;
  const isOwnerless = isOwnerlessCopy(live, observation.canary);
  if (!isGenerated(live, observation.canary) && !isOwnerless) return false;
  const managedFields = takenOverFields(live, rolloutManager, known);
  if (!managedFields && Object.keys(marks).length === 0) return false;
  const owner = isOwnerless ? { ownerReferences: [ownerReference(observation.canary)] } : {};
  const metadata = { ...marks, ...owner, ...(managedFields ? { managedFields } : {}) };
  return patchRollout(context, live, { metadata }, { metadata: marks });
}
