/** Why pods are not ready, in Kubernetes' own words. Progress (pulling, creating, initialising) is no fault. */
import type { KubernetesObject } from '../api/kubernetes.ts';
import type { PodFault } from '../rollout/world.ts';
import { type ContainerStatus, containerStatuses, isReady, type Pod, type PodCondition } from './pods.ts';

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
/** After all others: the first is a loss, the second ordinary for a while. */
const mildest: readonly string[] = ['ProbeFailing', 'NotReadyYet'];
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
  const { conditions } = (status ?? {}) as { conditions?: PodCondition[] };
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
  const lostAt = pod.status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime;
  return containerStatuses(pod).flatMap((status) => containerFault(name, status, lostAt));
}

function containerFault(pod: string, status: ContainerStatus, lostAt: string | undefined): PodFault[] {
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
  if (!running || status.ready !== false) return [];
  if (status.started === false) return fault('NotReadyYet', 'runs, but its startup probe has not passed');
  return wasReady(running.startedAt, lostAt)
    ? fault('ProbeFailing', 'was ready, but its readiness probe does not pass any more')
    : fault('NotReadyYet', 'runs, but its readiness probe has not passed');
}

/** The pod's Ready condition changed after the container had started: a pod that is only starting changed it before. */
function wasReady(startedAt: string | undefined, lostAt: string | undefined): boolean {
  return startedAt !== undefined && lostAt !== undefined && Date.parse(lostAt) > Date.parse(startedAt);
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
  return worstFirst.length + mildest.indexOf(reason) + 1;
}

function clip(message: string | undefined): string {
  const text = (message ?? '').trim();
  return text.length <= messageLimit ? text : `${text.slice(0, messageLimit - 1)}…`;
}
