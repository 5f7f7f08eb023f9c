import type { AnalysisMatch } from '../../api/canary/analysis.ts';
import type { Canary } from '../../api/canary/canary.ts';
import type { CanaryService, ServiceMatch } from '../../api/canary/service.ts';
import { isRecord, type KubernetesObject, present } from '../../api/kubernetes.ts';
import type { RouteTarget } from '../../api/observed.ts';
import type { HeaderMatch } from '../../api/schema.ts';
import type { RouteContext, RouteProblem } from '../../contracts/routing.ts';
import {
  destinationRule,
  isTcp,
  originalOf,
  readVirtualService,
  refusal,
  serviceAt,
  virtualService,
} from './istio-read.ts';
import { istioMetrics } from './request-metrics.ts';
import { withRouteRef } from './route-ref.ts';
import {
  assertWeights,
  findObject,
  findRoute,
  ignoredBut,
  isAbTest,
  portOf,
  routeMetadata,
} from './router.ts';
import { cookiePattern, type SessionRule, sessionRules } from './sessions.ts';

/** Provider `istio`: a VirtualService called as the apex, and a DestinationRule for each side (flagger-behaviour.md 3.1). */

const ignored: readonly string[] = [
  ...ignoredBut(
    'spec.analysis.mirror',
    'spec.analysis.mirrorWeight',
    'spec.analysis.match.*.sourceLabels',
    'spec.service.gateways',
    'spec.service.trafficPolicy',
    'spec.service.delegation',
  ),
  'spec.service.gatewayRefs',
  'spec.service.backendTimeout',
  'spec.service.mirror',
  'spec.service.rewrite.type',
];

/** The router of provider `istio`. */
export const istio = withRouteRef(
  {
    name: 'istio',
    kinds: [virtualService, destinationRule],
    resources: ['virtualservices.networking.istio.io', 'destinationrules.networking.istio.io'],
    requests: istioMetrics,
    references: (_, { apex, primary, canary }) => [
      { ...virtualService, lastApplied: true, name: apex },
      { ...destinationRule, name: primary },
      { ...destinationRule, name: canary },
    ],
    apexFollowsTraffic: false,
    ignores: () => ignored,
    check: istioProblems,
    objects,
    read: (context, live) => readVirtualService(context, live),
  },
  {
    kind: virtualService,
    rules: 'http',
    backends: 'route',
    serviceOf: ({ destination }, context) =>
      serviceAt(context, (destination as { host?: string } | undefined)?.host),
    portOf: ({ destination }) => (destination as { port?: { number?: number } } | undefined)?.port?.number,
    leadingTo: (backend, name, number) => {
      const destination = backend.destination as { host: string };
      const [, ...domain] = destination.host.split('.');
      const port = number === undefined ? {} : { port: { number } };
      return { ...backend, destination: { ...destination, host: [name, ...domain].join('.'), ...port } };
    },
    subsetOf: ({ destination }) => (destination as { subset?: string } | undefined)?.subset,
    refusal,
  },
);

/** The rules before the VirtualService, so that a policy holds from the first request on. */
function objects(
  context: RouteContext,
  target: RouteTarget,
  live: readonly KubernetesObject[],
): KubernetesObject[] {
  assertWeights(target);
  const { service } = context.canary.spec;
  const rule = (name: string): KubernetesObject => ({
    ...destinationRule,
    metadata: {
      ...routeMetadata(context, findObject(context, { ...destinationRule, name }, live)),
      name,
    },
    spec: {
      host: name,
      ...(service?.trafficPolicy ? { trafficPolicy: withoutEmptyTexts(service.trafficPolicy) } : {}),
    },
  });
  const routes = isTcp(service)
    ? { tcp: [{ ...tcpMatch(service), route: destinations(context, target) }] }
    : { http: httpRoutes(context, target) };
  const found = findRoute(context, virtualService, live);
  const metadata = routeMetadata(context, found);
  const annotations = { ...metadata.annotations, ...originalOf(context, found) };
  return [
    rule(context.names.primary),
    rule(context.names.canary),
    {
      ...virtualService,
      metadata: { ...metadata, annotations },
      spec: { ...attachment(context), ...routes },
    },
  ];
}

/** A delegate has neither hosts nor gateways, whatever was there before. */
function attachment({ canary, names }: RouteContext): object {
  const { delegation, hosts = [], gateways = [] } = canary.spec.service ?? {};
  if (delegation) return { hosts: [], gateways: [] };
  const isNamed = hosts.includes(names.apex) || hosts.includes('*');
  return {
    hosts: isNamed ? hosts : [...hosts, names.apex],
    gateways: gateways.length > 0 ? gateways : ['mesh'],
  };
}

/** One of several matches is enough, and one without a port takes every connection. */
function tcpMatch(service: CanaryService | undefined): object {
  const match = (service?.match ?? []).map(({ port }) => ({ port }));
  return match.length > 0 && match.every(({ port }) => port) ? { match } : {};
}

/** A/B: matched requests by weight, all others to the primary. Else by weight for all requests, but for users that stay where they are. */
function httpRoutes(context: RouteContext, target: RouteTarget): object[] {
  const { analysis, service } = context.canary.spec;
  const matches = service?.match ?? [];
  const { mirrored, sessions, primaryWeight, canaryWeight } = target;
  if (target.matched && isAbTest(context)) {
    const matched = (analysis?.match ?? []).flatMap((one) => combined(one, matches));
    const [alone] = destinations(context, { primaryWeight: 100, canaryWeight: 0 });
    return [
      httpRoute(context, matched, { primaryWeight, canaryWeight }, mirrored),
      { ...httpRoute(context, matches, { primaryWeight, canaryWeight }, false), route: [alone] },
    ];
  }
  const settings = analysis?.sessionAffinity;
  if (!settings || !sessions) return [httpRoute(context, matches, { primaryWeight, canaryWeight }, mirrored)];
  return sessionRules(target, { settings, interval: analysis.interval }, sessions).map((rule) => {
    const cookie = rule.cookie && { headers: { Cookie: { regex: cookiePattern(rule.cookie) } } };
    return httpRoute(context, cookie ? combined(cookie, matches) : matches, rule, mirrored);
  });
}

/** The conditions of an A/B match or of a cookie, in each match of the service. Istio compares no suffix, but whole regular expressions. */
function combined(
  { headers, queryParams, sourceLabels }: AnalysisMatch,
  matches: readonly ServiceMatch[],
): object[] {
  const comparison = ({ suffix, ...others }: HeaderMatch) =>
    suffix ? { regex: `.*${suffix.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}` } : others;
  const added = Object.fromEntries(
    Object.entries(headers ?? {}).map(([name, value]) => [name, comparison(value)]),
  );
  const bases: readonly ServiceMatch[] = matches.length > 0 ? matches : [{}];
  return bases.map((base) => ({
    ...base,
    ...(headers ? { headers: { ...base.headers, ...added } } : {}),
    ...(queryParams ? { queryParams: { ...base.queryParams, ...queryParams } } : {}),
    ...(sourceLabels ? { sourceLabels: { ...base.sourceLabels, ...sourceLabels } } : {}),
  }));
}

function httpRoute(
  context: RouteContext,
  match: readonly object[],
  rule: SessionRule,
  mirrored: boolean,
): object {
  const { service, analysis } = context.canary.spec;
  const { timeout, retries, corsPolicy, headers, rewrite } = service ?? {};
  const { uri, authority } = rewrite ?? {};
  const value = analysis?.mirrorWeight ?? 0;
  const share = value > 0 ? { mirrorPercentage: { value } } : {};
  return present({
    match: match.length > 0 ? match : undefined,
    rewrite: uri || authority ? present({ uri, authority }) : undefined,
    timeout: timeout || undefined,
    retries: withoutEmptyTexts(retries),
    corsPolicy: withoutEmptyTexts(corsPolicy),
    headers,
    route: destinations(context, rule),
    ...(mirrored ? { mirror: { host: context.names.canary }, ...share } : {}),
  });
}

/** Fields that are an empty text are absent ones, as in Flagger: Istio refuses them as durations. */
function withoutEmptyTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmptyTexts);
  if (!isRecord(value)) return value;
  const given = Object.entries(value).filter(([, one]) => one !== '');
  return Object.fromEntries(given.map(([field, one]) => [field, withoutEmptyTexts(one)]));
}

/** With several ports a request from outside the mesh does not say which one it is for. */
function destinations(context: RouteContext, rule: SessionRule): object[] {
  const { portDiscovery, gateways = [], delegation } = context.canary.spec.service ?? {};
  const isOutside = delegation || (gateways[0] ?? 'mesh') !== 'mesh';
  const toPort = (side: 'primary' | 'canary') =>
    portDiscovery && isOutside ? { port: { number: portOf(context, side) } } : {};
  const one = (side: 'primary' | 'canary', weight: number, sets: string | undefined) => ({
    destination: { host: context.names[side], ...toPort(side) },
    weight,
    ...(sets ? { headers: { response: { add: { 'Set-Cookie': sets } } } } : {}),
  });
  return [
    one('primary', rule.primaryWeight, rule.primarySets),
    one('canary', rule.canaryWeight, rule.canarySets),
  ];
}

/** What Istio cannot do, by field. */

/** Problems of a Canary with provider istio; empty when all is well. */
function istioProblems(canary: Canary): RouteProblem[] {
  const { service, analysis } = canary.spec;
  const { match = [], sessionAffinity } = analysis ?? {};
  const warning = (path: string, message: string): RouteProblem => ({ severity: 'warning', path, message });
  const error = (path: string, message: string): RouteProblem => ({ severity: 'error', path, message });
  const isDelegateWithMore =
    service?.delegation && [service.hosts, service.gateways].some((one) => one?.length);
  const open = match.flatMap(({ headers, queryParams, sourceLabels }, index) =>
    Object.keys({ ...headers, ...queryParams, ...sourceLabels }).length > 0 ? [] : index,
  );
  const noConditions = 'needs headers, queryParams or sourceLabels: without them every request would match';
  return [
    ...(isDelegateWithMore
      ? [
          error(
            'spec.service.delegation',
            'cannot be used with hosts or gateways: a delegate VirtualService takes those of its root',
          ),
        ]
      : []),
    ...(isTcp(service) ? tcpProblems(canary) : []),
    ...(sessionAffinity && match.length > 0
      ? [warning('spec.analysis.sessionAffinity', 'has no effect together with analysis.match')]
      : []),
    ...open.map((index) => error(`spec.analysis.match[${index}]`, noConditions)),
  ];
}

/** A connection has no headers, and is not copied. */
function tcpProblems({ spec }: Canary): RouteProblem[] {
  const { match, mirror, sessionAffinity } = spec.analysis ?? {};
  const fields = Object.entries({ match: match?.length, mirror, sessionAffinity });
  return fields
    .filter(([, value]) => Boolean(value))
    .map(([field]) => ({
      severity: field === 'match' ? 'error' : 'warning',
      path: `spec.analysis.${field}`,
      message:
        field === 'match' ? 'is not supported with appProtocol tcp' : 'has no effect with appProtocol tcp',
    }));
}
