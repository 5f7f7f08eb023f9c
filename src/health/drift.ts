import { type Comparison, compareAtLeast, compareAtMost, compareText } from './comparison.ts';
import type { ConfigCopyView, ForeignChange, WorkloadView } from './workload-view.ts';

/** What a release is: the template of pods; of a Service which pods get its requests, and how. */
const ofRelease =
  /^spec\.(template|selector|ports|type|externalName|sessionAffinity|internalTrafficPolicy|publishNotReadyAddresses|trafficDistribution)/;

/** Whether a changed field, `spec.template.spec.containers[app].image`, is of what was released, and no setting beside it. */
export function isOfRelease(path: string): boolean {
  return ofRelease.test(path);
}

/** Differences of one object that are reported. */
const mostFields = 3;

/** The copies of its ConfigMaps and Secrets exist with the content of this release: without them its pods are not what was tried. */
export function copyComparisons({ configCopies: copies }: WorkloadView): Comparison[] {
  if (copies.length === 0) return [];
  const broken = copies.filter(isBroken);
  return [
    compareAtLeast('config-copies', {
      value: copies.length - broken.length,
      min: copies.length,
      detail: broken.map((copy) => `${copyName(copy)} ${copyStates[copy.state]}`).join('; '),
    }),
  ];
}

/** What other managers changed: reported, and overwritten by the next release (design section 3). */
export function driftComparisons({ drift, configCopies }: WorkloadView): Comparison[] {
  const changed = configCopies.flatMap((copy) =>
    copy.drift ? [{ name: copyName(copy), change: copy.drift }] : [],
  );
  const values = compareAtMost('config-values', {
    value: changed.length,
    max: 0,
    detail: changed.map(({ name, change }) => `${describeChange(change)} of ${name}`).join('; '),
    severity: 'tells',
  });
  const actual = drift ? `changed by ${drift.manager}` : 'as rendered';
  const fields = compareText('fields', {
    expected: 'as rendered',
    actual,
    met: drift === undefined,
    severity: 'tells',
    detail: drift ? `${describeChange(drift)} of the workload` : '',
  });
  return configCopies.length > 0 ? [fields, values] : [fields];
}

/** A copy that has to be written again: it is missing, or is that of another release. */
export function isBroken({ state }: ConfigCopyView): boolean {
  return state === 'missing' || state === 'otherRelease';
}

/** `ConfigMap settings-primary`. */
export function copyName({ kind, name }: ConfigCopyView): string {
  return `${kind} ${name}`;
}

const copyStates: Readonly<Record<ConfigCopyView['state'], string>> = {
  asWritten: 'is as written',
  missing: 'is missing',
  otherRelease: 'is that of another release',
  outdated: 'is older than its original',
  foreign: 'was changed',
};

/** `argocd changed spec.replicas (0, not 2)`. */
export function describeChange({ manager, fields }: ForeignChange): string {
  if (fields.length === 0) return `${manager} changed fields`;
  const shown = fields
    .slice(0, mostFields)
    .map(({ path, expected, actual }) => `${path} (${actual ?? 'gone'}, not ${expected})`);
  const more = fields.length > mostFields ? ' and more' : '';
  return `${manager} changed ${shown.join(', ')}${more}`;
}
