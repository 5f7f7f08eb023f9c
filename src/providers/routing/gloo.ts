/** Provider `gloo`: a RouteTable called as the apex, and an Upstream for each side (flagger-behaviour.md 3.6). */
import type { AnalysisMatch } from '../../api/canary/analysis.ts';
import type { Canary } from '../../api/canary/canary.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { RouteTarget } from '../../api/observed.ts';
import type { RouteContext, RouteNames, RouteProblem, RouteReference } from '../../contracts/routing.ts';
import { envoyMetrics, literal } from './request-metrics.ts';
import {
  assertWeights,
  findObject,
  findRoute,
  ignoredBut,
  isAbTest,
  ownMetadata,
  percentOf,
  portOf,
  type RouteReading,
  type RoutingProvider,
  requestFields,
  routeMetadata,
  taken,
  unreadable,
  withoutEffect,
} from './router.ts';

const routeTable = { apiVersion: 'gateway.solo.io/v1', kind: 'RouteTable' };
const upstream = { apiVersion: 'gloo.solo.io/v1', kind: 'Upstream' };
/** What Upstreams get from the one of `spec.upstreamRef`. */
const settings = [
  'sslConfig',
  'circuitBreakers',
  'connectionConfig',
  'loadBalancerConfig',
  'useHttp2',
  'initialStreamWindowSize',
  'initialConnectionWindowSize',
  'httpProxyHostname',
];

/** The router of provider `gloo`. */
export const gloo: RoutingProvider = {
  name: 'gloo',
  variants: 'gloo:',
  kinds: [routeTable, upstream],
  resources: ['routetables.gateway.solo.io', 'upstreams.gloo.solo.io'],
  requests: {
    ...envoyMetrics,
    selector({ namespace, ownService }) {
      const [, apex = '', side = ''] = /^(.*)-(primary|canary)$/.exec(ownService) ?? [];
      return `envoy_cluster_name=~"${literal(namespace)}-${literal(apex)}-${side}upstream-[0-9a-zA-Z-]+_[0-9a-zA-Z-]+"`;
    },
  },
  apexFollowsTraffic: false,
  ignores: () => [...ignoredBut('spec.upstreamRef'), ...requestFields],
  references: (canary, names) => [
    ...ownUpstreams(canary, names),
    { ...routeTable, name: names.apex },
    ...settingsReference(canary),
  ],
  check,
  objects,
  read,
};

function upstreamName(canary: Canary, names: RouteNames, side: 'primary' | 'canary'): string {
  return `${nameBefore(canary, names, side)}${canary.spec.service?.port}`;
}

/** Without the port, which may change: the RouteTable goes on naming the Upstreams of the former one until it is written. */
function nameBefore({ metadata }: Canary, { apex }: RouteNames, side: 'primary' | 'canary'): string {
  return `${metadata.namespace ?? 'default'}-${apex}-${side}upstream-`;
}

function ownUpstreams(canary: Canary, names: RouteNames): RouteReference[] {
  return (['primary', 'canary'] as const).map((side) => ({
    ...upstream,
    name: upstreamName(canary, names, side),
  }));
}

function settingsReference({ metadata, spec }: Canary): RouteReference[] {
  if (!spec.upstreamRef) return [];
  const { name, namespace } = spec.upstreamRef;
  return [{ ...upstream, name, ...(namespace && namespace !== metadata.namespace ? { namespace } : {}) }];
}

/** Upstreams first: the RouteTable names them. Settings of an Upstream that is gone stay as they were copied. */
function objects(
  context: RouteContext,
  target: RouteTarget,
  live: readonly KubernetesObject[],
): KubernetesObject[] {
  assertWeights(target);
  const { canary, names } = context;
  const [reference] = settingsReference(canary);
  const source = reference && findObject(context, reference, live);
  const sides = (['primary', 'canary'] as const).map((side) => {
    const name = upstreamName(canary, names, side);
    return { side, name, from: source ?? findObject(context, { ...upstream, name }, live) };
  });
  if (reference && sides.some(({ from }) => !from)) return [];
  const upstreams = sides.map(({ side, name, from }) => {
    const given = (from?.spec ?? {}) as Readonly<Record<string, unknown>>;
    const copied = reference ? settings.filter((field) => given[field] !== undefined) : [];
    const metadata = ownMetadata(context, name);
    const kube = {
      serviceName: names[side],
      serviceNamespace: metadata.namespace,
      servicePort: portOf(context, side),
    };
    const spec = { ...Object.fromEntries(copied.map((field) => [field, given[field]])), kube };
    return { ...upstream, metadata, spec };
  });
  const metadata = routeMetadata(context, findRoute(context, routeTable, live));
  const routes = routesTo(context, target);
  return [...upstreams, { ...routeTable, metadata, spec: { routes } }];
}

/** A/B: matched requests by weight, and all others to the primary; Flagger leaves those to the parent. */
function routesTo(context: RouteContext, target: RouteTarget): object[] {
  const { canary, names } = context;
  const to = (side: 'primary' | 'canary', weight: number) => ({
    destination: {
      upstream: {
        name: upstreamName(canary, names, side),
        namespace: canary.metadata.namespace ?? 'default',
      },
    },
    weight,
  });
  const route = (primaryWeight: number, canaryWeight: number, matchers: readonly object[] = []) => ({
    inheritablePathMatchers: true,
    ...(matchers.length > 0 ? { matchers } : {}),
    routeAction: { multi: { destinations: [to('primary', primaryWeight), to('canary', canaryWeight)] } },
  });
  const { primaryWeight, canaryWeight } = target;
  if (!target.matched || !isAbTest(context)) return [route(primaryWeight, canaryWeight)];
  const matchers = (canary.spec.analysis.match ?? []).map(matcher);
  return [route(primaryWeight, canaryWeight, matchers), route(100, 0)];
}

function matcher({ headers = {} }: AnalysisMatch): object {
  return {
    headers: Object.entries(headers).map(([name, { exact, regex }]) =>
      regex ? { name, value: regex, regex: true } : { name, value: exact },
    ),
  };
}

function check({ spec }: Canary): RouteProblem[] {
  const { match = [], mirror, sessionAffinity } = spec.analysis ?? {};
  const problems = withoutEffect({ mirror, sessionAffinity }, 'gloo');
  match.forEach(({ headers = {}, queryParams = {} }, index) => {
    const path = `spec.analysis.match[${index}]`;
    const refuse = (field: string, message: string): void => {
      problems.push({ severity: 'error', path: `${path}${field}`, message });
    };
    if (Object.keys(headers).length === 0)
      refuse('', 'needs headers: provider gloo has no other A/B condition');
    if (Object.keys(queryParams).length > 0)
      refuse('.queryParams', 'is not supported: provider gloo compares headers only');
    for (const [name, { exact, regex }] of Object.entries(headers))
      if (!exact && !regex) refuse(`.headers[${name}]`, 'needs exact or regex: Gloo has no other comparison');
  });
  return problems;
}

interface RouteTableSpec {
  readonly routes?: ReadonlyArray<{
    readonly routeAction?: {
      readonly multi?: {
        readonly destinations?: ReadonlyArray<{
          readonly destination?: { readonly upstream?: { readonly name?: string } };
          readonly weight?: number;
        }>;
      };
    };
  }>;
}

function read(context: RouteContext, live: readonly KubernetesObject[]): RouteReading | undefined {
  const { canary, names } = context;
  const [reference] = settingsReference(canary);
  const isMissing = reference && !findObject(context, reference, live);
  const missing = isMissing ? `Upstream ${reference.name} of spec.upstreamRef does not exist` : undefined;
  const gone = ownUpstreams(canary, names).find((one) => !findObject(context, one, live));
  const found = findRoute(context, routeTable, live);
  if (!found)
    return missing ? unreadable(`${missing}; those of ${names.apex} are made with its settings`) : undefined;
  const { routes = [] } = (found.spec ?? {}) as RouteTableSpec;
  const weightOf = (side: 'primary' | 'canary') =>
    routes[0]?.routeAction?.multi?.destinations?.find(({ destination }) =>
      destination?.upstream?.name?.startsWith(nameBefore(canary, names, side)),
    )?.weight;
  const split = percentOf(weightOf('primary'), weightOf('canary'));
  if (!split)
    return unreadable(`RouteTable ${names.apex}: its first route has no weights for both Upstreams`);
  const problem = missing ?? (gone ? `Upstream ${gone.name} does not exist yet` : refusal(found));
  return taken({ ...split, matched: routes.length > 1 }, problem);
}

/** What Gloo has against the RouteTable; where it says nothing, it counts as taken. */
function refusal({ metadata, status }: KubernetesObject): string | undefined {
  type Answer = { readonly state?: string | number; readonly reason?: string };
  const { statuses = {} } = (status ?? {}) as { statuses?: Readonly<Record<string, Answer>> };
  const refused = Object.values(statuses).find(({ state }) => state === 'Rejected' || state === 2);
  return refused && `RouteTable ${metadata.name}: Gloo rejects it: ${refused.reason ?? 'no reason'}`;
}
