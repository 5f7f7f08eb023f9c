import type { AlertProvider } from '../../api/alert-provider.ts';
import {
  annotationPrefix,
  canaryKeys,
  isWrongPause,
  pauseAnnotation,
  unknownVerbs,
} from '../../api/annotations.ts';
import type { Canary } from '../../api/canary/canary.ts';
import { unsupportedFields, withoutEffectWith } from '../../api/canary/unsupported-fields.ts';
import { checkCanary } from '../../api/canary/validate.ts';
import { freezeLabel, parseFreeze } from '../../api/freeze.ts';
import { apiVersionOf, type KindName, kindNames } from '../../api/kinds/kinds.ts';
import { parseKind } from '../../api/kinds/parse.ts';
import { groupOf, type KubernetesObject } from '../../api/kubernetes.ts';
import type { MetricTemplate } from '../../api/metric-template.ts';
import { nearest, type Problem } from '../../api/problems.ts';
import type { Source } from '../../api/source/source.ts';
import { windowProblems } from '../../engine/windows.ts';
import { metricProvider, supportedMetricProviders } from '../../providers/metrics/table.ts';
import { routerFor, supportedProviders } from '../../providers/routing/table.ts';
import { sourceFindings } from '../../server/source-files.ts';
import { kubernetesProblems } from './kubernetes-objects.ts';

/** `problem`: it is refused. `warning`: it is taken, perhaps not as meant. `note`: valid, but without effect in this version. */
export type Severity = 'problem' | 'warning' | 'note';

/** Something to say about a field of an object. */
interface Remark extends Problem {
  readonly severity: Severity;
}

/** What the remarks depend on besides the object. */
export interface KindOptions {
  /** Unknown fields are problems. */
  readonly strict: boolean;
  /** Provider of Canaries that name none. */
  readonly defaultProvider: string;
  readonly minIntervalMs: number;
  /** References to other namespaces are problems (unless `--cross-namespace-refs`). */
  readonly forbidsOtherNamespaces: boolean;
}

/** Remarks on one object of our kinds or of Kubernetes'; none for any other object. */
export function remarksOn(object: KubernetesObject, options: KindOptions): Remark[] {
  const name = kindOf(object);
  if (!name)
    return [
      ...as('problem', [...kubernetesProblems(object), ...freezeProblems(object)]),
      ...as('warning', jobDoubts(object)),
    ];
  const result = parseKind(name, object, { strict: options.strict });
  const warnings = as('warning', result.warnings);
  if (!result.ok) return [...as('problem', result.problems), ...warnings];
  return [...warnings, ...(furtherChecks[name]?.(result.value as never, options) ?? [])];
}

/** What was deleted is drift. */
function jobDoubts({ apiVersion, kind, spec }: KubernetesObject): Problem[] {
  const { ttlSecondsAfterFinished } = (spec ?? {}) as { ttlSecondsAfterFinished?: unknown };
  if (kind !== 'Job' || apiVersion !== 'batch/v1' || typeof ttlSecondsAfterFinished !== 'number') return [];
  const message =
    'Kubernetes deletes the finished Job after this time; then the Source applies it again, and it runs again; leave the field out';
  return [{ path: 'spec.ttlSecondsAfterFinished', message }];
}

/** What makes a freeze one that cannot be read. */
function freezeProblems(object: KubernetesObject): Problem[] {
  const { apiVersion, kind, metadata } = object;
  if (apiVersion !== 'v1' || kind !== 'ConfigMap' || metadata.labels?.[freezeLabel] === undefined) return [];
  const read = parseFreeze(object);
  const [window] = typeof read === 'string' ? [] : windowProblems(read.windows, Date.now());
  const why = typeof read === 'string' ? read : window && `windows: ${window.message}`;
  if (why === undefined) return [];
  return [{ path: 'data', message: `${why}; until this is corrected, everything in its scope is frozen` }];
}

/** Annotations that look like requests and are none. */
function requestDoubts({ metadata: { annotations } }: Canary): Problem[] {
  const path = `metadata.annotations["${pauseAnnotation}"]`;
  const pause = isWrongPause(annotations?.[pauseAnnotation])
    ? [{ path, message: 'is ignored: only "true" pauses' }]
    : [];
  const unknown = unknownVerbs(annotations).map((verb) => {
    const near = nearest(verb, canaryKeys);
    const hint = near ? `; did you mean ${annotationPrefix}${near}?` : '';
    return {
      path: `metadata.annotations["${annotationPrefix}${verb}"]`,
      message: `is not an annotation that Holdfast knows, and is ignored${hint}`,
    };
  });
  return [...pause, ...unknown];
}

const furtherChecks: {
  readonly [Name in KindName]?: (object: never, options: KindOptions) => Remark[];
} = {
  Canary: canaryRemarks,
  Source: sourceRemarks,
  MetricTemplate: templateRemarks,
  AlertProvider: ({ spec }: AlertProvider) => addressRemarks(spec.address, 'spec.address'),
};

/** Which of our kinds this is; a wrong version of our groups counts, so that it is named. */
export function kindOf(object: KubernetesObject): KindName | undefined {
  const group = groupOf(object.apiVersion);
  return kindNames.find((name) => name === object.kind && groupOf(apiVersionOf(name)) === group);
}

function canaryRemarks(canary: Canary, options: KindOptions): Remark[] {
  const { defaultProvider, minIntervalMs, forbidsOtherNamespaces } = options;
  const checked = checkCanary(canary, {
    defaultProvider,
    forbidsOtherNamespaces,
    intervalFloorMs: minIntervalMs,
  });
  return [
    ...as('problem', checked.problems),
    ...as('warning', [...checked.warnings, ...requestDoubts(canary)]),
    ...routeRemarks(canary, defaultProvider),
    ...unsupportedFields(canary, routerFor(canary.spec.provider ?? defaultProvider)?.ignores(canary)).map(
      (path): Remark => {
        const message = `is valid, but has no effect with ${withoutEffectWith(canary, defaultProvider)}`;
        return { severity: 'note', path, message };
      },
    ),
  ];
}

function routeRemarks(canary: Canary, defaultProvider: string): Remark[] {
  const provider = canary.spec.provider ?? defaultProvider;
  const router = routerFor(provider);
  if (router) {
    return router.check(canary).map(({ severity, path, message }): Remark => {
      return { severity: severity === 'error' ? 'problem' : 'warning', path, message };
    });
  }
  // Other named providers are reported as fields that this version does not act on.
  if (canary.spec.provider !== undefined) return [];
  const message = `is missing, and the default provider ${defaultProvider} is not supported; supported: ${supportedProviders().join(', ')}`;
  return [{ severity: 'problem', path: 'spec.provider', message }];
}

function sourceRemarks(source: Source, { forbidsOtherNamespaces }: KindOptions): Remark[] {
  const { problems, warnings } = sourceFindings(source, { forbidsOtherNamespaces });
  return [...as('problem', problems), ...as('warning', warnings)];
}

function addressRemarks(address: string | undefined, path: string): Remark[] {
  if (address === undefined || /^https?:\/\//.test(address)) return [];
  return [{ severity: 'problem', path, message: 'must begin with http:// or https://' }];
}

function templateRemarks({ spec }: MetricTemplate): Remark[] {
  const { type, address } = spec.provider;
  if (metricProvider(type)) return addressRemarks(address, 'spec.provider.address');
  const message = `${type} is valid, but this version only supports ${supportedMetricProviders().join(', ')}; checks that use it have no value`;
  return [{ severity: 'warning', path: 'spec.provider.type', message }];
}

function as(severity: Severity, problems: readonly Problem[]): Remark[] {
  return problems.map(({ path, message }) => ({ severity, path, message }));
}
