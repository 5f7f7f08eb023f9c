/** The objects that were created for a Canary, when it moves to native. */

import {
  canaryLabel,
  describe,
  type KubernetesObject,
  keepAwayAnnotations,
  ownLabels,
  referenceOf,
  versionOf,
} from '../../../api/kubernetes.ts';
import type { RouteKind } from '../../../contracts/routing.ts';
import { labelRecord } from '../../../release/record.ts';
import { workloadKind } from '../../../workload/kinds.ts';
import { scalerKinds } from '../../../workload/scaler.ts';
import { giveBackPatch } from '../../../workload/service/existing-service.ts';
import { appliedAnnotation, primaryName } from '../../../workload/shared/metadata.ts';
import type { ActionContext, Performers } from '../context/context.ts';
import { serviceKind } from '../context/namespace-view.ts';
import { configKinds, isOwnedBy, ownKinds, servingObjects } from './disown.ts';
import { ensureFresh } from './write.ts';

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
        isOwnedBy(canary, object),
    );
    for (const object of held) await orphan(context, object);
    const copies = await labelledFor(context, [...scalerKinds, ...configKinds]);
    const behind = copies.filter(({ metadata }) => metadata.name.endsWith('-primary'));
    const primary = view.get(workloadKind(canary), primaryName(canary)) ?? [];
    const all = [...behind, primary].flat().filter((object) => isOwnedBy(canary, object));
    for (const object of all) await parts.cluster.delete(referenceOf(object), versionOf(object));
    return held.length + all.length > 0;
  },
} satisfies Partial<Performers>;

/** Found by label, as far as their kinds are served; records of releases are no copies. */
async function labelledFor(
  { parts, observation }: ActionContext,
  kinds: readonly RouteKind[],
): Promise<KubernetesObject[]> {
  const { canary, view } = observation;
  const labelSelector = `${canaryLabel}=${ownLabels(canary)[canaryLabel]},!${labelRecord}`;
  const found = await Promise.all(
    ownKinds(kinds).map((kind) => parts.cluster.list({ ...kind, namespace: view.namespace, labelSelector })),
  );
  return found.flat();
}

/** Removes owner, marks and label of the Canary, over the version that was read. */
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
