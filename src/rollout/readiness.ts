import type { PodFault, WorkloadView } from './world.ts';

/** Reasons that do not go away by waiting: the pod can never serve as it is. */
const FATAL = new Set([
  'CrashLoopBackOff',
  'ImagePullBackOff',
  'ErrImagePull',
  'InvalidImageName',
  'CreateContainerConfigError',
  'CreateContainerError',
]);

/** Enough pods of the current template are available, and none of an older one is left (flagger-behaviour 2.6). */
export function isReady(view: WorkloadView | undefined, readyPercent: number): boolean {
  if (!view?.observed || view.desiredReplicas < 1) return false;
  if (view.updatedReplicas < view.desiredReplicas || view.replicas > view.updatedReplicas) return false;
  return view.availableReplicas >= Math.max(1, Math.floor((view.updatedReplicas * readyPercent) / 100));
}

/** The rollout of the workload's current template is complete: what promotion waits for (S8). */
export function hasConverged(view: WorkloadView | undefined, readyPercent: number): boolean {
  return isReady(view, readyPercent) && view?.imagesMatch === true && view.updatedReadyReplicas >= 1;
}

/** Ready pods, whatever their template: who can answer requests right now. */
export function servingPods(view: WorkloadView | undefined): number {
  return view?.readyReplicas ?? 0;
}

/** The faults that waiting does not heal. */
export function fatalFaults(view: WorkloadView | undefined): readonly PodFault[] {
  return (view?.faults ?? []).filter((fault) => FATAL.has(fault.reason));
}

/** Faults of running pods that count as lost readiness; pods that are only being replaced do not. */
export function lostReadiness(view: WorkloadView): PodFault | undefined {
  return view.faults.find((fault) => FATAL.has(fault.reason) || fault.reason === 'ProbeFailing');
}

/** One line about why a workload is not ready, for messages. */
export function whyNotReady(view: WorkloadView | undefined): string {
  if (!view) return 'it does not exist';
  const fault = view.faults[0];
  if (fault)
    return `${fault.reason}${fault.container ? ` in container ${fault.container}` : ''}: ${fault.message}`;
  if (!view.observed) return 'the controller has not seen the change yet';
  if (view.updatedReplicas < view.desiredReplicas) {
    return `${view.updatedReplicas} of ${view.desiredReplicas} pods run the new template`;
  }
  if (view.replicas > view.updatedReplicas)
    return `${view.replicas - view.updatedReplicas} old pods are terminating`;
  return `${view.availableReplicas} of ${view.desiredReplicas} pods are available`;
}

/** Grows while a workload makes progress: the deadline counts from its last change (design section 2.3). */
export function progressKey(view: WorkloadView | undefined): string {
  return view ? `${view.digest ?? ''}:${view.updatedReplicas}:${view.availableReplicas}` : 'absent';
}
