import type { PodFault, WorkloadView } from '../health/workload-view.ts';

/** A workload of two pods that has taken release `a` over, unless said otherwise. */
export function aWorkload(more: Partial<WorkloadView> = {}): WorkloadView {
  return {
    name: 'web-primary',
    uid: 'uid',
    resourceVersion: '1',
    digest: 'v1:a',
    settingsKey: 's1',
    drift: undefined,
    configCopies: [],
    observed: true,
    desiredReplicas: 2,
    replicas: 2,
    updatedReplicas: 2,
    readyReplicas: 2,
    availableReplicas: 2,
    updatedReadyReplicas: 2,
    followsNodes: false,
    progressDeadlineExceeded: false,
    keepsReadyPod: true,
    faults: [],
    restarts: 0,
    imagesMatch: true,
    images: [{ container: 'app', image: 'web:1', found: ['web:1'], ids: ['web@sha256:1'] }],
    podContainers: ['app'],
    endpoints: 2,
    ...more,
  };
}

/** A pod whose container `app` waits with this reason. */
export function aFault(reason: string, more: Partial<PodFault> = {}): PodFault {
  return { pod: 'web-primary-1', container: 'app', reason, message: `${reason} it says`, ...more };
}
