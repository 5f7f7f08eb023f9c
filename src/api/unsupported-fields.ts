/**
 * Valid fields that this version does not act on yet, so that nothing is ignored without a message. Delete a path when its
 * feature lands. `stops`: going on without the field would be unsafe or impossible, so the object waits (its semantic check fails).
 */
import type { Canary } from './canary/canary.ts';
import { fieldPath } from './problems.ts';
import type { Source } from './source/source.ts';

/** Fields that are not acted on for the same reason. */
interface Row {
  /** Field names from the object's root; `*` stands for every item of a list. */
  paths: readonly string[];
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

/** Values of `spec.provider` that this version rolls out with. */
export const supportedProviders = [
  'kubernetes',
  'gatewayapi:v1',
  'gatewayapi:v1beta1',
  'contour',
  'knative',
  'nginx',
  'skipper',
  'traefik',
  'apisix',
  'istio',
  'linkerd',
  'smi:v1alpha1',
  'smi:v1alpha2',
  'smi:v1alpha3',
  'osm',
  'appmesh',
  'appmesh:v1beta2',
  'gloo',
  'kuma',
  'native',
];

const canaryRows: readonly Row[] = [
  {
    paths: ['spec.provider'],
    when: (value) => !supportedProviders.includes(String(value)),
    stops: true,
  },
  {
    // There is no number of pods to scale.
    paths: ['spec.autoscalerRef'],
    only: ({ targetRef }) => ['DaemonSet', 'Service'].includes(kindIn(targetRef)),
  },
  {
    // The copies of a Service have its ports and its settings.
    paths: [
      'spec.service.portName',
      'spec.service.targetPort',
      'spec.service.appProtocol',
      'spec.service.portDiscovery',
      'spec.service.headless',
      'spec.service.trafficDistribution',
      'spec.service.unmanagedMetadata',
    ],
    only: ({ targetRef }) => kindIn(targetRef) === 'Service',
  },
];

/** Fields that only some routing providers act on; each one names the others among those that it ignores. */
export const fieldsOfFewProviders: readonly string[] = [
  'spec.upstreamRef',
  'spec.routeRef',
  'spec.ingressRef',
  'spec.analysis.mirrorWeight',
  'spec.analysis.match.*.sourceLabels',
  'spec.service.gateways',
  'spec.service.trafficPolicy',
  'spec.service.meshName',
  'spec.service.backends',
  'spec.service.delegation',
  'spec.analysis.mirror',
];

function kindIn(reference: unknown): string {
  return (reference as { kind?: string } | undefined)?.kind ?? '';
}

/**
 * JSON paths of the fields present in the object that this version does not act on; for a condition and `validate`. `ignored`: those of its
 * routing provider.
 */
export function unsupportedFields(object: Canary | Source, ignored?: readonly string[]): string[] {
  return [...new Set(findUnsupported(object, ignored).map((found) => found.path))];
}

/** The same with whether the field stops the object. */
export function findUnsupported(object: Canary | Source, ignored = fieldsOfFewProviders): UnsupportedField[] {
  const rows: readonly Row[] = object.kind === 'Canary' ? [...canaryRows, { paths: ignored }] : [];
  return rows
    .filter(({ only }) => !only || only(object.spec))
    .flatMap(({ paths, when = asksForSomething, stops = false }) =>
      paths
        .flatMap((path) => valuesAt(object, path.split('.'), []))
        .filter(([, value]) => when(value))
        .map(([path]) => ({ path: fieldPath(path), stops })),
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
