import type { WorkloadView } from '../world.ts';
import { type Comparison, compareAtLeast, compareAtMost, compareText, type Expected } from './comparison.ts';
import { driftComparisons } from './drift-comparisons.ts';
import { enoughPods } from './enough-pods.ts';
import { faultWords, isLost, isStarting } from './fault-words.ts';

/** What the pods run and are made of, beside their number: template, images, endpoints, ports, restarts, fields and faults. */
export function releaseComparisons(view: WorkloadView, expected: Expected): Comparison[] {
  return [
    ...template(view, expected),
    images(view),
    compareAtLeast('ready-pods', {
      value: view.updatedReadyReplicas,
      min: 1,
      detail: 'no pod of the new template is ready',
    }),
    ...endpoints(view, expected),
    ...ports(view),
    ...resolvedImages(view),
    ...replicaRange(view, expected),
    ...restarts(view, expected),
    ...driftComparisons(view),
    faults(view),
  ];
}

function template({ digest }: WorkloadView, expected: Expected): Comparison[] {
  if (expected.digest === undefined) return [];
  const actual = digest ?? 'no digest';
  return [
    compareText('template', {
      expected: expected.digest,
      actual,
      met: digest === expected.digest,
      severity: 'blocks',
      detail: `it was written from ${actual.slice(0, 15)}, not from ${expected.digest.slice(0, 15)}`,
    }),
  ];
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
 * Pods that are ready and that are no endpoints of the port which the Service names get no request. As many as must be available are enough:
 * what is ready beyond that may have become so a moment ago.
 */
function endpoints(view: WorkloadView, expected: Expected): Comparison[] {
  const { endpoints: addresses, updatedReadyReplicas: ready } = view;
  if (addresses === undefined) return [];
  const detail = `${addresses} of ${ready} ready pods are endpoints of the port that their Service names`;
  return [
    compareAtLeast('endpoints', {
      value: addresses,
      min: Math.min(ready, enoughPods(view, expected)),
      detail,
    }),
  ];
}

/** Told only: the pods may listen on more ports than their template names, and then all is well. */
function ports({ undeclaredPorts }: WorkloadView): Comparison[] {
  if (undeclaredPorts === undefined) return [];
  const numbers = undeclaredPorts.join(', ');
  return [
    compareText('ports', {
      expected: 'those that the template declares',
      actual: numbers || 'those that the template declares',
      met: undeclaredPorts.length === 0,
      severity: 'tells',
      detail: `the Service sends requests to port ${numbers}, which no container declares and no probe asks: if nothing listens there, every request fails`,
    }),
  ];
}

/** A tag that was pushed again between two pulls: nobody's fault in the cluster, and worth knowing. */
function resolvedImages({ images: all }: WorkloadView): Comparison[] {
  const most = all.reduce((count, { ids }) => Math.max(count, ids.length), 0);
  if (most === 0) return [];
  const mixed = all.filter(({ ids }) => ids.length > 1);
  const words = mixed.map(({ image, ids }) => `${image} is ${ids.join(' and ')}`).join('; ');
  const detail = `one image name is several images in the pods: ${words}`;
  return [compareAtMost('image-ids', { value: most, max: 1, detail, severity: 'tells' })];
}

function replicaRange({ desiredReplicas }: WorkloadView, { replicas }: Expected): Comparison[] {
  if (!replicas) return [];
  const { min, max } = replicas;
  const range = min === max ? String(min) : `${min} to ${max}`;
  return [
    {
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
    },
  ];
}

function restarts({ restarts: most }: WorkloadView, { maxRestarts }: Expected): Comparison[] {
  if (maxRestarts === undefined) return [];
  const detail = `a container restarted ${most} times, at most ${maxRestarts} are expected`;
  return [compareAtMost('restarts', { value: most, max: maxRestarts, detail, severity: 'fails' })];
}

/** A pod that does not run, though enough others do, is a failed check; a fault of one that is only being replaced is told. */
function faults(view: WorkloadView): Comparison {
  const lost = view.faults.find(isLost);
  const worst = lost ?? view.faults.find(({ reason }) => !isStarting(reason));
  const actual = worst ? faultWords(worst) : 'none';
  return compareText('faults', {
    expected: 'none',
    actual,
    met: worst === undefined,
    severity: lost ? 'fails' : 'tells',
    detail: actual,
  });
}
