import type { Cause } from '../../health/causes.ts';
import type { PodFault } from '../../health/workload-view.ts';

/** A fault as each cause shows it, to ask what would be done about it. */
const faults: Readonly<Record<Exclude<Cause, 'ProgressStopped'>, Omit<PodFault, 'pod' | 'container'>>> = {
  Paused: { reason: 'DeploymentPaused', message: 'spec.paused is true' },
  SidecarFails: { reason: 'CrashLoopBackOff', message: 'back-off restarting failed container' },
  ImageMissing: { reason: 'ErrImagePull', message: 'failed to resolve reference: not found' },
  PullDenied: { reason: 'ErrImagePull', message: 'failed to authorize: 401 Unauthorized' },
  PullFails: { reason: 'ImagePullBackOff', message: 'the registry does not answer' },
  ConfigCopyMissing: {
    reason: 'CreateContainerConfigError',
    message: 'configmap "settings-primary" not found',
  },
  ReferenceMissing: { reason: 'CreateContainerConfigError', message: 'secret "database" not found' },
  QuotaExceeded: { reason: 'FailedCreate', message: 'is forbidden: exceeded quota' },
  CreationRefused: { reason: 'FailedCreate', message: 'is forbidden: violates PodSecurity' },
  Unschedulable: { reason: 'Unschedulable', message: 'Insufficient cpu' },
  GateClosed: { reason: 'SchedulingGated', message: 'scheduling is blocked due to non-empty gates' },
  NodeLost: { reason: 'Evicted', message: 'the node was low on memory' },
  InitFails: { reason: 'CrashLoopBackOff', message: 'back-off restarting failed container', init: true },
  OutOfMemory: { reason: 'OOMKilled', message: 'exit code 137' },
  CrashLoop: { reason: 'CrashLoopBackOff', message: 'back-off restarting failed container' },
  ProbeFails: { reason: 'ProbeFailing', message: 'its readiness probe does not pass any more' },
  NoPodSelected: { reason: 'NoPodSelected', message: 'no ready pod has the labels app=web' },
  SlowStart: { reason: 'ContainerCreating', message: '' },
};

/** Reasons that concern a whole pod. */
const ofPods: ReadonlySet<string> = new Set([
  'DeploymentPaused',
  'FailedCreate',
  'Unschedulable',
  'SchedulingGated',
  'Evicted',
  'NoPodSelected',
]);

/** The faults of a pod that shows this cause; `container` is one that both copies have. */
export function sampleFaults(cause: Cause, pod: string, container: string): PodFault[] {
  if (cause === 'ProgressStopped') return [];
  const fault = faults[cause];
  if (ofPods.has(fault.reason)) return [{ ...fault, pod, container: undefined }];
  return [{ ...fault, pod, container: cause === 'SidecarFails' ? 'sidecar' : container }];
}
