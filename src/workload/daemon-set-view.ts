/** A DaemonSet and its pods in the rollout core's words. */
import type { KubernetesObject, PodTemplate } from '../api/kubernetes.ts';
import type { DriftView, WorkloadView } from '../health/workload-view.ts';
import { faultsOf } from './faults.ts';
import type { ViewSource } from './kind.ts';
import { digestAnnotation, settingsAnnotation } from './names.ts';
import { podFacts } from './pod-facts.ts';
import { currentDaemonPods, type Pod } from './pods.ts';

/** Node selector of a DaemonSet at rest: no node carries it (Flagger's key). */
export const scaleToZeroSelector = 'flagger.app/scale-to-zero';

interface DaemonSetStatus {
  observedGeneration?: number;
  desiredNumberScheduled?: number;
  currentNumberScheduled?: number;
  updatedNumberScheduled?: number;
  numberReady?: number;
  numberAvailable?: number;
}

/** What the rollout core sees of a DaemonSet. Pods on nodes that it has left count no more, as in its own status. */
export function viewDaemonSet(source: ViewSource): Omit<WorkloadView, keyof DriftView> {
  const { workload } = source;
  const { metadata } = workload;
  const status = (workload.status ?? {}) as DaemonSetStatus;
  const observed = (status.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  const updatedReplicas = status.updatedNumberScheduled ?? 0;
  const current = currentOf(source, { observed, updatedReplicas });
  const { template } = workload.spec as unknown as { template: PodTemplate };
  const facts = podFacts(current, template, source);
  return {
    name: metadata.name,
    uid: metadata.uid ?? '',
    resourceVersion: metadata.resourceVersion ?? '',
    digest: metadata.annotations?.[digestAnnotation],
    settingsKey: metadata.annotations?.[settingsAnnotation],
    observed,
    desiredReplicas: desiredPods(workload, status.desiredNumberScheduled ?? 0),
    replicas: status.currentNumberScheduled ?? 0,
    updatedReplicas,
    readyReplicas: status.numberReady ?? 0,
    availableReplicas: status.numberAvailable ?? 0,
    followsNodes: true,
    progressDeadlineExceeded: false,
    // Each node has one pod: traffic leaves before the template is written (design section 4, clear).
    keepsReadyPod: false,
    faults: observed ? faultsOf(workload, current) : [],
    ...facts,
    // Never more than the controller counts: the ControllerRevision may be seen later than the status.
    updatedReadyReplicas: Math.min(facts.updatedReadyReplicas, updatedReplicas),
  };
}

/** At rest none; else at least one, so that a DaemonSet which no node takes, or nobody has counted yet, is never taken for one at rest. */
function desiredPods({ spec }: KubernetesObject, scheduled: number): number {
  const { template } = spec as unknown as { template: PodTemplate };
  const selector = template.spec.nodeSelector as Record<string, string> | undefined;
  return selector?.[scaleToZeroSelector] === undefined ? Math.max(1, scheduled) : 0;
}

/** No pod counts as current before the controller has made one for this generation. */
function currentOf(
  { workload, pods, controllerRevisions }: ViewSource,
  { observed, updatedReplicas }: { observed: boolean; updatedReplicas: number },
): Pod[] {
  if (!observed || updatedReplicas === 0) return [];
  return currentDaemonPods(workload, pods, controllerRevisions);
}
