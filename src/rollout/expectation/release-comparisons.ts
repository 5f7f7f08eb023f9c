import type { WorkloadView } from '../world.ts';
import { type Comparison, compareAtLeast, compareAtMost, compareText, type Expected } from './comparison.ts';
import { driftComparisons } from './drift-comparisons.ts';
import { faultWords, isStarting } from './fault-words.ts';

/** What the pods run and are made of, beside their number: template, images, endpoints, restarts, fields and faults. */
export function releaseComparisons(view: WorkloadView, expected: Expected): Comparison[] {
  return [
    ...template(view, expected),
    images(view),
    compareAtLeast('ready-pods', {
      value: view.updatedReadyReplicas,
      min: 1,
      detail: 'no pod of the new template is ready',
    }),
    ...endpoints(view),
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

/** Pods that are ready and that the Service does not select get no request. */
function endpoints({ endpoints: selected, updatedReadyReplicas }: WorkloadView): Comparison[] {
  if (selected === undefined) return [];
  const detail = `the Service selects ${selected} of ${updatedReadyReplicas} ready pods`;
  return [compareAtLeast('endpoints', { value: selected, min: updatedReadyReplicas, detail })];
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

/** Told only: a fault that matters shows in the counts as well. */
function faults({ faults: all }: WorkloadView): Comparison {
  const worst = all.find(({ reason }) => !isStarting(reason));
  const actual = worst ? faultWords(worst) : 'none';
  return compareText('faults', {
    expected: 'none',
    actual,
    met: worst === undefined,
    severity: 'tells',
    detail: actual,
  });
}
