/**
 * Valid fields that this version does not act on yet, so that nothing is ignored in silence. Delete a row when its feature
 * lands. `stops`: going on without the field would be unsafe or impossible, so the object waits (its semantic check fails).
 */
import type { Canary } from './canary/canary.ts';
import { fieldPath } from './problems.ts';
import type { Source } from './source/source.ts';

interface Row {
  /** Field names from the object's root; `*` stands for every item of a list. */
  path: string;
  /** Whether this value asks for what is missing. Default: anything but false, `none` or an empty list or object. */
  when?: (value: unknown) => boolean;
  /** Only in objects with such a spec. */
  only?: (spec: Readonly<Record<string, unknown>>) => boolean;
  stops?: true;
}

/** A field found in an object. */
interface UnsupportedField {
  path: string;
  stops: boolean;
}

function otherThan(...values: string[]): (value: unknown) => boolean {
  return (value) => !values.includes(String(value));
}

function isContour({ provider }: Readonly<Record<string, unknown>>): boolean {
  return provider === 'contour';
}

/** There is no number of pods to scale. */
function isUnscaled({ targetRef }: Readonly<Record<string, unknown>>): boolean {
  return ['DaemonSet', 'Service'].includes((targetRef as { kind?: string } | undefined)?.kind ?? '');
}

/** A Knative Service has no route of ours before it. */
function isKnative({ provider }: Readonly<Record<string, unknown>>): boolean {
  return provider === 'knative';
}

/** The copies of a Service have its ports and its settings. */
function isService({ targetRef }: Readonly<Record<string, unknown>>): boolean {
  return (targetRef as { kind?: string } | undefined)?.kind === 'Service';
}

/** Requests are mirrored by Gateway API routes, while there are iterations at weight 0. */
function cannotMirror({ provider, analysis }: Readonly<Record<string, unknown>>): boolean {
  return provider !== 'gatewayapi:v1' || !(analysis as { iterations?: number } | undefined)?.iterations;
}

const canaryRows: readonly Row[] = [
  {
    path: 'spec.provider',
    when: otherThan('kubernetes', 'gatewayapi:v1', 'contour', 'knative', 'native'),
    stops: true,
  },
  { path: 'spec.autoscalerRef', only: isUnscaled },
  { path: 'spec.upstreamRef' },
  { path: 'spec.routeRef' },
  { path: 'spec.ingressRef' },
  { path: 'spec.analysis.mirror', only: cannotMirror },
  { path: 'spec.analysis.mirrorWeight' },
  { path: 'spec.analysis.match.*.sourceLabels' },
  { path: 'spec.service.gateways' },
  { path: 'spec.service.trafficPolicy' },
  { path: 'spec.service.meshName' },
  { path: 'spec.service.backends' },
  { path: 'spec.service.delegation' },
  { path: 'spec.service.portName', only: isService },
  { path: 'spec.service.targetPort', only: isService },
  { path: 'spec.service.appProtocol', only: isService },
  { path: 'spec.service.portDiscovery', only: isService },
  { path: 'spec.service.headless', only: isService },
  { path: 'spec.service.trafficDistribution', only: isService },
  { path: 'spec.service.unmanagedMetadata', only: isService },
  { path: 'spec.service.hosts', only: isKnative },
  { path: 'spec.service.gatewayRefs', only: isKnative },
  { path: 'spec.service.timeout', only: isKnative },
  { path: 'spec.service.backendTimeout', only: isKnative },
  { path: 'spec.service.retries', only: isKnative },
  { path: 'spec.service.match', only: isKnative },
  { path: 'spec.service.headers', only: isKnative },
  { path: 'spec.service.rewrite', only: isKnative },
  { path: 'spec.service.mirror', only: isKnative },
  { path: 'spec.service.corsPolicy', only: isKnative },
  { path: 'spec.service.apex', only: isKnative },
  { path: 'spec.service.primary', only: isKnative },
  { path: 'spec.service.canary', only: isKnative },
  { path: 'spec.service.hosts', only: isContour },
  { path: 'spec.service.headers', only: isContour },
  { path: 'spec.service.rewrite', only: isContour },
  { path: 'spec.service.mirror', only: isContour },
  { path: 'spec.service.corsPolicy', only: isContour },
  { path: 'spec.service.gatewayRefs', only: isContour },
  { path: 'spec.service.backendTimeout', only: isContour },
];

const sourceRows: readonly Row[] = [];

/** JSON paths of the fields present in the object that this version does not act on; for a condition and `validate`. */
export function unsupportedFields(object: Canary | Source): string[] {
  return [...new Set(findUnsupported(object).map((found) => found.path))];
}

/** The same with whether the field stops the object. */
export function findUnsupported(object: Canary | Source): UnsupportedField[] {
  const rows = object.kind === 'Canary' ? canaryRows : sourceRows;
  return rows
    .filter(({ only }) => !only || only(object.spec))
    .flatMap((row) =>
      valuesAt(object, row.path.split('.'), [])
        .filter(([, value]) => (row.when ?? asksForSomething)(value))
        .map(([path]) => ({ path: fieldPath(path), stops: row.stops === true })),
    );
}

function asksForSomething(value: unknown): boolean {
  if (value === false || value === 'none' || value === '') return false;
  return typeof value !== 'object' || Object.keys(value ?? {}).length > 0;
}

function valuesAt(
  value: unknown,
  pattern: readonly string[],
  path: readonly PropertyKey[],
): Array<[path: readonly PropertyKey[], value: unknown]> {
  const [step, ...rest] = pattern;
  if (step === undefined) return value === undefined ? [] : [[path, value]];
  if (step === '*') {
    if (!Array.isArray(value)) return [];
    return value.flatMap((item, index) => valuesAt(item, rest, [...path, index]));
  }
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return [];
  return valuesAt((value as Record<string, unknown>)[step], rest, [...path, step]);
}
