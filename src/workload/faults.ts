/** Why pods are not ready, in Kubernetes' own words. Progress (pulling, creating, initialising) is no fault. */
import type { KubernetesObject } from '../api/kubernetes.ts';
import type { PodFault } from '../rollout/world.ts';
import { type ContainerStatus, containerStatuses, isReady, type Pod } from './pods.ts';

/** Reasons from worst (will not heal by itself) to mildest; what is not listed stands before the last. */
const worstFirst: readonly string[] = [
  'CrashLoopBackOff',
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
  'InvalidImageName',
  'ErrImageNeverPull',
  'ImagePullBackOff',
  'ErrImagePull',
  'FailedCreate',
  'OOMKilled',
  'Error',
  'Evicted',
  'Unschedulable',
  'SchedulingGated',
];
const mildest = 'ProbeFailing';
const progress: ReadonlySet<string> = new Set(['ContainerCreating', 'PodInitializing', 'Completed']);
const messageLimit = 300;

/** Faults of these pods and of the Deployment itself, worst first, one per container. */
export function faultsOf(deployment: KubernetesObject, pods: readonly Pod[]): PodFault[] {
  return [...deploymentFaults(deployment), ...pods.flatMap(podFaults)].sort((a, b) => rank(a) - rank(b));
}

/** ReplicaFailure: the ReplicaSet may not create pods, as under a quota. `pod` is then the Deployment's name. */
function deploymentFaults(deployment: KubernetesObject): PodFault[] {
  const { conditions = [] } = (deployment.status ?? {}) as {
    conditions?: NonNullable<Pod['status']>['conditions'];
  };
  return (conditions ?? [])
    .filter(({ type, status }) => type === 'ReplicaFailure' && status === 'True')
    .map(({ reason, message }) => ({
      pod: deployment.metadata.name,
      container: undefined,
      reason: reason ?? 'FailedCreate',
      message: clip(message),
    }));
}

function podFaults(pod: Pod): PodFault[] {
  if (isReady(pod)) return [];
  const name = pod.metadata.name;
  if (pod.status?.phase === 'Failed')
    return [
      {
        pod: name,
        container: undefined,
        reason: pod.status.reason ?? 'Error',
        message: clip(pod.status.message),
      },
    ];
  const scheduling = pod.status?.conditions?.find(
    ({ type, status, reason }) => type === 'PodScheduled' && status === 'False' && reason !== undefined,
  );
  if (scheduling?.reason)
    return [
      { pod: name, container: undefined, reason: scheduling.reason, message: clip(scheduling.message) },
    ];
  return containerStatuses(pod).flatMap((status) => containerFault(name, status));
}

function containerFault(pod: string, status: ContainerStatus): PodFault[] {
  const { waiting, running, terminated } = status.state ?? {};
  const fault = (reason: string, message: string): PodFault[] => [
    { pod, container: status.name, reason, message: clip(message) },
  ];
  if (waiting?.reason && !progress.has(waiting.reason)) return fault(waiting.reason, waitingMessage(status));
  if (terminated && terminated.exitCode !== 0)
    return fault(
      terminated.reason ?? 'Error',
      `exit code ${terminated.exitCode ?? 'unknown'}. ${terminated.message ?? ''}`,
    );
  if (running && status.ready === false)
    return fault(
      mildest,
      status.started === false
        ? 'its startup probe has not passed'
        : 'runs, but its readiness probe does not pass',
    );
  return [];
}

function waitingMessage({ state, lastState }: ContainerStatus): string {
  const last = lastState?.terminated;
  const ending = last
    ? ` (last exit: code ${last.exitCode ?? 'unknown'}, ${last.reason ?? 'no reason given'})`
    : '';
  return `${state?.waiting?.message ?? ''}${ending}`;
}

function rank({ reason }: PodFault): number {
  const listed = worstFirst.indexOf(reason);
  if (listed >= 0) return listed;
  return reason === mildest ? worstFirst.length + 1 : worstFirst.length;
}

function clip(message: string | undefined): string {
  const text = (message ?? '').trim();
  return text.length <= messageLimit ? text : `${text.slice(0, messageLimit - 1)}…`;
}
