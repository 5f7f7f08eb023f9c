import { enoughPods } from './comparison.ts';
import { compare, podComparisons } from './expectation.ts';
import {
  describeFault,
  isReadinessLost,
  isStarting,
  type PodFault,
  servingPods,
  type WorkloadView,
} from './workload-view.ts';

/** Enough pods of the current template are available, and none of an older one is left (flagger-behaviour 2.6). */
export function isReady(view: WorkloadView | undefined, readyPercent: number): boolean {
  return view !== undefined && podComparisons(view, { readyPercent }).every(({ met }) => met);
}

/** The rollout of the workload's current template is complete: no difference blocks. Promotion waits for this (S8). */
export function hasConverged(view: WorkloadView | undefined, readyPercent: number): boolean {
  return compare(view, { readyPercent }).every(({ met, severity }) => met || severity !== 'blocks');
}

/** Faults of running pods that count as lost readiness; pods that are only being replaced do not. */
export function lostReadiness({ faults }: WorkloadView): PodFault | undefined {
  return faults.find(isReadinessLost);
}

/**
 * A serving primary fails at once if a pod has a fault and no pod is ready, or fewer than the ready threshold. Without a fault its pods are
 * only being created; a fault of single pods above the threshold is a failed check (design section 2.3).
 */
export function failsAtOnce(view: WorkloadView | undefined, readyPercent: number): boolean {
  if (!view || lostReadiness(view) === undefined) return false;
  if (servingPods(view) === 0) return true;
  const enough = enoughPods({ updatedReplicas: view.desiredReplicas }, { readyPercent });
  return view.availableReplicas + comingPods(view) < enough;
}

/** Reasons of pods that have not run yet, as those that a scaler asks for under load. */
const COMING = new Set([
  'ContainerCreating',
  'PodInitializing',
  'NotReadyYet',
  'Unschedulable',
  'SchedulingGated',
]);

/** Pods that are to come, and were never lost: not created yet, or in their first start. */
function comingPods({ desiredReplicas, replicas, faults }: WorkloadView): number {
  const isComing = ({ reason, lastReason }: PodFault) => COMING.has(reason) && lastReason === undefined;
  const others = new Set(faults.filter((fault) => !isComing(fault)).map(({ pod }) => pod));
  const started = new Set(faults.filter(isComing).map(({ pod }) => pod));
  return Math.max(0, desiredReplicas - replicas) + [...started].filter((pod) => !others.has(pod)).length;
}

/** What differs while pods are replaced by new ones of the same template. */
const countsOfPods = new Set(['updated-replicas', 'old-replicas', 'available-replicas']);

/**
 * Names of the differences that are only a replacement of sound pods, as after an eviction, a drain of their node or a restart: with those that
 * start for the first time there are enough pods, and none was lost otherwise. They say nothing of the release.
 */
export function replacedPods(view: WorkloadView | undefined, readyPercent: number): ReadonlySet<string> {
  if (!view || lostReadiness(view) !== undefined || servingPods(view) === 0) return new Set();
  const starting = comingPods({ ...view, replicas: view.desiredReplicas });
  const enough = enoughPods({ updatedReplicas: view.desiredReplicas }, { readyPercent });
  return servingPods(view) + starting >= enough ? countsOfPods : new Set();
}

/** Why a workload is not ready, in one line: its worst fault, else the first difference that blocks. */
export function whyNotReady(view: WorkloadView | undefined): string {
  const fault = view?.faults.find(({ reason }) => !isStarting(reason));
  if (fault) return describeFault(fault);
  const blocking = compare(view, { readyPercent: 100 }).find(
    ({ met, severity }) => !met && severity === 'blocks',
  );
  return blocking?.detail ?? 'no fault was found';
}
