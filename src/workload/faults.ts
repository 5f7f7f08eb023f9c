/** Why pods are not ready, in Kubernetes' own words. Progress (pulling, creating, initialising) is no fault. */
import type { KubernetesObject } from '../api/kubernetes.ts';
import type { PodFault } from '../rollout/world.ts';
import { type ContainerStatus, containerStatuses, isReady, type Pod } from './pods.ts';

/** Reasons from worst (will not heal by itself) to mildest; what is not listed stands before the last. */
const worstFirst: readonly string[] = [
  'DeploymentPaused',
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

/** What keeps pods from being made at all: a pause, or a quota (ReplicaFailure). `pod` is then the Deployment's name. */
function deploymentFaults({ metadata, spec, status }: KubernetesObject): PodFault[] {
  const fault = (reason: string, message: string | undefined): PodFault => ({
    pod: metadata.name,
    container: undefined,
    reason,
    message: clip(message),
  });
  const paused = (spec as { paused?: boolean }).paused === true;
  const { conditions } = (status ?? {}) as { conditions?: NonNullable<Pod['status']>['conditions'] };
  const failures = (conditions ?? []).filter(
    ({ type, status: state }) => type === 'ReplicaFailure' && state === 'True',
  );
  return [
    ...(paused ? [fault('DeploymentPaused', 'spec.paused is true: no pod of a new template is made')] : []),
    ...failures.map(({ reason, message }) => fault(reason ?? 'FailedCreate', message)),
  ];
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
