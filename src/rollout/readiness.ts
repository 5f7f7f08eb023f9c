import { differences, firstDifference, podComparisons } from './expectation/expectation.ts';
import type { PodFault, WorkloadView } from './world.ts';

/** Reasons of containers that do not run at all. */
const NOT_RUNNING = new Set([
  'CrashLoopBackOff',
  'ImagePullBackOff',
  'ErrImagePull',
  'InvalidImageName',
  'CreateContainerConfigError',
  'CreateContainerError',
]);

/** Enough pods of the current template are available, and none of an older one is left (flagger-behaviour 2.6). */
export function isReady(view: WorkloadView | undefined, readyPercent: number): boolean {
  return view !== undefined && podComparisons(view, { readyPercent }).every(({ met }) => met);
}

/** The rollout of the workload's current template is complete: nothing that blocks differs. What promotion waits for (S8). */
export function hasConverged(view: WorkloadView | undefined, readyPercent: number): boolean {
  return differences(view, { readyPercent }).every(({ severity }) => severity !== 'blocks');
}

/** Ready pods, whatever their template: who can answer requests right now. */
export function servingPods(view: WorkloadView | undefined): number {
  return view?.readyReplicas ?? 0;
}

/** Faults of running pods that count as lost readiness; pods that are only being replaced do not. */
export function lostReadiness(view: WorkloadView): PodFault | undefined {
  return view.faults.find((fault) => NOT_RUNNING.has(fault.reason) || fault.reason === 'ProbeFailing');
}

/** One line about why a workload is not ready, for messages. */
export function whyNotReady(view: WorkloadView | undefined): string {
  return firstDifference(view, { readyPercent: 100 });
}
