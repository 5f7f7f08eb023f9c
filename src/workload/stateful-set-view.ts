/** A StatefulSet and its pods in the rollout core's words. */
import type { PodTemplate } from '../api/kubernetes.ts';
import type { DriftView, WorkloadView } from '../health/workload-view.ts';
import { faultsOf } from './faults.ts';
import type { ViewSource } from './kind.ts';
import { digestAnnotation, settingsAnnotation } from './names.ts';
import { podFacts } from './pod-facts.ts';
import { controlledPods, type Pod, revisionHashLabel } from './pods.ts';

interface StatefulSetStatus {
  observedGeneration?: number;
  replicas?: number;
  updatedReplicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  updateRevision?: string;
}

/** What the rollout core sees of a StatefulSet. Counts of an unobserved generation are those of the one before. */
export function viewStatefulSet(source: ViewSource): Omit<WorkloadView, keyof DriftView> {
  const { workload } = source;
  const { metadata } = workload;
  const { replicas = 1, template } = workload.spec as unknown as { replicas?: number; template: PodTemplate };
  const status = (workload.status ?? {}) as StatefulSetStatus;
  const observed = (status.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  const current = observed ? podsOfRevision(source).current : [];
  return {
    name: metadata.name,
    uid: metadata.uid ?? '',
    resourceVersion: metadata.resourceVersion ?? '',
    digest: metadata.annotations?.[digestAnnotation],
    settingsKey: metadata.annotations?.[settingsAnnotation],
    observed,
    desiredReplicas: replicas,
    replicas: status.replicas ?? 0,
    updatedReplicas: status.updatedReplicas ?? 0,
    readyReplicas: status.readyReplicas ?? 0,
    availableReplicas: status.availableReplicas ?? 0,
    followsNodes: false,
    progressDeadlineExceeded: false,
    keepsReadyPod: replicas > 1,
    faults: observed ? faultsOf(workload, current) : [],
    ...podFacts(current, template, source),
  };
}

/** Its pods that are not being deleted, by the revision that its controller gave the current template; all older while it gave none. */
export function podsOfRevision({ workload, pods }: ViewSource): { current: Pod[]; older: Pod[] } {
  const { updateRevision } = (workload.status ?? {}) as StatefulSetStatus;
  const own = controlledPods(workload, pods);
  const isCurrent = ({ metadata }: Pod) =>
    updateRevision !== undefined && metadata.labels?.[revisionHashLabel] === updateRevision;
  return { current: own.filter(isCurrent), older: own.filter((pod) => !isCurrent(pod)) };
}
