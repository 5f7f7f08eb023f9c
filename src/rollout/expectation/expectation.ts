import type { WorkloadView } from '../world.ts';
import { type Comparison, compareAtLeast, compareAtMost, compareText, type Expected } from './comparison.ts';
import { copyComparisons } from './drift-comparisons.ts';
import { enoughPods } from './enough-pods.ts';
import { faultWords, isStarting } from './fault-words.ts';
import { releaseComparisons } from './release-comparisons.ts';

/** Everything that must be true of a workload beside what is, the met ones included, in the order in which a rollout reaches them. */
export function compare(view: WorkloadView | undefined, expected: Expected): Comparison[] {
  if (!view) return [absent];
  return [...copyComparisons(view), ...podComparisons(view, expected), ...releaseComparisons(view, expected)];
}

/** What differs: the findings of document 001. */
export function differences(view: WorkloadView | undefined, expected: Expected): Comparison[] {
  return compare(view, expected).filter(({ met }) => !met);
}

/**
 * Enough pods of the current template are available, and none of an older one is left (flagger-behaviour 2.6). Where a range is expected,
 * its least is enough: what a scaler asks for beyond may be on its way, or find no room, and is no fault of the release.
 */
export function podComparisons(
  view: WorkloadView,
  expected: Pick<Expected, 'readyPercent' | 'replicas'>,
): Comparison[] {
  const { observed, desiredReplicas, updatedReplicas, replicas, availableReplicas } = view;
  const old = Math.max(0, replicas - updatedReplicas);
  const enough = expected.replicas?.min ?? Number.POSITIVE_INFINITY;
  const least = Math.min(desiredReplicas, enough);
  return [
    compareText('generation', {
      expected: 'seen by its controller',
      actual: observed ? 'seen by its controller' : 'not seen yet',
      met: observed,
      severity: 'blocks',
      detail: 'the controller has not seen the change yet',
    }),
    compareAtLeast('desired-replicas', {
      value: desiredReplicas,
      min: 1,
      detail: 'it is scaled to zero',
    }),
    compareAtLeast('updated-replicas', {
      value: updatedReplicas,
      min: least,
      detail: `${updatedReplicas} of ${desiredReplicas} pods run the new template`,
    }),
    compareAtMost('old-replicas', { value: old, max: 0, detail: `${old} old pods are terminating` }),
    compareAtLeast('available-replicas', {
      value: availableReplicas,
      min: enoughPods(view, expected),
      detail: `${availableReplicas} of ${desiredReplicas} pods are available`,
    }),
  ];
}

/** One line about what keeps a workload from being ready: its worst fault, else the first difference that blocks. */
export function firstDifference(view: WorkloadView | undefined, expected: Expected): string {
  const blocking = differences(view, expected).filter(({ severity }) => severity === 'blocks');
  const fault = view?.faults.find(({ reason }) => !isStarting(reason));
  return fault ? faultWords(fault) : (blocking[0]?.detail ?? 'nothing differs');
}

const absent: Comparison = {
  name: 'workload',
  expected: 'exists',
  actual: 'absent',
  met: false,
  severity: 'blocks',
  detail: 'it does not exist',
};
