/** Provider `contour`: an HTTPProxy called as the apex, to be included from a root proxy (flagger-behaviour.md 3.5). */
import type { AnalysisMatch } from '../../api/canary/analysis.ts';
import type { Canary } from '../../api/canary/canary.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { RouteTarget } from '../../api/observed.ts';
import type { HeaderMatch } from '../../api/schema.ts';
import type { RouteContext, RouteProblem } from '../../contracts/routing.ts';
import {
  type BackendFields,
  foreignReading,
  foreignTraffic,
  hasOnlyForeignBackends,
  withForeignBackends,
} from './foreign-backends.ts';
import { envoyMetrics, literal } from './request-metrics.ts';
import { plainBackends, withRouteRef } from './route-ref.ts';
import {
  assertWeights,
  conditionsBut,
  findRoute,
  ignoredBut,
  isAbTest,
  percentOf,
  portOf,
  type RouteReading,
  routeMetadata,
  unreadable,
  withoutEffect,
} from './router.ts';

const httpProxy = { apiVersion: 'projectcontour.io/v1', kind: 'HTTPProxy' };

const classAnnotation = 'projectcontour.io/ingress.class';

const ignored: readonly string[] = [
  ...ignoredBut(),
  'spec.service.hosts',
  'spec.service.headers',
  'spec.service.rewrite',
  'spec.service.mirror',
  'spec.service.corsPolicy',
  'spec.service.gatewayRefs',
  'spec.service.backendTimeout',
  ...conditionsBut('uri'),
];

/** The router of provider `contour`. */
export const contour = withRouteRef(
  {
    name: 'contour',
    kinds: [httpProxy],
    resources: ['httpproxies.projectcontour.io'],
    requests: {
      ...envoyMetrics,
      selector: ({ namespace, ownService }) =>
        `envoy_cluster_name=~"${literal(namespace)}_${literal(ownService)}_[0-9a-zA-Z-]+"`,
    },
    apexFollowsTraffic: false,
    ignores: () => ignored,
    check,
    objects: (context, target, live) => [proxy(context, target, findRoute(context, httpProxy, live))],
    read,
    isSucceededBy: (context, object) => hasOnlyForeignBackends(context, object, httpProxyBackends),
  },
  {
    kind: httpProxy,
    rules: 'routes',
    backends: 'services',
    serviceOf: ({ name }) => String(name),
    ...plainBackends,
    refusal: (live) => refusal(live as HttpProxy),
  },
);

/** Where an HTTPProxy names its backends. */
const httpProxyBackends: BackendFields = { rules: 'routes', backends: 'services', unweighted: 0 };

function proxy(
  context: RouteContext,
  target: RouteTarget,
  live: KubernetesObject | undefined,
): KubernetesObject {
  assertWeights(target);
  const ingressClassName = context.settings?.ingressClass;
  const metadata = routeMetadata(context, live);
  const wanted = {
    ...httpProxy,
    // Contour reads the annotation first.
    metadata: ingressClassName
      ? { ...metadata, annotations: { ...metadata.annotations, [classAnnotation]: ingressClassName } }
      : metadata,
    spec: {
      ...(ingressClassName ? { ingressClassName } : {}),
      routes: routes(context, target),
    },
  };
  return withForeignBackends(context, { wanted, live }, target, httpProxyBackends);
}

/** By the path prefix of the first match. A/B: one route for each match, by weight, and one that sends all other requests to the primary. Otherwise one route by weight. */
function routes(context: RouteContext, target: RouteTarget): object[] {
  const prefix = context.canary.spec.service?.match?.[0]?.uri?.prefix || '/';
  if (!target.matched || !isAbTest(context)) return [route(context, [{ prefix }], target)];
  const matches = context.canary.spec.analysis?.match ?? [];
  return [
    ...matches.map((match) => route(context, abConditions(prefix, match), target)),
    route(context, [{ prefix }], { primaryWeight: 100, canaryWeight: 0 }),
  ];
}

type Weights = Pick<RouteTarget, 'primaryWeight' | 'canaryWeight'>;

function route(
  context: RouteContext,
  conditions: object[],
  { primaryWeight, canaryWeight }: Weights,
): object {
  const { metadata, spec } = context.canary;
  const { timeout, retries } = spec.service ?? {};
  // The header tells Linkerd, if it is the mesh behind Contour, the intended Service.
  const backend = (side: 'primary' | 'canary', weight: number) => {
    const [name, port] = [context.names[side], portOf(context, side)];
    const value = `${name}.${metadata.namespace ?? 'default'}.svc.cluster.local:${port}`;
    return { name, port, weight, requestHeadersPolicy: { set: [{ name: 'l5d-dst-override', value }] } };
  };
  return {
    conditions,
    ...(timeout ? { timeoutPolicy: { response: timeout, idle: '5m' } } : {}),
    ...(retries ? { retryPolicy: retryPolicy(retries) } : {}),
    services: [backend('primary', primaryWeight), backend('canary', canaryWeight)],
  };
}

function retryPolicy(retries: {
  attempts?: number | undefined;
  perTryTimeout?: string | undefined;
  retryOn?: string | undefined;
}): object {
  const { attempts, perTryTimeout, retryOn } = retries;
  return {
    ...(attempts === undefined ? {} : { count: attempts }),
    ...(perTryTimeout ? { perTryTimeout } : {}),
    ...(retryOn ? { retryOn: retryOn.split(',').map((cause) => cause.trim()) } : {}),
  };
}

interface HttpProxy extends KubernetesObject {
  spec: { routes?: Array<{ services?: Array<{ name: string; weight?: number }> }> };
  status?: {
    currentStatus?: string;
    description?: string;
    conditions?: Array<{
      type: string;
      status: string;
      observedGeneration?: number;
      errors?: Array<{ message?: string }>;
    }>;
  };
}

function read(context: RouteContext, live: readonly KubernetesObject[]): RouteReading | undefined {
  const found = findRoute(context, httpProxy, live) as HttpProxy | undefined;
  if (!found) return undefined;
  const { primary, canary, apex } = context.names;
  const others = foreignTraffic(context, found, httpProxyBackends);
  if (others === 'serving') return foreignReading(context, `HTTPProxy ${apex}`, refusal(found));
  const named = others && { others };
  const weights = (found.spec.routes ?? []).flatMap(({ services = [] }) => {
    const weightOf = (name: string): number | undefined => {
      const backend = services.find((one) => one.name === name);
      return backend && (backend.weight ?? 0);
    };
    return percentOf(weightOf(primary), weightOf(canary)) ?? [];
  });
  const [split] = weights;
  if (!split) {
    const message = `HTTPProxy ${apex}: no route has weights for ${primary} and ${canary}`;
    return { ...unreadable(message), ...named };
  }
  const problem = refusal(found);
  return {
    ...split,
    mirrored: false,
    matched: weights.length > 1,
    accepted: problem === undefined,
    ...(problem ? { problem } : {}),
    ...named,
  };
}

/** Why Contour has not taken the current generation, undefined when it has. The condition alone says which generation is meant. */
function refusal({ metadata, status }: HttpProxy): string | undefined {
  const { name, generation = 0 } = metadata;
  const valid = status?.conditions?.find(({ type }) => type === 'Valid');
  if (!status?.currentStatus || !valid)
    return `HTTPProxy ${name}: Contour has not reported a status yet; check that it runs and serves this ingress class`;
  if ((valid.observedGeneration ?? 0) < generation)
    return `HTTPProxy ${name}: Contour has not observed generation ${generation} yet; check that it runs`;
  if (status.currentStatus === 'valid' && valid.status === 'True') return undefined;
  if (status.currentStatus === 'orphaned')
    return `HTTPProxy ${name} is not included by a root HTTPProxy, so it gets no traffic; add it to the includes of one`;
  const detail = valid.errors?.map(({ message }) => message ?? '').join('; ') || status.description || '';
  return `HTTPProxy ${name} is ${status.currentStatus}: ${detail}`;
}

// From Flagger's matches to HTTPProxy conditions (flagger-behaviour.md 3.5).

type Condition = Record<string, unknown>;

/**
 * Conditions of one A/B match, all of which must hold. Contour compares headers with exact, contains and regex: a prefix or suffix becomes
 * `contains`, as in Flagger.
 */
function abConditions(prefix: string, { headers = {}, queryParams = {} }: AnalysisMatch): Condition[] {
  const byName = ([a]: [string, unknown], [b]: [string, unknown]) => (a < b ? -1 : 1);
  const comparison = ({ exact, regex }: HeaderMatch, otherwise: Condition): Condition => {
    if (exact) return { exact };
    return regex ? { regex } : otherwise;
  };
  return [
    { prefix },
    ...Object.entries(headers)
      .sort(byName)
      .map(([name, value]) => {
        const contains = value.prefix ?? value.suffix;
        return { header: { name, ...comparison(value, { contains }) } };
      }),
    ...Object.entries(queryParams)
      .sort(byName)
      .map(([name, value]) => ({
        queryParameter: { name, ...comparison(value, { prefix: value.prefix }) },
      })),
  ];
}

/** What HTTPProxy cannot express, by field. */
function check({ spec }: Canary): RouteProblem[] {
  const problems: RouteProblem[] = [];
  const report = (severity: RouteProblem['severity'], path: string, message: string): void => {
    problems.push({ severity, path, message });
  };
  const [first, ...others] = spec.service?.match ?? [];
  if (others.length > 0)
    report('warning', 'spec.service.match', 'only the first match counts with provider contour');
  if (first && !first.uri?.prefix)
    report(
      'warning',
      'spec.service.match[0].uri',
      'provider contour takes the prefix only; the route gets all paths',
    );
  (spec.analysis?.match ?? []).forEach((match, index) => {
    const path = `spec.analysis.match[${index}]`;
    const values = [...Object.values(match.headers ?? {}), ...Object.values(match.queryParams ?? {})];
    if (values.length === 0)
      report('error', path, 'needs headers or queryParams: Contour has no other A/B condition');
    if (values.some((value: HeaderMatch) => !value.exact && !value.regex && !value.prefix && !value.suffix))
      report('error', path, 'every header and query parameter needs a text to compare with');
    for (const [name, { prefix, suffix }] of Object.entries(match.headers ?? {}))
      if (prefix || suffix)
        report(
          'warning',
          `${path}.headers[${name}]`,
          'is compared with "contains": Contour has no prefix or suffix',
        );
  });
  const { mirror, sessionAffinity } = spec.analysis ?? {};
  return [...problems, ...withoutEffect({ mirror, sessionAffinity }, 'contour')];
}
