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

/** There is no number of pods to scale. */
function isUnscaled({ targetRef }: Readonly<Record<string, unknown>>): boolean {
  return ['DaemonSet', 'Service'].includes((targetRef as { kind?: string } | undefined)?.kind ?? '');
}

/** The copies of a Service have its ports and its settings. */
function isService({ targetRef }: Readonly<Record<string, unknown>>): boolean {
  return (targetRef as { kind?: string } | undefined)?.kind === 'Service';
}

/** Values of `spec.provider` that this version rolls out with. */
export const supportedProviders = ['kubernetes', 'gatewayapi:v1', 'contour', 'knative', 'native'];

const canaryRows: readonly Row[] = [
  {
    path: 'spec.provider',
    when: (value) => !supportedProviders.includes(String(value)),
    stops: true,
  },
  { path: 'spec.autoscalerRef', only: isUnscaled },
  { path: 'spec.upstreamRef' },
  { path: 'spec.routeRef' },
  { path: 'spec.ingressRef' },
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
];

/** What nothing acts on where the provider has no routes of ours. */
const ignoredWithoutRouter: readonly string[] = ['spec.analysis.mirror'];

/**
 * JSON paths of the fields present in the object that this version does not act on; for a condition and `validate`. `ignored`: those of its
 * routing provider.
 */
export function unsupportedFields(object: Canary | Source, ignored?: readonly string[]): string[] {
  return [...new Set(findUnsupported(object, ignored).map((found) => found.path))];
}

/** The same with whether the field stops the object. */
export function findUnsupported(object: Canary | Source, ignored = ignoredWithoutRouter): UnsupportedField[] {
  const rows: readonly Row[] =
    object.kind === 'Canary' ? [...canaryRows, ...ignored.map((path) => ({ path }))] : [];
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
