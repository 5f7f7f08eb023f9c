/** Provider `gatewayapi:v1`: an HTTPRoute called as the apex (flagger-behaviour.md 3.2). */
import type { SessionAffinity } from '../../api/canary/analysis.ts';
import type { Canary } from '../../api/canary/canary.ts';
import type { CanaryService, CorsPolicy } from '../../api/canary/service.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { RouteTarget, SessionCookies } from '../../api/observed.ts';
import { durationOr, parseDurationMs } from '../../api/time.ts';
import type { RouteContext, RouteProblem } from '../../contracts/routing.ts';
import { hasOnlyForeignBackends, withForeignBackends } from './foreign-backends.ts';
import { analysisMatches, matchProblems, type RouteMatch, serviceMatches } from './gateway-matches.ts';
import { type HttpRoute, httpRouteBackends, readHttpRoute } from './gateway-read.ts';
import { applicationMetrics } from './request-metrics.ts';
import { assertWeights, findRoute, isAbTest, type RoutingProvider, routeMetadata } from './router.ts';

const httpRoute = { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'HTTPRoute' };

/** The router of provider `gatewayapi:v1`. */
export const gatewayApi: RoutingProvider = {
  name: 'gatewayapi:v1',
  variants: 'gatewayapi:v1:',
  kinds: [httpRoute],
  resources: ['httproutes.gateway.networking.k8s.io'],
  requests: applicationMetrics,
  // Requests are mirrored while there are iterations at weight 0.
  ignores: ({ spec }) => (spec.analysis?.iterations ? [] : ['spec.analysis.mirror']),
  apexFollowsTraffic: false,
  check,
  objects: (context, target, live) => [route(context, target, findRoute(context, httpRoute, live))],
  read(context, live) {
    const found = findRoute(context, httpRoute, live);
    return found && readHttpRoute(found as HttpRoute, context);
  },
  isSucceededBy: (context, object) => hasOnlyForeignBackends(context, object, httpRouteBackends),
};

function check({ spec }: Canary): RouteProblem[] {
  const { service, analysis } = spec;
  const problems: RouteProblem[] = [];
  const report = (severity: RouteProblem['severity'], path: string, message: string): void => {
    problems.push({ severity, path, message });
  };
  if (!service?.gatewayRefs?.length)
    report(
      'error',
      'spec.service.gatewayRefs',
      'is required: provider gatewayapi:v1 needs the Gateway of the route',
    );
  if (analysis?.sessionAffinity && analysis.match?.length && analysis.iterations)
    report('warning', 'spec.analysis.sessionAffinity', 'has no effect together with analysis.match');
  if (analysis?.mirror && !analysis.iterations)
    report(
      'warning',
      'spec.analysis.mirror',
      'has no effect together with steps; it needs analysis.iterations',
    );
  if (service?.corsPolicy?.allowOrigins?.length)
    report('warning', 'spec.service.corsPolicy.allowOrigins', 'is ignored, as in Flagger; use allowOrigin');
  if (service?.corsPolicy?.maxAge && parseDurationMs(service.corsPolicy.maxAge) === undefined)
    report('error', 'spec.service.corsPolicy.maxAge', 'must be a duration such as 24h');
  return [...problems, ...matchProblems(service?.match, analysis?.match)];
}

function route(
  context: RouteContext,
  target: RouteTarget,
  live: KubernetesObject | undefined,
): KubernetesObject {
  assertWeights(target);
  const { service } = context.canary.spec;
  const wanted = {
    ...httpRoute,
    metadata: routeMetadata(context, live),
    spec: {
      parentRefs: (service?.gatewayRefs ?? []).map((parent) => ({
        group: 'gateway.networking.k8s.io',
        kind: 'Gateway',
        ...parent,
      })),
      ...(service?.hosts?.length ? { hostnames: service.hosts } : {}),
      rules: rules(context, target),
    },
  };
  return withForeignBackends(context, { wanted, live }, target, httpRouteBackends);
}

/** A/B: matched requests by weight, all others to the primary. Else by weight for all requests, but for users that stay where they are. */
function rules(context: RouteContext, target: RouteTarget): object[] {
  const { analysis, service } = context.canary.spec;
  const matches = serviceMatches(service?.match);
  const { mirrored, sessions, primaryWeight, canaryWeight } = target;
  if (target.matched && isAbTest(context)) {
    const forMatched = analysisMatches(analysis?.match ?? [], service?.match);
    return [
      rule(context, { matches: forMatched, primaryWeight, canaryWeight }, mirrored),
      {
        ...rule(context, { matches, primaryWeight, canaryWeight }, false),
        backendRefs: [backend(context, 'primary', 100)],
      },
    ];
  }
  const settings = analysis?.sessionAffinity;
  if (!settings || !sessions) return [rule(context, { matches, primaryWeight, canaryWeight }, mirrored)];
  const primaryMaxAge = Math.round(durationOr(analysis.interval, 60_000) / 1_000);
  const splits = sessionSplits({ matches, target, settings, primaryMaxAge }, sessions);
  return splits.map((split) => rule(context, split, mirrored));
}

function rule(context: RouteContext, split: Split, mirrored: boolean): object {
  const { service } = context.canary.spec;
  const filters: object[] = routeFilters(service);
  if (mirrored)
    filters.push({
      type: 'RequestMirror',
      requestMirror: { backendRef: reference(context, context.names.canary) },
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
  return { ...reference(context, context.names[side]), weight, ...(filter ? { filters: [filter] } : {}) };
}

function reference({ canary }: RouteContext, name: string): object {
  return { group: '', kind: 'Service', name, port: canary.spec.service?.port };
}

// Filters of an HTTPRoute rule in Flagger's order: headers, rewrite, mirrors, CORS (flagger-behaviour.md 3.2).

type Filter = Record<string, unknown> & { type: string };
type HeaderOperations = NonNullable<NonNullable<CanaryService['headers']>['request']>;

/** Filters of the rule as the Canary asks for them; the analysis' own mirror is not among them. */
function routeFilters(service: CanaryService | undefined): Filter[] {
  if (!service) return [];
  const { headers, rewrite, mirror, corsPolicy } = service;
  const filters: Filter[] = [];
  if (headers?.request)
    filters.push({ type: 'RequestHeaderModifier', requestHeaderModifier: headerModifier(headers.request) });
  if (headers?.response)
    filters.push({
      type: 'ResponseHeaderModifier',
      responseHeaderModifier: headerModifier(headers.response),
    });
  if (rewrite) filters.push({ type: 'URLRewrite', urlRewrite: urlRewrite(rewrite) });
  for (const one of mirror ?? []) filters.push({ type: 'RequestMirror', requestMirror: one });
  if (corsPolicy) filters.push({ type: 'CORS', cors: cors(corsPolicy) });
  return filters;
}

function headerModifier({ add, set, remove }: HeaderOperations): Record<string, unknown> {
  const list = (headers: Readonly<Record<string, string>>) =>
    Object.entries(headers)
      .map(([name, value]) => ({ name, value }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  return {
    ...(add ? { add: list(add) } : {}),
    ...(set ? { set: list(set) } : {}),
    ...(remove?.length ? { remove } : {}),
  };
}

function urlRewrite({
  authority,
  uri,
  type,
}: NonNullable<CanaryService['rewrite']>): Record<string, unknown> {
  const path =
    type === 'ReplacePrefixMatch'
      ? { type: 'ReplacePrefixMatch', replacePrefixMatch: uri }
      : { type: 'ReplaceFullPath', replaceFullPath: uri };
  return { ...(authority ? { hostname: authority } : {}), ...(uri ? { path } : {}) };
}

function cors(policy: CorsPolicy): Record<string, unknown> {
  const { allowOrigin, allowMethods, allowHeaders, exposeHeaders, allowCredentials, maxAge } = policy;
  const maxAgeMs = maxAge === undefined ? undefined : parseDurationMs(maxAge);
  return {
    ...(allowOrigin?.length ? { allowOrigins: allowOrigin } : {}),
    ...(allowMethods?.length ? { allowMethods } : {}),
    ...(allowHeaders?.length ? { allowHeaders } : {}),
    ...(exposeHeaders?.length ? { exposeHeaders } : {}),
    ...(allowCredentials ? { allowCredentials } : {}),
    ...(maxAgeMs === undefined ? {} : { maxAge: Math.floor(maxAgeMs / 1_000) }),
  };
}

// Session affinity in an HTTPRoute (flagger-behaviour.md 3.1 and 3.2): rules for who has a cookie, and Set-Cookie for who has none.

/** One rule of the route: who it is for, the weights, and filters of the two backends. */
interface Split {
  matches: RouteMatch[];
  primaryWeight: number;
  canaryWeight: number;
  primaryFilter?: object;
  canaryFilter?: object;
}

/** What the splits are made from. `primaryMaxAge`: seconds that a user stays on the primary. */
interface SessionSource {
  matches: RouteMatch[];
  target: RouteTarget;
  settings: SessionAffinity;
  primaryMaxAge: number;
}

const defaultMaxAgeSeconds = 86_400;

/**
 * The rules in order. Nobody stays with the primary when all traffic is for the canary, as while the primary is written. Flagger takes a
 * cookie back without its Domain and Path, so that browsers keep it; here they are named.
 */
function sessionSplits(source: SessionSource, sessions: SessionCookies): Split[] {
  const { matches, target, settings } = source;
  const { primaryWeight, canaryWeight } = target;
  const weighted: Split = { matches, primaryWeight, canaryWeight };
  if (sessions.kind === 'end') {
    const filter = setCookie(sessions.previous, -1, settings);
    const had = {
      matches: withCookie(matches, sessions.previous),
      primaryFilter: filter,
      canaryFilter: filter,
    };
    return [{ ...weighted, ...had }, weighted];
  }
  const { canary, primary } = sessions;
  const sticky: Split[] = [{ matches: withCookie(matches, canary), primaryWeight: 0, canaryWeight: 100 }];
  weighted.canaryFilter = setCookie(canary, settings.maxAge ?? defaultMaxAgeSeconds, settings);
  if (primary) {
    sticky.push({ matches: withCookie(matches, primary), primaryWeight: 100, canaryWeight: 0 });
    weighted.primaryFilter = setCookie(primary, source.primaryMaxAge, settings);
  }
  return canaryWeight < 100 ? [...sticky, weighted] : [weighted];
}

/** The matches, for requests that carry this cookie (`name=value`). It is compared whole; Flagger finds it inside others, too. */
function withCookie(matches: readonly RouteMatch[], cookie: string): RouteMatch[] {
  const value = `^(.*; ?)?${cookie.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}(;.*)?$`;
  const header = { type: 'RegularExpression', name: 'Cookie', value };
  return matches.map((match) => ({ ...match, headers: [...(match.headers ?? []), header] }));
}

/** Filter of a backend that gives its users this cookie, attributes in Flagger's order. */
function setCookie(cookie: string, maxAgeSeconds: number, settings: SessionAffinity): object {
  const { domain, httpOnly, partitioned, path, sameSite, secure } = settings;
  const attributes = [
    `Max-Age=${maxAgeSeconds}`,
    domain && `Domain=${domain}`,
    httpOnly && 'HttpOnly',
    partitioned && 'Partitioned',
    path && `Path=${path}`,
    sameSite && `SameSite=${sameSite}`,
    secure && 'Secure',
  ];
  const value = [cookie, ...attributes.filter(Boolean)].join('; ');
  return { type: 'ResponseHeaderModifier', responseHeaderModifier: { add: [{ name: 'Set-Cookie', value }] } };
}
