/** StatefulSets as targets: only rolled out in place, since a copy would not have the names and volumes of its pods. */
import type { PodTemplate } from '../../api/kubernetes.ts';
import type { WorkloadSettings } from '../../release/release.ts';
import { identityOf, podFacts } from '../pods/pod-facts.ts';
import { faultsOf } from '../pods/pod-faults.ts';
import { controlledPods, type Pod, revisionHashLabel } from '../pods/pods.ts';
import { settingsAnnotation } from '../shared/metadata.ts';
import {
  type PodsView,
  refuseTarget,
  type ViewSource,
  type WorkloadKind,
  type WorkloadSource,
} from '../shared/workload-kind.ts';

/** The StatefulSet entry of the table of kinds. */
export const statefulSet: WorkloadKind = {
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  watches: [],
  sides: 'workloads',
  canary: refuse,
  primary: refuse,
  settingsPatch: ({ settings, settingsKey, replicas }) => ({
    metadata: { annotations: { [settingsAnnotation]: settingsKey } },
    spec: { ...(replicas === undefined ? {} : { replicas }), ...statefulSetSettings(settings) },
  }),
  scalePatch: ({ spec }, replicas) =>
    (spec as { replicas?: number } | undefined)?.replicas === replicas ? undefined : { spec: { replicas } },
  view: viewStatefulSet,
};

/** Every setting with an explicit value, by default Kubernetes' own, so that a setting removed from Git does not stay. */
export function statefulSetSettings({
  strategy,
  minReadySeconds,
  revisionHistoryLimit,
}: WorkloadSettings): Record<string, unknown> {
  const given = strategy?.rollingUpdate as Record<string, unknown> | undefined | null;
  return {
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0, ...given } },
    minReadySeconds: minReadySeconds ?? 0,
    revisionHistoryLimit: revisionHistoryLimit ?? 10,
  };
}

function refuse({ release }: WorkloadSource): never {
  return refuseTarget(
    release.target,
    'kind',
    'a StatefulSet has no second copy: its pods have names and volumes of their own; use provider native',
  );
}

interface StatefulSetStatus {
  observedGeneration?: number;
  replicas?: number;
  updatedReplicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  updateRevision?: string;
}

/** A StatefulSet as the rollout sees it. Until a generation is observed, counts are those of the one before. */
export function viewStatefulSet(source: ViewSource): PodsView {
  const { workload } = source;
  const { metadata } = workload;
  const { replicas = 1, template } = workload.spec as unknown as { replicas?: number; template: PodTemplate };
  const status = (workload.status ?? {}) as StatefulSetStatus;
  const observed = (status.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  const current = observed ? podsOfRevision(source).current : [];
  return {
    ...identityOf(workload),
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
