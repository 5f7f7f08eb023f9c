/** A Deployment and its pods in the rollout core's words. */
import type { KubernetesObject, PodTemplate } from '../api/kubernetes.ts';
import type { DriftView, WorkloadView } from '../health/workload-view.ts';
import { faultsOf } from './faults.ts';
import type { ViewSource } from './kind.ts';
import { digestAnnotation, settingsAnnotation } from './names.ts';
import { podFacts } from './pod-facts.ts';
import { currentPods, type Pod } from './pods.ts';
import { keepsReadyPod } from './rolling-update.ts';

interface DeploymentSpec {
  replicas?: number;
  strategy?: Record<string, unknown>;
  template: PodTemplate;
}

interface DeploymentStatus {
  observedGeneration?: number;
  replicas?: number;
  updatedReplicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  conditions?: Array<{ type: string; status: string; reason?: string; message?: string }>;
}

/** What the rollout core sees of a Deployment. Counts of an unobserved generation are those of the one before. */
export function viewDeployment(source: ViewSource): Omit<WorkloadView, keyof DriftView> {
  const { workload, pods, replicaSets } = source;
  const spec = workload.spec as unknown as DeploymentSpec;
  const status = (workload.status ?? {}) as DeploymentStatus;
  const { metadata } = workload;
  const observed = (status.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  const progressing = status.conditions?.find(({ type }) => type === 'Progressing');
  const current = currentOf(workload, { pods, replicaSets, observed });
  const desiredReplicas = spec.replicas ?? 1;
  return {
    name: metadata.name,
    uid: metadata.uid ?? '',
    resourceVersion: metadata.resourceVersion ?? '',
    digest: metadata.annotations?.[digestAnnotation],
    settingsKey: metadata.annotations?.[settingsAnnotation],
    observed,
    desiredReplicas,
    replicas: status.replicas ?? 0,
    updatedReplicas: status.updatedReplicas ?? 0,
    readyReplicas: status.readyReplicas ?? 0,
    availableReplicas: status.availableReplicas ?? 0,
    followsNodes: false,
    progressDeadlineExceeded:
      observed && progressing?.status === 'False' && progressing.reason === 'ProgressDeadlineExceeded',
    keepsReadyPod: keepsReadyPod(desiredReplicas, spec.strategy),
    faults: observed ? faultsOf(workload, current) : [],
    ...podFacts(current, spec.template, source),
  };
}

/** No pod counts as current before the controller has made one for this generation. */
function currentOf(
  workload: KubernetesObject,
  { pods, replicaSets, observed }: Pick<ViewSource, 'pods' | 'replicaSets'> & { observed: boolean },
): Pod[] {
  const { updatedReplicas = 0 } = (workload.status ?? {}) as DeploymentStatus;
  if (!observed || updatedReplicas === 0) return [];
  return currentPods(workload, pods, replicaSets);
}
