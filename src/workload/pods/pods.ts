/** Pods of one workload that run its current template. */
import { conditionOf, controllerOf, type KubernetesObject } from '../../api/kubernetes.ts';

/** The part of a pod that is read here; what a kubelet writes may be missing at any time. */
export interface Pod extends KubernetesObject {
  spec?: { containers?: PodContainer[]; initContainers?: PodContainer[]; nodeName?: string };
  status?: {
    phase?: string;
    reason?: string;
    message?: string;
    conditions?: PodCondition[];
    containerStatuses?: ContainerStatus[];
    initContainerStatuses?: ContainerStatus[];
  };
}

/** A condition of a pod. */
export interface PodCondition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

/** A container as the pod's spec names it. */
interface PodContainer {
  name: string;
  image?: string;
  [field: string]: unknown;
}

/** The status of one container. */
export interface ContainerStatus {
  name: string;
  ready?: boolean;
  started?: boolean;
  /** The digest of the image when it was pulled. */
  imageID?: string;
  restartCount?: number;
  state?: {
    waiting?: { reason?: string; message?: string };
    running?: { startedAt?: string };
    terminated?: { reason?: string; message?: string; exitCode?: number };
  };
  lastState?: { terminated?: { reason?: string; exitCode?: number } };
}

/**
 * The pods of the ReplicaSet of the Deployment's current template, without those that are being deleted. They are found by
 * owner and not by content, since admission webhooks change pods. None while that ReplicaSet has not been seen yet.
 */
export function currentPods(
  deployment: KubernetesObject,
  pods: readonly KubernetesObject[],
  replicaSets: readonly KubernetesObject[],
): Pod[] {
  const current = currentReplicaSet(deployment, replicaSets);
  return current ? controlledPods(current, pods) : [];
}

/** The same for a DaemonSet, whose pods carry the hash of their ControllerRevision. None while that has not been seen yet. */
export function currentDaemonPods(
  daemonSet: KubernetesObject,
  pods: readonly KubernetesObject[],
  controllerRevisions: readonly KubernetesObject[],
): Pod[] {
  const hash = currentHash(daemonSet, controllerRevisions);
  return controlledPods(daemonSet, pods).filter(
    ({ metadata }) => hash !== undefined && metadata.labels?.[revisionHashLabel] === hash,
  );
}

/** When the ReplicaSet or ControllerRevision of the current template was created, in milliseconds; NaN while that is not known. */
export function templateTimeMs(workload: KubernetesObject, revisions: readonly KubernetesObject[]): number {
  const current =
    workload.kind === 'Deployment'
      ? currentReplicaSet(workload, revisions)
      : currentRevision(workload, revisions);
  return Date.parse(current?.metadata.creationTimestamp ?? '');
}

/** Label of pods of a Deployment: which ReplicaSet they are of. */
export const templateHashLabel = 'pod-template-hash';
/** Label of pods of a DaemonSet or a StatefulSet: which ControllerRevision they were made from. */
export const revisionHashLabel = 'controller-revision-hash';

/**
 * Whether the pod was made for this workload: those of a Job, or of another workload, may carry the same labels. A Deployment's ReplicaSets are
 * called after it and their hash.
 */
export function isMadeFor({ kind, metadata }: KubernetesObject, pod: KubernetesObject): boolean {
  const controller = controllerOf(pod);
  if (kind !== 'Deployment') return metadata.uid !== undefined && controller?.uid === metadata.uid;
  const hash = pod.metadata.labels?.[templateHashLabel];
  return controller?.kind === 'ReplicaSet' && controller.name === `${metadata.name}-${hash}`;
}

/** Pods that the object controls itself, without those that are being deleted. */
export function controlledPods(workload: KubernetesObject, pods: readonly KubernetesObject[]): Pod[] {
  const { uid } = workload.metadata;
  return pods.filter(
    (pod): pod is Pod =>
      uid !== undefined && pod.metadata.deletionTimestamp === undefined && controllerOf(pod)?.uid === uid,
  );
}

/** The hash that pods of a DaemonSet's current template carry; undefined while its ControllerRevision has not been seen. */
export function currentHash(
  daemonSet: KubernetesObject,
  controllerRevisions: readonly KubernetesObject[],
): string | undefined {
  return currentRevision(daemonSet, controllerRevisions)?.metadata.labels?.[revisionHashLabel];
}

/** The controller gives the revision of the current template the highest number, also when it is one that was there before. */
function currentRevision(
  daemonSet: KubernetesObject,
  controllerRevisions: readonly KubernetesObject[],
): KubernetesObject | undefined {
  const own = controllerRevisions.filter(
    (revision) => controllerOf(revision)?.uid === daemonSet.metadata.uid,
  );
  const numberOf = (revision: object) => Number((revision as { revision?: unknown }).revision ?? 0);
  return own.sort((left, right) => numberOf(right) - numberOf(left))[0];
}

const revisionAnnotation = 'deployment.kubernetes.io/revision';

/** The Deployment's controller writes the revision of the ReplicaSet in use on the Deployment, before it updates observedGeneration. */
export function currentReplicaSet(
  deployment: KubernetesObject,
  replicaSets: readonly KubernetesObject[],
): KubernetesObject | undefined {
  const own = replicaSets.filter((replicaSet) => controllerOf(replicaSet)?.uid === deployment.metadata.uid);
  const named = deployment.metadata.annotations?.[revisionAnnotation];
  const revisionOf = ({ metadata }: KubernetesObject) => metadata.annotations?.[revisionAnnotation];
  if (named !== undefined) return own.find((replicaSet) => revisionOf(replicaSet) === named);
  // Somebody removed the annotation; the controller restores it at its next sync.
  return own.sort((left, right) => Number(revisionOf(right) ?? 0) - Number(revisionOf(left) ?? 0))[0];
}

/** Whether the pod's Ready condition is True. */
export function isReady(pod: Pod): boolean {
  return conditionOf(pod.status, 'Ready')?.status === 'True';
}

/** The statuses of all containers, init containers first. */
export function containerStatuses(pod: Pod): ContainerStatus[] {
  return [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
}
