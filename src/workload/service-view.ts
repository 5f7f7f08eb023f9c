/** A Service that is a copy of the target, and the pods it selects, in the rollout core's words. */
import type { KubernetesObject } from '../api/kubernetes.ts';
import { isExternalName, selectorOf } from '../release/service-content.ts';
import type { DriftView } from '../rollout/drift-view.ts';
import type { PodFault, WorkloadView } from '../rollout/world.ts';
import type { ViewSource } from './kind.ts';
import { digestAnnotation, settingsAnnotation } from './names.ts';
import { isReady, type Pod } from './pods.ts';

/** `true` on a canary's side that no release uses: it counts as one without pods. There is nothing to scale. */
export const atRestAnnotation = 'holdfast.dev/at-rest';

/** Merge patch that takes a side to rest, or wakes it; undefined when it says so already. */
export function restPatch(
  { metadata }: KubernetesObject,
  replicas: number,
): Record<string, unknown> | undefined {
  const wanted = String(replicas === 0);
  if ((metadata.annotations?.[atRestAnnotation] ?? 'false') === wanted) return undefined;
  return { metadata: { annotations: { [atRestAnnotation]: wanted } } };
}

/**
 * What the rollout core sees of a Service: one pod, which is ready as long as the Service selects a ready one. How many there are is the
 * business of whoever made them. Unlike Flagger's, a Service that reaches nobody is not ready, so that no traffic goes there.
 */
export function viewService({ workload, pods }: ViewSource): Omit<WorkloadView, keyof DriftView> {
  const { metadata } = workload;
  const isAtRest = metadata.annotations?.[atRestAnnotation] === 'true';
  const desired = isAtRest ? 0 : 1;
  const reaches = !isAtRest && reachesSomebody(workload, pods);
  const ready = reaches ? 1 : 0;
  return {
    name: metadata.name,
    uid: metadata.uid ?? '',
    resourceVersion: metadata.resourceVersion ?? '',
    digest: metadata.annotations?.[digestAnnotation],
    settingsKey: metadata.annotations?.[settingsAnnotation],
    observed: true,
    desiredReplicas: desired,
    replicas: desired,
    updatedReplicas: desired,
    readyReplicas: ready,
    availableReplicas: ready,
    updatedReadyReplicas: ready,
    followsNodes: false,
    progressDeadlineExceeded: false,
    // Another selector or port is in force at once; no pod goes away for it.
    keepsReadyPod: true,
    faults: isAtRest || reaches ? [] : [nobody(workload)],
    restarts: 0,
    imagesMatch: true,
    images: [],
    podContainers: [],
    endpoints: undefined,
  };
}

function reachesSomebody({ spec }: KubernetesObject, pods: readonly KubernetesObject[]): boolean {
  if (isExternalName(spec)) return true;
  const selector = Object.entries(selectorOf(spec) ?? {});
  const { publishNotReadyAddresses } = spec as { publishNotReadyAddresses?: boolean };
  return pods.some(
    (pod) =>
      selector.length > 0 &&
      pod.metadata.deletionTimestamp === undefined &&
      selector.every(([key, value]) => pod.metadata.labels?.[key] === value) &&
      (publishNotReadyAddresses === true || isReady(pod as Pod)),
  );
}

function nobody({ metadata, spec }: KubernetesObject): PodFault {
  const labels = Object.entries(selectorOf(spec) ?? {}).map(([key, value]) => `${key}=${value}`);
  const message = `no ready pod has the labels ${labels.join(', ')} that Service ${metadata.name} selects`;
  return { pod: metadata.name, container: undefined, reason: 'NoPodSelected', message };
}
