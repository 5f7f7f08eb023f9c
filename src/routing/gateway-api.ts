/** Provider `gatewayapi:v1`: an HTTPRoute called as the apex (flagger-behaviour.md 3.2). */
import type { Canary } from '../api/canary.ts';
import { durationOr, parseDurationMs } from '../api/duration.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';
import type { RouteTarget } from '../api/observed.ts';
import { routeFilters } from './gateway-filters.ts';
import { analysisMatches, matchProblems, serviceMatches } from './gateway-matches.ts';
import { type HttpRoute, httpRouteBackends, readHttpRoute } from './gateway-read.ts';
import { type Split, sessionSplits } from './gateway-sessions.ts';
import { leadsElsewhere, withOthers } from './other-backends.ts';
import { assertWeights, findRoute, isAbTest, routeMetadata } from './route-object.ts';
import type { RouteContext, RouteProblem, RouteReading, Router } from './router.ts';

const httpRoute = { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'HTTPRoute' };

/** The router of provider `gatewayapi:v1`. */
export const gatewayApi: Router = {
  name: 'gatewayapi:v1',
  kinds: [httpRoute],
  apexFollowsTraffic: false,
  check,
  objects: (context, target, live) => [route(context, target, findRoute(context, httpRoute, live))],
  read,
  isSucceededBy: (context, object) => leadsElsewhere(context, object, httpRouteBackends),
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
      'is needed: provider gatewayapi:v1 has to know which Gateway the route belongs to',
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
    report('warning', 'spec.service.corsPolicy.allowOrigins', 'is left out, as in Flagger; use allowOrigin');
  if (service?.corsPolicy?.maxAge && parseDurationMs(service.corsPolicy.maxAge) === undefined)
    report('error', 'spec.service.corsPolicy.maxAge', 'is no duration such as 24h');
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
  return withOthers(context, { wanted, live }, target, httpRouteBackends);
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

function read(context: RouteContext, live: readonly KubernetesObject[]): RouteReading | undefined {
  const found = findRoute(context, httpRoute, live);
  return found && readHttpRoute(found as HttpRoute, context);
}
