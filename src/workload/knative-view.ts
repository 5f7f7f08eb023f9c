/** A Knative Service and the revision of one of its sides, in the rollout core's words. */
import type { KubernetesObject } from '../api/kubernetes.ts';
import type { DriftView, PodFault, WorkloadView } from '../health/workload-view.ts';
import type { ViewSource } from './kind.ts';
import { primaryRevisionOf } from './knative-marks.ts';
import { digestAnnotation, settingsAnnotation } from './names.ts';
import { atRestAnnotation } from './service-view.ts';

interface ServiceStatus {
  observedGeneration?: number;
  latestCreatedRevisionName?: string;
}

interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
}

/** The revision that Knative made of the template as it is now; undefined until its controller has seen that. */
export function latestRevisionOf({ metadata, status }: KubernetesObject): string | undefined {
  const { observedGeneration = 0, latestCreatedRevisionName } = (status ?? {}) as ServiceStatus;
  return observedGeneration >= (metadata.generation ?? 0) ? latestCreatedRevisionName : undefined;
}

/**
 * What the rollout core sees of one side: one pod, ready while its revision is. How many there are is the business of Knative, which scales a
 * revision without requests to none (flagger-behaviour.md 2.6).
 */
export function viewKnative({
  workload,
  side,
  revisions = [],
}: ViewSource): Omit<WorkloadView, keyof DriftView> {
  const { metadata } = workload;
  const isPrimary = side === 'primary';
  // Between a write and Knative's look at it the newest revision it knows goes on serving.
  const { latestCreatedRevisionName } = (workload.status ?? {}) as ServiceStatus;
  const name = isPrimary ? primaryRevisionOf(workload) : latestCreatedRevisionName;
  const ready = readyOf(revisions.find((one) => one.metadata.name === name));
  const desired = !isPrimary && metadata.annotations?.[atRestAnnotation] === 'true' ? 0 : 1;
  const count = desired === 1 && name !== undefined && ready?.status === 'True' ? 1 : 0;
  return {
    name: name ?? metadata.name,
    uid: metadata.uid ?? '',
    resourceVersion: metadata.resourceVersion ?? '',
    digest: metadata.annotations?.[digestAnnotation],
    settingsKey: metadata.annotations?.[settingsAnnotation],
    observed: isPrimary || latestRevisionOf(workload) !== undefined,
    desiredReplicas: desired,
    replicas: desired,
    updatedReplicas: desired,
    readyReplicas: count,
    availableReplicas: count,
    updatedReadyReplicas: count,
    followsNodes: false,
    progressDeadlineExceeded: ready?.status === 'False' && ready.reason === 'ProgressDeadlineExceeded',
    // Another revision gets the requests in one step; none goes away for it.
    keepsReadyPod: true,
    faults: desired === 1 && ready?.status === 'False' ? [faultOf(name ?? metadata.name, ready)] : [],
    restarts: 0,
    imagesMatch: true,
    images: [],
    podContainers: [],
    endpoints: undefined,
  };
}

/** Whether requests may go to it. */
export function isRevisionReady(revision: KubernetesObject | undefined): boolean {
  return readyOf(revision)?.status === 'True';
}

function readyOf(revision: KubernetesObject | undefined): Condition | undefined {
  const { conditions = [] } = (revision?.status ?? {}) as { conditions?: Condition[] };
  return conditions.find(({ type }) => type === 'Ready');
}

function faultOf(pod: string, { reason, message }: Condition): PodFault {
  return {
    pod,
    container: undefined,
    reason: reason ?? 'RevisionFailed',
    message: (message ?? '').slice(0, 300),
  };
}
