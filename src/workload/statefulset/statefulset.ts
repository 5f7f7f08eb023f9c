/** StatefulSets as targets: only rolled out in place, since a copy would not have the names and volumes of its pods. */
import { type KubernetesObject, type PodTemplate, present } from '../../api/kubernetes.ts';
import type { WorkloadSettings } from '../../release/release.ts';
import { identityOf, podFacts } from '../pods/pod-facts.ts';
import { faultsOf } from '../pods/pod-faults.ts';
import { controlledPods, isReady, type Pod, revisionHashLabel } from '../pods/pods.ts';
import { heldPodsAnnotation, isBeforeFirstStep, settingsAnnotation } from '../shared/metadata.ts';
import { refuseTarget } from '../shared/refusal.ts';
import { podsOfShareExactly } from '../shared/rolling-update.ts';
import {
  type HeldFields,
  type IncomingRelease,
  type NativeKind,
  type PodsView,
  podToReplace,
  replacedByHand,
  replicasPatch,
  type TriedPods,
  tooFewReplicas,
  type Unsuitable,
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
    spec: { ...present({ replicas }), ...statefulSetSettings(settings) },
  }),
  scalePatch: replicasPatch,
  view: viewStatefulSet,
};

/** Every setting with an explicit value, by default Kubernetes' own, so that a setting removed from Git does not stay. */
function statefulSetSettings({
  strategy,
  minReadySeconds,
  revisionHistoryLimit,
}: WorkloadSettings): Record<string, unknown> {
  const given = strategy?.rollingUpdate as Record<string, unknown> | undefined | null;
  return {
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { ...given, partition: 0 } },
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
function viewStatefulSet(source: ViewSource): PodsView {
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
function podsOfRevision({ workload, pods }: ViewSource): { current: Pod[]; older: Pod[] } {
  const { updateRevision } = (workload.status ?? {}) as StatefulSetStatus;
  const own = controlledPods(workload, pods);
  const isCurrent = ({ metadata }: Pod) =>
    updateRevision !== undefined && metadata.labels?.[revisionHashLabel] === updateRevision;
  return { current: own.filter(isCurrent), older: own.filter((pod) => !isCurrent(pod)) };
}

// Rolled out in place (provider native): its own rolling update, paused by its partition, one ordinal after the other (ADR 27).

/** Above every ordinal: pods that are replaced or added are created from the older template. */
const NO_ORDINAL = 2_147_483_647;

/** The StatefulSet entry of the table of kinds. */
export const nativeStatefulSet: NativeKind = {
  kind: 'StatefulSet',
  settingsFields: statefulSetSettings,
  unsuitable,
  withhold: ({ replicas, live }) => heldFrom(NO_ORDINAL, replicas ?? 1, live),
  next({ source, weightPercent }) {
    const { workload } = source;
    const pods = heldPods(workload);
    return {
      held: heldFrom(pods - podsOfShareExactly(weightPercent, pods), pods, workload),
      replace: [],
    };
  },
  splitView(source) {
    const whole = viewStatefulSet(source);
    return { whole, tried: isBeforeFirstStep(source.workload) ? undefined : triedIn(source, whole) };
  },
  revision: ({ workload }) => (workload.status as { updateRevision?: string } | undefined)?.updateRevision,
  /** Pods of an older template that are not ready: the controller waits for them and does not replace them (kubernetes.io, forced rollback). */
  stuck: (source) =>
    podsOfRevision(source)
      .older.filter((pod) => !isReady(pod))
      .map(podToReplace),
};

/** Pods whose ordinal is at least `partition` are replaced. The number of pods is written too, since the share is one of it. */
function heldFrom(partition: number, pods: number, live: KubernetesObject | undefined): HeldFields {
  const { maxUnavailable } = liveRollingUpdate(live);
  const rollingUpdate = { partition, ...(maxUnavailable === undefined ? {} : { maxUnavailable }) };
  return {
    spec: { replicas: pods, updateStrategy: { type: 'RollingUpdate', rollingUpdate } },
    annotations: { [heldPodsAnnotation]: String(pods) },
  };
}

function triedIn(source: ViewSource, whole: PodsView): TriedPods {
  const { workload } = source;
  const pods = heldPods(workload);
  const { partition = 0 } = liveRollingUpdate(workload);
  const { updateRevision, currentRevision } = (workload.status ?? {}) as Record<string, string | undefined>;
  const granted = Math.max(0, pods - partition);
  const { updatedReplicas, updatedReadyReplicas, replicas, desiredReplicas, readyReplicas } = whole;
  return {
    view: {
      ...whole,
      desiredReplicas: granted,
      replicas: updatedReplicas,
      readyReplicas: updatedReadyReplicas,
      availableReplicas: updatedReadyReplicas,
    },
    leaving: granted,
    olderAvailable: Math.max(0, readyReplicas - updatedReadyReplicas),
    isReached(weightPercent) {
      const share = podsOfShareExactly(weightPercent, pods);
      // All pods run the template already where only other fields changed.
      const wanted = updateRevision === currentRevision ? pods : share;
      const isHeld = partition === pods - share && desiredReplicas === pods;
      return isHeld && updatedReplicas === wanted && updatedReadyReplicas === wanted && replicas === pods;
    },
  };
}

/** The number of pods that the share is of; `spec.replicas` if the annotation was removed. */
function heldPods({ metadata, spec }: KubernetesObject): number {
  const text = metadata.annotations?.[heldPodsAnnotation];
  if (text !== undefined && /^[1-9]\d{0,5}$/.test(text)) return Number(text);
  return (spec as { replicas?: number } | undefined)?.replicas ?? 1;
}

function liveRollingUpdate(live: KubernetesObject | undefined): {
  readonly partition?: number;
  readonly maxUnavailable?: number | string;
} {
  const { updateStrategy } = (live?.spec ?? {}) as { updateStrategy?: WorkloadSettings['strategy'] };
  return updateStrategy?.rollingUpdate ?? {};
}

function unsuitable({ settings, replicas, isFirst }: IncomingRelease): Unsuitable | undefined {
  const byHand = replacedByHand(settings);
  if (byHand) return byHand;
  const { partition = 0 } = (settings.strategy?.rollingUpdate ?? {}) as { partition?: number };
  if (partition !== 0)
    return {
      field: 'spec.updateStrategy.rollingUpdate.partition',
      message:
        'must be 0 or absent for provider native, which changes it for each step: pods below it would keep an older release, and no release would be complete',
    };
  if (!isFirst) return undefined;
  if (replicas === undefined)
    return {
      field: 'spec.replicas',
      message:
        'is required: provider native limits a StatefulSet by its partition, which is a number of pods, so pods that an autoscaler adds during a step would run the new release; set it and remove autoscalerRef',
    };
  return tooFewReplicas(replicas);
}
