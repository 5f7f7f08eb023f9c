import {
  type Comparison,
  compareAtLeast,
  compareAtMost,
  compareText,
  type Expected,
  enoughPods,
} from './comparison.ts';
import { copyComparisons, driftComparisons } from './drift.ts';
import { describeFault, isReadinessLost, isStarting, type WorkloadView } from './workload-view.ts';

/** Compares every expected property of a workload with the actual one, in the order in which a rollout reaches them. */
export function compare(view: WorkloadView | undefined, expected: Expected): Comparison[] {
  if (!view) return [absent];
  const all = [
    ...copyComparisons(view),
    ...podComparisons(view, expected),
    template(view, expected),
    images(view),
    compareAtLeast('ready-pods', {
      value: view.updatedReadyReplicas,
      min: 1,
      detail: 'no pod of the new template is ready',
    }),
    endpoints(view, expected),
    ports(view),
    imageIds(view),
    replicaRange(view, expected),
    restarts(view, expected),
    ...driftComparisons(view),
    faults(view),
  ];
  return all.filter((comparison) => comparison !== undefined);
}

/** Properties that differ: the findings of Flagger issue 1592. */
export function differences(view: WorkloadView | undefined, expected: Expected): Comparison[] {
  return compare(view, expected).filter(({ met }) => !met);
}

/**
 * Enough pods of the current template are available, and none of an older one is left (flagger-behaviour 2.6). If a range is expected, its
 * minimum is enough: further pods that a scaler asks for may still be starting, or find no node, which is no fault of the release.
 */
export function podComparisons(
  view: WorkloadView,
  expected: Pick<Expected, 'readyPercent' | 'replicas'>,
): Comparison[] {
  const { observed, desiredReplicas, updatedReplicas, replicas, readyReplicas, availableReplicas } = view;
  const waiting = readyReplicas - availableReplicas;
  const old = Math.max(0, replicas - updatedReplicas);
  const least = Math.min(desiredReplicas, expected.replicas?.min ?? Number.POSITIVE_INFINITY);
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
    compareAtMost('old-replicas', {
      value: old,
      max: 0,
      detail: `${old} old ${old === 1 ? 'pod is' : 'pods are'} terminating`,
    }),
    compareAtLeast('available-replicas', {
      value: availableReplicas,
      min: enoughPods(view, expected),
      detail: `${availableReplicas} of ${desiredReplicas} pods are available${waiting > 0 ? `; ${waiting} ready for less than minReadySeconds` : ''}`,
    }),
  ];
}

const absent: Comparison = {
  name: 'workload',
  expected: 'exists',
  actual: 'absent',
  met: false,
  severity: 'blocks',
  detail: 'it does not exist',
};

function template({ digest }: WorkloadView, expected: Expected): Comparison | undefined {
  if (expected.digest === undefined) return undefined;
  const actual = digest ?? 'no digest';
  return compareText('template', {
    expected: expected.digest,
    actual,
    met: digest === expected.digest,
    severity: 'blocks',
    detail: `it was written from ${actual.slice(0, 15)}, not from ${expected.digest.slice(0, 15)}`,
  });
}

function images({ images: all, imagesMatch }: WorkloadView): Comparison {
  const wanted = all.map(({ container, image }) => `${container}=${image}`).join(' ');
  const found = all.flatMap(({ container, found: names }) => names.map((name) => `${container}=${name}`));
  return compareText('images', {
    expected: wanted || 'those of the template',
    actual: found.join(' ') || (imagesMatch ? 'those of the template' : 'others'),
    met: imagesMatch,
    severity: 'blocks',
    detail: `pods run other images than the template names: ${found.join(' ')}`,
  });
}

/**
 * Ready pods that are not endpoints of the port that the Service names get no request. As many as must be available are enough: further pods
 * may have become ready a moment ago.
 */
function endpoints(view: WorkloadView, expected: Expected): Comparison | undefined {
  const { endpoints: addresses, updatedReadyReplicas: ready, unreachedPort } = view;
  if (addresses === undefined) return undefined;
  const port = unreachedPort ? `port ${unreachedPort} of their Service` : 'the port that their Service names';
  const detail = `${addresses} of ${ready} ready pods are endpoints of ${port}`;
  return compareAtLeast('endpoints', {
    value: addresses,
    min: Math.min(ready, enoughPods(view, expected)),
    detail,
  });
}

/** Only reported: pods may listen on more ports than their template names. */
function ports({ undeclaredPorts }: WorkloadView): Comparison | undefined {
  if (undeclaredPorts === undefined) return undefined;
  const numbers = undeclaredPorts.join(', ');
  return compareText('ports', {
    expected: 'those that the template declares',
    actual: numbers || 'those that the template declares',
    met: undeclaredPorts.length === 0,
    severity: 'tells',
    detail: `the Service sends requests to port ${numbers}, which no container declares and no probe asks: if nothing listens there, every request fails`,
  });
}

/** A tag that was pushed again between two pulls, so that pods run different images; only reported. */
function imageIds({ images: all }: WorkloadView): Comparison | undefined {
  const most = all.reduce((count, { ids }) => Math.max(count, ids.length), 0);
  if (most === 0) return undefined;
  const mixed = all
    .filter(({ ids }) => ids.length > 1)
    .map(({ image, ids }) => `${image} is ${ids.join(' and ')}`);
  const detail = `one image name is several images in the pods: ${mixed.join('; ')}`;
  return compareAtMost('image-ids', { value: most, max: 1, detail, severity: 'tells' });
}

function replicaRange({ desiredReplicas }: WorkloadView, { replicas }: Expected): Comparison | undefined {
  if (!replicas) return undefined;
  const { min, max } = replicas;
  const range = min === max ? String(min) : `${min} to ${max}`;
  return {
    ...compareText('replicas', {
      expected: range,
      actual: String(desiredReplicas),
      met: desiredReplicas >= min && desiredReplicas <= max,
      severity: 'tells',
      detail: `it asks for ${desiredReplicas} pods, expected ${range}`,
    }),
    value: desiredReplicas,
    min,
    max,
  };
}

function restarts({ restarts: most }: WorkloadView, { maxRestarts }: Expected): Comparison | undefined {
  if (maxRestarts === undefined) return undefined;
  const detail = `a container restarted ${most} times, at most ${maxRestarts} are expected`;
  return compareAtMost('restarts', { value: most, max: maxRestarts, detail, severity: 'fails' });
}

/** A pod that does not run is a failed check, even if enough others do; faults of a pod that is being replaced are only reported. */
function faults(view: WorkloadView): Comparison {
  const lost = view.faults.find(isReadinessLost);
  const worst = lost ?? view.faults.find(({ reason }) => !isStarting(reason));
  const actual = worst ? describeFault(worst) : 'none';
  return compareText('faults', {
    expected: 'none',
    actual,
    met: worst === undefined,
    severity: lost ? 'fails' : 'tells',
    detail: actual,
  });
}
