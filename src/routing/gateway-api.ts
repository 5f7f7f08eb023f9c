/** Provider `gatewayapi:v1`: an HTTPRoute called as the apex (flagger-behaviour.md 3.2). */
import type { Canary } from '../api/canary.ts';
import { parseDurationMs } from '../api/duration.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';
import type { RouteTarget } from '../api/observed.ts';
import { routeFilters } from './gateway-filters.ts';
import { analysisMatches, matchProblems, type RouteMatch, serviceMatches } from './gateway-matches.ts';
import { type HttpRoute, readHttpRoute } from './gateway-read.ts';
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
  if (analysis?.sessionAffinity)
    report(
      'error',
      'spec.analysis.sessionAffinity',
      'is not supported by this version with provider gatewayapi:v1',
    );
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
  return {
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
}

/** A/B: matched requests by weight, all others to the primary. Else one rule by weight for all requests. */
function rules(context: RouteContext, target: RouteTarget): object[] {
  const { analysis, service } = context.canary.spec;
  const matches = serviceMatches(service?.match);
  const split = backends(context, target);
  if (!target.matched || !isAbTest(context)) return [rule(context, matches, split, target.mirrored)];
  return [
    rule(context, analysisMatches(analysis?.match ?? [], service?.match), split, target.mirrored),
    rule(context, matches, [backend(context, context.names.primary, 100)], false),
  ];
}

function rule(
  context: RouteContext,
  matches: RouteMatch[],
  backendRefs: object[],
  mirrored: boolean,
): object {
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
    matches,
    ...(filters.length > 0 ? { filters } : {}),
    backendRefs,
    ...(Object.keys(timeouts).length > 0 ? { timeouts } : {}),
  };
}

function backends(context: RouteContext, { primaryWeight, canaryWeight }: RouteTarget): object[] {
  const { primary, canary } = context.names;
  return [backend(context, primary, primaryWeight), backend(context, canary, canaryWeight)];
}

function backend(context: RouteContext, name: string, weight: number): object {
  return { ...reference(context, name), weight };
}

function reference({ canary }: RouteContext, name: string): object {
  return { group: '', kind: 'Service', name, port: canary.spec.service?.port };
}

function read(context: RouteContext, live: readonly KubernetesObject[]): RouteReading | undefined {
  const found = findRoute(context, httpRoute, live);
  return found && readHttpRoute(found as HttpRoute, context);
}
