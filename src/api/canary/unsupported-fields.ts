/** Valid fields of a Canary that are not acted on, so that nothing is ignored without a message (ADR 8). */

import { fieldPath } from '../problems.ts';
import type { Canary } from './canary.ts';

/** Fields that are not acted on for the same reason. */
interface Row {
  /** Field names from the object's root; `*` matches every item of a list. */
  paths: readonly string[];
  /** Only in objects with such a spec. */
  only?: (spec: Readonly<Record<string, unknown>>) => boolean;
}

const fieldsOfTargets: readonly Row[] = [
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

/** JSON paths of the fields of a Canary that are not acted on. `ignored`: those of its routing provider. */
export function unsupportedFields(canary: Canary, ignored = fieldsOfFewProviders): string[] {
  const rows: readonly Row[] = [...fieldsOfTargets, { paths: ignored }];
  const found = rows
    .filter(({ only }) => !only || only(canary.spec))
    .flatMap(({ paths }) => paths.flatMap((path) => valuesAt(canary, path.split('.'), [])))
    .filter(([, value]) => asksForSomething(value));
  return [...new Set(found.map(([path]) => fieldPath(path)))];
}

/** With what they have no effect, for people. */
export function withoutEffectWith({ spec }: Canary, defaultProvider: string): string {
  const provider = spec.provider ?? `${defaultProvider} (the default)`;
  return `provider ${provider} and a ${spec.targetRef.kind}`;
}

/** Anything but false, `none` or an empty list or object. */
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
