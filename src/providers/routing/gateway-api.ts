import type { SessionAffinity } from '../../api/canary/analysis.ts';
import type { Canary } from '../../api/canary/canary.ts';
import type { RouteTarget, SessionCookies } from '../../api/observed.ts';
import type { RouteContext, RouteProblem } from '../../contracts/routing.ts';
import { hasOnlyForeignBackends, withForeignBackends } from './foreign-backends.ts';
import { filterProblems, routeFilters } from './gateway-filters.ts';
import { analysisMatches, matchProblems, type RouteMatch, serviceMatches } from './gateway-matches.ts';
import { type HttpRoute, httpRouteBackends, readHttpRoute, refusal } from './gateway-read.ts';
import { applicationMetrics } from './request-metrics.ts';
import { plainBackends, withRouteRef } from './route-ref.ts';
import {
  assertWeights,
  conditionsBut,
  findRoute,
  ignoredBut,
  isAbTest,
  portOf,
  type RoutingProvider,
  routeMetadata,
} from './router.ts';
import { cookiePattern, sessionRules } from './sessions.ts';

/** Providers `gatewayapi:v1` and `gatewayapi:v1beta1`: an HTTPRoute called as the apex (flagger-behaviour.md 3.2). */

/** The router of provider `gatewayapi:v1`. */
export const gatewayApi = withGatewayRouteRef(gatewayRouter('v1', []));

/** The router of provider `gatewayapi:v1beta1`. With it Flagger leaves out what the first releases of the Gateway API had no fields for. */
export const gatewayApiBeta = withGatewayRouteRef(
  gatewayRouter('v1beta1', [
    'spec.service.timeout',
    'spec.service.backendTimeout',
    'spec.service.corsPolicy',
    'spec.analysis.sessionAffinity.primaryCookieName',
  ]),
);

function withGatewayRouteRef(provider: RoutingProvider): RoutingProvider {
  const [kind] = provider.kinds;
  if (!kind) return provider;
  return withRouteRef(provider, {
    kind,
    rules: 'rules',
    backends: 'backendRefs',
    serviceOf: ({ kind: of = 'Service', name, namespace }, { canary }) =>
      of === 'Service' && (namespace ?? canary.metadata.namespace) === canary.metadata.namespace
        ? String(name)
        : undefined,
    ...plainBackends,
    refusal: (live) => refusal(live as HttpRoute, []),
  });
}

function gatewayRouter(version: string, ignored: readonly string[]): RoutingProvider {
  const name = `gatewayapi:${version}`;
  const httpRoute = { apiVersion: `gateway.networking.k8s.io/${version}`, kind: 'HTTPRoute' };
  const known = (canary: Canary) => (ignored.length === 0 ? canary : withoutNewerFields(canary));
  return {
    name,
    variants: `${name}:`,
    kinds: [httpRoute],
    resources: ['httproutes.gateway.networking.k8s.io'],
    requests: applicationMetrics,
    // Requests are mirrored while there are iterations at weight 0.
    ignores: ({ spec }) => [
      ...ignoredBut(...(spec.analysis?.iterations ? ['spec.analysis.mirror'] : [])),
      'spec.service.retries',
      ...conditionsBut('uri', 'method', 'headers', 'queryParams'),
      ...ignored,
    ],
    apexFollowsTraffic: false,
    check: (canary) => check(known(canary)),
    objects(context, target, live) {
      assertWeights(target);
      const found = findRoute(context, httpRoute, live);
      const metadata = routeMetadata(context, found);
      const wanted = {
        ...httpRoute,
        metadata,
        spec: routeSpec({ ...context, canary: known(context.canary) }, target),
      };
      return [withForeignBackends(context, { wanted, live: found }, target, httpRouteBackends)];
    },
    read(context, live) {
      const found = findRoute(context, httpRoute, live);
      return found && readHttpRoute(found as HttpRoute, context);
    },
    isSucceededBy: (context, object) => hasOnlyForeignBackends(context, object, httpRouteBackends),
  };
}

function withoutNewerFields(canary: Canary): Canary {
  const { service, analysis, ...spec } = canary.spec;
  const { sessionAffinity } = analysis;
  return {
    ...canary,
    spec: {
      ...spec,
      ...(service ? { service: omit(service, 'timeout', 'backendTimeout', 'corsPolicy') } : {}),
      analysis: sessionAffinity
        ? { ...analysis, sessionAffinity: omit(sessionAffinity, 'primaryCookieName') }
        : analysis,
    },
  };
}

function omit<T extends object, K extends keyof T>(object: T, ...keys: readonly K[]): Omit<T, K> {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key as K))) as Omit<T, K>;
}

function check({ spec }: Canary): RouteProblem[] {
  const { service, analysis } = spec;
  const problems: RouteProblem[] = [];
  const report = (severity: RouteProblem['severity'], path: string, message: string): void => {
    problems.push({ severity, path, message });
  };
  if (analysis?.sessionAffinity && analysis.match?.length)
    report('warning', 'spec.analysis.sessionAffinity', 'has no effect together with analysis.match');
  service?.match?.forEach(({ headers = {} }, index) => {
    const cookie = Object.keys(headers).find((header) => header.toLowerCase() === 'cookie');
    if (cookie && analysis?.sessionAffinity)
      report(
        'error',
        `spec.service.match[${index}].headers[${cookie}]`,
        'cannot be used together with sessionAffinity: a match of the Gateway API compares each header once',
      );
  });
  if (analysis?.mirror && !analysis.iterations)
    report(
      'warning',
      'spec.analysis.mirror',
      'has no effect together with steps; it needs analysis.iterations',
    );
  return [
    ...problems,
    ...filterProblems(service?.corsPolicy),
    ...matchProblems(service?.match, analysis?.match),
  ];
}

function routeSpec(context: RouteContext, target: RouteTarget): object {
  const { service } = context.canary.spec;
  return {
    parentRefs: (service?.gatewayRefs ?? []).map((parent) => ({
      group: 'gateway.networking.k8s.io',
      kind: 'Gateway',
      ...parent,
    })),
    ...(service?.hosts?.length ? { hostnames: service.hosts } : {}),
    rules: rules(context, target),
  };
}

/** A/B: matched requests by weight, all others to the primary. Else by weight for all requests, but for users that stay where they are. */
function rules(context: RouteContext, target: RouteTarget): object[] {
  const { analysis, service } = context.canary.spec;
  const matches = serviceMatches(service?.match);
  const { mirrored, sessions, primaryWeight, canaryWeight } = target;
  if (target.matched && isAbTest(context)) {
    const forMatched = analysisMatches(analysis?.match ?? [], service?.match);
    const tried = rule(context, { matches: forMatched, primaryWeight, canaryWeight }, mirrored);
    const others = {
      ...rule(context, { matches, primaryWeight, canaryWeight }, false),
      backendRefs: [backend(context, 'primary', 100)],
    };
    // Envoy Gateway calls the upstream of a rule by its place, and changes upstreams before routes: those of the first rule stay. More conditions
    // have precedence in any place; with as many the place decides.
    const isAnyPlace = matches.every(({ headers, queryParams }) => !headers && !queryParams);
    return isAnyPlace ? [others, tried] : [tried, others];
  }
  const settings = analysis?.sessionAffinity;
  if (!settings || !sessions) return [rule(context, { matches, primaryWeight, canaryWeight }, mirrored)];
  const splits = sessionSplits({ matches, target, settings, interval: analysis.interval }, sessions);
  return splits.map((split) => rule(context, split, mirrored));
}

function rule(context: RouteContext, split: Split, mirrored: boolean): object {
  const { service } = context.canary.spec;
  const filters: object[] = routeFilters(service);
  if (mirrored)
    filters.push({
      type: 'RequestMirror',
      requestMirror: { backendRef: reference(context, 'canary') },
    });
  const timeouts = {
    ...(service?.timeout ? { request: service.timeout } : {}),
    ...(service?.backendTimeout ? { backendRequest: service.backendTimeout } : {}),
  };
  return {
    matches: split.matches,
    ...(filters.length > 0 ? { filters } : {}),
    backendRefs: [
      backend(context, 'primary', split.primaryWeight, split.primaryFilter),
      backend(context, 'canary', split.canaryWeight, split.canaryFilter),
    ],
    ...(Object.keys(timeouts).length > 0 ? { timeouts } : {}),
  };
}

function backend(context: RouteContext, side: 'primary' | 'canary', weight: number, filter?: object): object {
  return { ...reference(context, side), weight, ...(filter ? { filters: [filter] } : {}) };
}

function reference(context: RouteContext, side: 'primary' | 'canary'): object {
  return { group: '', kind: 'Service', name: context.names[side], port: portOf(context, side) };
}

/** Session affinity in an HTTPRoute: rules and filters for the rules of `sessions.ts`. */

/** One rule of the route: its matches, the weights, and filters of the two backends. */
interface Split {
  matches: RouteMatch[];
  primaryWeight: number;
  canaryWeight: number;
  primaryFilter?: object;
  canaryFilter?: object;
}

/** What the splits are made from. `interval`: that of the analysis. */
interface SessionSource {
  matches: RouteMatch[];
  target: RouteTarget;
  settings: SessionAffinity;
  interval: string | undefined;
}

/** The rules in order. */
function sessionSplits({ matches, target, ...source }: SessionSource, sessions: SessionCookies): Split[] {
  return sessionRules(target, source, sessions).map(
    ({ cookie, primarySets, canarySets, primaryWeight, canaryWeight }) => ({
      matches: cookie ? withCookie(matches, cookie) : matches,
      primaryWeight,
      canaryWeight,
      ...(primarySets ? { primaryFilter: setCookie(primarySets) } : {}),
      ...(canarySets ? { canaryFilter: setCookie(canarySets) } : {}),
    }),
  );
}

/** The matches, for requests that carry this cookie (`name=value`). */
function withCookie(matches: readonly RouteMatch[], cookie: string): RouteMatch[] {
  const header = { type: 'RegularExpression', name: 'Cookie', value: cookiePattern(cookie) };
  return matches.map((match) => ({ ...match, headers: [...(match.headers ?? []), header] }));
}

function setCookie(value: string): object {
  return { type: 'ResponseHeaderModifier', responseHeaderModifier: { add: [{ name: 'Set-Cookie', value }] } };
}
