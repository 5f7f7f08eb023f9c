/** Whether the holder of a Lease is certainly gone, judged by the pod that its identity names. Pure: pods are given as they were read. */
import type { KubernetesObject } from '../../api/kubernetes.ts';

/** The pod that a process runs in. */
export interface PodName {
  readonly name: string;
  /** A pod that is created later with the same name has another uid. */
  readonly uid: string;
}

/** One run of the container: what a status shows of it. */
export type ContainerRun = string;

interface ContainerStatus {
  readonly name?: string;
  readonly containerID?: string;
  readonly restartCount?: number;
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
}

interface ContainerState {
  readonly running?: object;
  readonly waiting?: object;
  readonly terminated?: { readonly reason?: string };
}

/** Container that runs Holdfast, where a pod has several (a mesh adds its own). */
const containerName = 'holdfast';

/** What kubelet writes when it lost track of a container, as after a restart of the node: its end was not observed. */
const neverSeen = 'ContainerStatusUnknown';

const identityForm = /^(?<name>[^_/]+)_(?<uid>[^_]+)_[^_]+$/;

/** The identity of a process in this pod; `instance` ends with a `_` and a part that is unique to the process. */
export function identityInPod({ name, uid }: PodName, instance: string): string {
  return `${name}_${uid}_${instance.slice(instance.lastIndexOf('_') + 1)}`;
}

/** The pod that an identity names; undefined for one outside a pod, or of an older version. */
export function podOfIdentity(identity: string): PodName | undefined {
  const { name, uid } = identityForm.exec(identity)?.groups ?? {};
  return name && uid ? { name, uid } : undefined;
}

/** The current run of Holdfast's container; undefined when the pod shows none. */
export function currentRun(pod: KubernetesObject | undefined): ContainerRun | undefined {
  const container = containerOf(pod);
  return container?.state?.running ? runOf(container) : undefined;
}

/**
 * Why the process cannot be running any more; undefined: it may. `pod` is undefined when there is none of that name, `lived` the run of the
 * container in which the process is known to have run. A pod that is being deleted, or whose node is unreachable, may be running.
 */
export function goneReason(
  pod: KubernetesObject | undefined,
  holder: PodName,
  lived: ContainerRun | undefined,
): string | undefined {
  if (!pod) return 'its pod was deleted';
  if (pod.metadata.uid !== holder.uid) return 'its pod was replaced by another of the same name';
  const container = containerOf(pod);
  const { phase } = (pod.status ?? {}) as { phase?: string };
  // Who cleans up after a lost node writes the phase, too, while the container is last known to run.
  const isOver = phase === 'Succeeded' || phase === 'Failed';
  if (isOver && !container?.state?.running && !isLost(container)) return `its pod has ended (${phase})`;
  return lived !== undefined && container && hasEnded(container, lived)
    ? 'its container has ended'
    : undefined;
}

function hasEnded(container: ContainerStatus, lived: ContainerRun): boolean {
  if (isLost(container)) return false;
  const { running, terminated, waiting } = container.state ?? {};
  // Waiting for its next start: kubelet says how the last run ended.
  if (terminated || (waiting && container.lastState?.terminated)) return true;
  return running !== undefined && runOf(container) !== lived;
}

function isLost(container: ContainerStatus | undefined): boolean {
  const { state, lastState } = container ?? {};
  return [state, lastState].some((each) => each?.terminated?.reason === neverSeen);
}

function runOf({ containerID = '', restartCount = 0 }: ContainerStatus): ContainerRun {
  return `${containerID}#${restartCount}`;
}

function containerOf(pod: KubernetesObject | undefined): ContainerStatus | undefined {
  const { containerStatuses = [] } = (pod?.status ?? {}) as { containerStatuses?: ContainerStatus[] };
  const [only, ...others] = containerStatuses;
  return others.length === 0 ? only : containerStatuses.find(({ name }) => name === containerName);
}
