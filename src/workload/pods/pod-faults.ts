/** Why pods are not ready, with the reasons of Kubernetes. What only takes time (pulling, mounting, initializing) comes last. */
import { conditionOf, type KubernetesObject } from '../../api/kubernetes.ts';
import { singleLine } from '../../api/limits.ts';
import type { PodFault } from '../../health/workload-view.ts';
import { type ContainerStatus, isReady, type Pod, type PodCondition } from './pods.ts';

/** Reasons from worst (does not recover by itself) to mildest; reasons that are not listed come before `mildest`. */
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
  'NodeNotReady',
  'Unschedulable',
  'SchedulingGated',
  'ReadinessGatesNotReady',
];
/** In place of whatever ended a pod: it was replaced, and stays in the cluster for a long time. */
const ended = 'ended';
/** After all others: the first is a pod that was lost, the last ones are normal for a while. */
const mildest: readonly string[] = [
  'ProbeFailing',
  ended,
  'NotReadyYet',
  'ContainerCreating',
  'PodInitializing',
];
const messageLimit = 300;

/** Faults of these pods and of the Deployment itself, worst first, one per container. */
export function faultsOf(deployment: KubernetesObject, pods: readonly Pod[]): PodFault[] {
  const rankOf = (reason: string) => {
    const listed = worstFirst.indexOf(reason);
    return listed >= 0 ? listed : worstFirst.length + mildest.indexOf(reason) + 1;
  };
  const own = deploymentFaults(deployment).map((fault) => ({ fault, rank: rankOf(fault.reason) }));
  const ofPods = pods.flatMap((pod) =>
    podFaults(pod).map((fault) => ({ fault, rank: rankOf(hasEnded(pod) ? ended : fault.reason) })),
  );
  return [...own, ...ofPods].sort((a, b) => a.rank - b.rank).map(({ fault }) => fault);
}

function hasEnded({ status }: Pod): boolean {
  return status?.phase === 'Failed';
}

/** What prevents pods from being created at all: a pause, or a quota (ReplicaFailure). `pod` is then the Deployment's name. */
function deploymentFaults({ metadata, spec, status }: KubernetesObject): PodFault[] {
  const fault = (reason: string, message: string | undefined): PodFault => ({
    pod: metadata.name,
    container: undefined,
    reason,
    message: shortMessage(message),
  });
  const paused = (spec as { paused?: boolean }).paused === true;
  const { conditions } = (status ?? {}) as { conditions?: PodCondition[] };
  const failures = (conditions ?? []).filter(
    ({ type, status: state }) => type === 'ReplicaFailure' && state === 'True',
  );
  return [
    ...(paused
      ? [fault('DeploymentPaused', 'spec.paused is true: no pods are created for a new template')]
      : []),
    ...failures.map(({ reason, message }) => fault(reason ?? 'FailedCreate', message)),
  ];
}

function podFaults(pod: Pod): PodFault[] {
  if (isReady(pod)) return [];
  const { reason, message } = pod.status ?? {};
  if (hasEnded(pod)) return [podFault(pod, { reason: disruptionOf(pod) ?? reason ?? 'Error', message })];
  const scheduling = conditionOf(pod.status, 'PodScheduled');
  if (scheduling?.status === 'False' && scheduling.reason) return [podFault(pod, scheduling)];
  const containers = containerFaults(pod);
  return containers.length > 0 ? containers : wholePodFault(pod);
}

function containerFaults(pod: Pod): PodFault[] {
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  const lostAt = conditionOf(pod.status, 'Ready')?.lastTransitionTime;
  const { name } = pod.metadata;
  return [
    ...initContainerStatuses.flatMap((status) => {
      const isRunning = status.state?.running !== undefined && !isSidecar(pod, status.name);
      // It has no probes, and is ready once it has ended.
      const message = 'it runs and has not ended yet';
      const running = { pod: name, container: status.name, reason: 'PodInitializing', message };
      const found = isRunning ? [running] : containerFault(name, status, lostAt);
      return found.map((fault) => ({ ...fault, init: true }));
    }),
    ...containerStatuses.flatMap((status) => containerFault(name, status, lostAt)),
  ];
}

/** An init container that is to run beside the others, with probes of its own. */
function isSidecar({ spec }: Pod, name: string): boolean {
  return spec?.initContainers?.find((one) => one.name === name)?.restartPolicy === 'Always';
}

/** All containers are ready and the pod is not: a readiness gate, or a node that does not report. */
function wholePodFault(pod: Pod): PodFault[] {
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  const isWell = containerStatuses.length > 0 && containerStatuses.every(({ ready }) => ready === true);
  const ready = conditionOf(pod.status, 'Ready');
  if (!isWell || !ready || initContainerStatuses.some(({ state }) => state?.waiting)) return [];
  const message = ready.message ?? 'its containers were ready when its node last reported';
  return [podFault(pod, { reason: disruptionOf(pod) ?? ready.reason ?? 'NodeNotReady', message })];
}

function podFault(
  pod: Pod,
  { reason, message }: { reason?: string | undefined; message?: string | undefined },
): PodFault {
  return {
    pod: pod.metadata.name,
    container: undefined,
    reason: reason ?? 'Error',
    message: shortMessage(message),
  };
}

/** Why the cluster evicted the pod, where it did. */
function disruptionOf(pod: Pod): string | undefined {
  const condition = conditionOf(pod.status, 'DisruptionTarget');
  return condition?.status === 'True' ? condition.reason : undefined;
}

function containerFault(pod: string, status: ContainerStatus, lostAt: string | undefined): PodFault[] {
  const { waiting, running, terminated } = status.state ?? {};
  const lastReason = status.lastState?.terminated?.reason;
  const fault = (reason: string, message: string): PodFault[] => [
    {
      pod,
      container: status.name,
      reason,
      message: shortMessage(message),
      ...(lastReason === undefined ? {} : { lastReason }),
    },
  ];
  if (waiting?.reason && waiting.reason !== 'Completed') return fault(waiting.reason, waitingMessage(status));
  if (terminated && terminated.exitCode !== 0)
    return fault(
      terminated.reason ?? 'Error',
      `exit code ${terminated.exitCode ?? 'unknown'}. ${terminated.message ?? ''}`,
    );
  if (!running || status.ready !== false) return [];
  if (status.started === false) return fault('NotReadyYet', 'runs, but its startup probe has not passed');
  // Ready changed after the container had started: a pod that is only starting changed it before.
  return Date.parse(lostAt ?? '') > Date.parse(running.startedAt ?? '')
    ? fault('ProbeFailing', 'was ready, but its readiness probe does not pass any more')
    : fault('NotReadyYet', 'runs, but its readiness probe has not passed');
}

function waitingMessage({ state, lastState }: ContainerStatus): string {
  const last = lastState?.terminated;
  const ending = last
    ? ` (last exit: code ${last.exitCode ?? 'unknown'}, ${last.reason ?? 'no reason given'})`
    : '';
  return `${state?.waiting?.message ?? ''}${ending}`;
}

function shortMessage(message = ''): string {
  return singleLine(message, messageLimit);
}
