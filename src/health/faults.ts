import type { PodFault } from './workload-view.ts';

/** A fault in one line: Kubernetes' own reason, where, and what it says about it. */
export function faultWords({ reason, container, message }: PodFault): string {
  return `${reason}${container ? ` in container ${container}` : ''}: ${message}`;
}

/** A container that is being made: no fault, but what a slow start is recognised by. */
export function isStarting(reason: string): boolean {
  return reason === 'ContainerCreating' || reason === 'PodInitializing';
}

/** Reasons of containers that do not run at all. */
const NOT_RUNNING = new Set([
  'CrashLoopBackOff',
  'ImagePullBackOff',
  'ErrImagePull',
  'InvalidImageName',
  'CreateContainerConfigError',
  'CreateContainerError',
]);

/** A pod that ran and does not any more, or cannot: what counts as lost readiness. */
export function isLost({ reason }: PodFault): boolean {
  return NOT_RUNNING.has(reason) || reason === 'ProbeFailing';
}
