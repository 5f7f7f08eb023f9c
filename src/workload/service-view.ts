/** A Service that is a copy of the target, and the pods it selects, in the rollout core's words. */
import type { KubernetesObject } from '../api/kubernetes.ts';
import type { DriftView, PodFault, WorkloadView } from '../health/workload-view.ts';
import { isExternalName, selectorOf } from '../release/service-content.ts';
import { endpointsOf } from './endpoints.ts';
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
 * What the rollout core sees of a Service: one pod, which is ready as long as the port that requests come by has a ready address. How many there are is the
 * business of whoever made them. Unlike Flagger's, a Service that reaches nobody is not ready, so that no traffic goes there.
 */
export function viewService(source: ViewSource): Omit<WorkloadView, keyof DriftView> {
  const { workload } = source;
  const { metadata } = workload;
  const isAtRest = metadata.annotations?.[atRestAnnotation] === 'true';
  const desired = isAtRest ? 0 : 1;
  const selected = readyPods(source);
  const reaches = !isAtRest && reachesSomebody(source, selected);
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
    faults: isAtRest || reaches ? [] : [nobody(workload, selected)],
    restarts: 0,
    imagesMatch: true,
    images: [],
    podContainers: [],
    endpoints: undefined,
  };
}

/** The pods that it selects and that count as ready by what it says. */
function readyPods({ workload: { spec }, pods }: ViewSource): Pod[] {
  const selector = Object.entries(selectorOf(spec) ?? {});
  const { publishNotReadyAddresses } = spec as { publishNotReadyAddresses?: boolean };
  return pods.filter(
    (pod): pod is Pod =>
      selector.length > 0 &&
      pod.metadata.deletionTimestamp === undefined &&
      selector.every(([key, value]) => pod.metadata.labels?.[key] === value) &&
      (publishNotReadyAddresses === true || isReady(pod as Pod)),
  );
}

/** Copies have every port of the target, and only one of them is the route's: others may be for pods that do not have them. */
function reachesSomebody(source: ViewSource, selected: readonly Pod[]): boolean {
  const { workload, endpointSlices, routePort } = source;
  if (isExternalName(workload.spec)) return true;
  return (endpointsOf({ service: workload, endpointSlices, port: routePort }, selected) ?? 0) > 0;
}

function nobody({ metadata, spec }: KubernetesObject, selected: readonly Pod[]): PodFault {
  const common = { pod: metadata.name, container: undefined };
  if (selected.length > 0) {
    const message = `Service ${metadata.name} selects ${selected.length} ready pods, and none is an endpoint of the port that its requests come by: see whether they have its targetPort`;
    return { ...common, reason: 'NoPodSelected', message };
  }
  const labels = Object.entries(selectorOf(spec) ?? {}).map(([key, value]) => `${key}=${value}`);
  const message = `no ready pod has the labels ${labels.join(', ')} that Service ${metadata.name} selects`;
  return { ...common, reason: 'NoPodSelected', message };
}
