/** `trafficRouting` of a Rollout as a provider of a Canary: one row each. Pure. */
import type { Document } from 'yaml';
import { isMap, isSeq } from 'yaml';
import type { CanarySpec } from '../../api/canary/canary.ts';
import { listOf, recordOf, recordsOf, textOf } from '../../api/kubernetes.ts';
import { edited, type Files, identityOf } from '../edit.ts';
import type { Placed } from '../tree.ts';
import { type FieldPlace, type Report, type Rule, tell, tellFields } from './report.ts';

/** Who divides the requests, and between what. */
export interface Routing {
  readonly spec: Pick<CanarySpec, 'provider' | 'routeRef' | 'ingressRef'>;
  /** The Service that users are sent to; undefined: none is generated. */
  readonly apex: string | undefined;
  /** Takes what Argo Rollouts divided out of the routes. */
  readonly edit: (files: Files) => Files;
}

/** What a row is about. */
interface RoutingContext {
  readonly report: Report;
  readonly placed: Placed;
  readonly namespace: string | undefined;
  readonly stable: string | undefined;
  readonly canary: string | undefined;
  readonly find: (kind: string, name: string) => Placed | undefined;
}

type Row = (context: RoutingContext, place: FieldPlace, given: unknown) => Routing | undefined;

const unchanged = (files: Files) => files;
const oneOnly =
  'has several, and a Canary divides one route; leave one, and make the others its copies by hand';
const noRow = (message: string): Row => {
  return ({ report }, { placed, at }) => void tell(report, placed, at, ['stop', message]);
};
const elsewhere =
  'use another router (see the guide to routing), or take trafficRouting out, so that the share of the pods is the weight';

const rows: Readonly<Record<string, Row>> = {
  nginx: (context, place, given) => {
    const { stableIngress, stableIngresses } = recordOf(given);
    const [ingress, ...others] = [stableIngress, ...listOf(stableIngresses)].flatMap(
      (name) => textOf(name) ?? [],
    );
    tellFields(context.report, place, given, {
      stableIngress: ['converted', 'is ingressRef'],
      stableIngresses: others.length > 0 ? ['stop', oneOnly] : ['converted', 'is ingressRef'],
      annotationPrefix: [
        'differs',
        'is a flag here: holdfast run --ingress-annotations-prefix, for all Canaries',
      ],
      additionalIngressAnnotations: [
        'stop',
        'has no counterpart: the canary Ingress has the annotations of yours, and weights; for requests by header use analysis.match with iterations',
      ],
      canaryIngressAnnotations: ['differs', 'is left out: the canary Ingress has the annotations of yours'],
    });
    const ingressRef = { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress' as const, name: ingress ?? '' };
    return { spec: { provider: 'nginx', ingressRef }, apex: context.stable, edit: unchanged };
  },
  istio: istioRouting,
  traefik: (context, place, given) => {
    const { weightedTraefikServiceName: name } = recordOf(given);
    const isApex = name === context.stable;
    tellFields(context.report, place, given, {
      weightedTraefikServiceName: isApex
        ? ['converted', 'is the TraefikService that Holdfast writes']
        : [
            'differs',
            `Holdfast writes TraefikService ${context.stable}: let your IngressRoute lead to it in the second step`,
          ],
    });
    return { spec: { provider: 'traefik' }, apex: context.stable, edit: unchanged };
  },
  apisix: (context, place, given) => {
    const { route } = recordOf(given);
    tellFields(context.report, place, given, { route: undefined });
    tellFields(context.report, { ...place, at: `${place.at}.route` }, route, {
      name: ['converted', 'is routeRef'],
      rules: ['differs', 'is not read: the ApisixRoute must have one HTTP rule'],
    });
    const name = textOf(recordOf(route).name) ?? '';
    const routeRef = { apiVersion: 'apisix.apache.org/v2', kind: 'ApisixRoute' as const, name };
    return {
      spec: { provider: 'apisix', routeRef },
      apex: context.stable,
      edit: routeEdit(context, 'ApisixRoute', name, 'serviceName'),
    };
  },
  smi: (context, place, given) => {
    const { rootService } = recordOf(given);
    tellFields(context.report, place, given, {
      rootService: ['converted', 'is service.name'],
      trafficSplitName: [
        'differs',
        'Holdfast writes a TrafficSplit with the name of the Service; that of Argo Rollouts goes with the Rollout, and no release must start before',
      ],
    });
    return {
      spec: { provider: 'smi:v1alpha1' },
      apex: textOf(rootService) ?? context.stable,
      edit: unchanged,
    };
  },
  plugins: pluginRouting,
  alb: noRow(`Holdfast does not write actions of an AWS load balancer; ${elsewhere}`),
  ambassador: noRow(`Holdfast does not write Mappings; ${elsewhere}`),
  appMesh: noRow('the virtual nodes are generated here (provider appmesh): write the Canary by hand'),
};

const notRouters: Readonly<Record<string, Rule>> = {
  managedRoutes: ['converted', 'is not needed: each step of such a route is reported itself'],
  maxTrafficWeight: ['converted', 'weights are percent here'],
};

/** The routing of a canary with `trafficRouting`; undefined where it stops, which the report says. */
export function convertRouting(context: RoutingContext, given: unknown): Routing | undefined {
  const { report, placed, stable } = context;
  const at = 'spec.strategy.canary.trafficRouting';
  const [[name = '', value] = [], ...others] = Object.entries(recordOf(given)).filter(
    ([one]) => !Object.hasOwn(notRouters, one),
  );
  for (const [one, rule] of Object.entries(notRouters))
    if (one in recordOf(given))
      tellFields(report, { placed, at }, { [one]: recordOf(given)[one] }, { [one]: rule });
  const row = Object.hasOwn(rows, name) ? rows[name] : undefined;
  if (!row || others.length > 0) {
    const message = row
      ? 'names several routers; leave one'
      : `${name || 'nothing'} is no router that is known here; ${elsewhere}`;
    tell(report, placed, at, ['stop', message]);
    return undefined;
  }
  const routing = row(context, { placed, at: `${at}.${name}` }, value);
  if (routing && !routing.apex && !stable)
    tell(report, placed, at, ['stop', 'needs stableService; Holdfast sends users to that Service']);
  if (routing && (routing.spec.routeRef ?? routing.spec.ingressRef)?.name === '')
    tell(report, placed, `${at}.${name}`, ['stop', 'names no route']);
  return routing;
}

function istioRouting(context: RoutingContext, place: FieldPlace, given: unknown): Routing | undefined {
  const { report } = context;
  const { virtualService, virtualServices, destinationRule } = recordOf(given);
  const [one, ...others] = [virtualService, ...recordsOf(virtualServices)].filter(
    (value) => value !== undefined,
  );
  tellFields(report, place, given, {
    virtualService: undefined,
    virtualServices: others.length > 0 ? ['stop', oneOnly] : undefined,
    destinationRule: [
      'differs',
      'subsets are not used: the Services of Holdfast tell the pods apart. Take its two subsets out of the DestinationRule when the Rollout is gone',
    ],
  });
  const at = virtualService === undefined ? `${place.at}.virtualServices[0]` : `${place.at}.virtualService`;
  tellFields(report, { ...place, at }, one, {
    name: ['converted', 'is routeRef'],
    routes: ['differs', 'every HTTP route that leads to the Service is divided'],
    tlsRoutes: ['stop', 'only HTTP routes are divided in a VirtualService that you keep'],
    tcpRoutes: ['stop', 'only HTTP routes are divided in a VirtualService that you keep'],
  });
  const name = textOf(recordOf(one).name) ?? '';
  const found = context.find('VirtualService', name);
  const subsets = recordOf(destinationRule);
  const apex = context.stable ?? hostIn(found, textOf(subsets.stableSubsetName));
  if (!apex)
    tell(report, place.placed, at, [
      'stop',
      `VirtualService ${name} with the host of its route is not in these files; name a folder that has it, too`,
    ]);
  const routeRef = { apiVersion: 'networking.istio.io/v1beta1', kind: 'VirtualService' as const, name };
  const edit = routeEdit(
    { ...context, stable: apex },
    'VirtualService',
    name,
    'host',
    textOf(subsets.canarySubsetName),
  );
  return { spec: { provider: 'istio', routeRef }, apex, edit };
}

function hostIn(route: Placed | undefined, subset: string | undefined): string | undefined {
  const { http } = recordOf(route?.object.spec);
  const destinations = recordsOf(http).flatMap((one) =>
    recordsOf(one.route).map(({ destination }) => recordOf(destination)),
  );
  const host = textOf(destinations.find((one) => subset === undefined || one.subset === subset)?.host);
  return host?.split('.')[0];
}

const gatewayPlugin = 'argoproj-labs/gatewayAPI';

function pluginRouting(context: RoutingContext, place: FieldPlace, given: unknown): Routing | undefined {
  const { report } = context;
  const { [gatewayPlugin]: value, ...others } = recordOf(given);
  for (const name of Object.keys(others))
    tell(report, place.placed, `${place.at}[${JSON.stringify(name)}]`, [
      'stop',
      `Holdfast has no plugins; ${elsewhere}`,
    ]);
  if (value === undefined) return undefined;
  const { httpRoute, httpRoutes, namespace } = recordOf(value);
  const [first, ...more] = [httpRoute, ...recordsOf(httpRoutes).map(({ name }) => name)].flatMap(
    (name) => textOf(name) ?? [],
  );
  const only = 'only an HTTPRoute is divided';
  const at = `${place.at}[${JSON.stringify(gatewayPlugin)}]`;
  const isOther =
    context.namespace !== undefined && namespace !== undefined && namespace !== context.namespace;
  tellFields(report, { ...place, at }, value, {
    httpRoute: ['converted', 'is routeRef'],
    httpRoutes: more.length > 0 ? ['stop', oneOnly] : ['converted', 'is routeRef'],
    namespace: isOther
      ? ['stop', 'is not that of the Rollout; a Canary divides a route of its own namespace']
      : ['converted', 'is that of the Canary'],
    grpcRoute: ['stop', only],
    grpcRoutes: ['stop', only],
    tcpRoute: ['stop', only],
    tcpRoutes: ['stop', only],
    tlsRoute: ['stop', only],
    tlsRoutes: ['stop', only],
    useHeaderRoutes: ['stop', only],
    configMap: ['converted', 'is not needed: what Holdfast remembers is in the route and the Canary'],
    inProgressLabelKey: ['converted', 'is not needed'],
    inProgressLabelValue: ['converted', 'is not needed'],
    disableInProgressLabel: ['converted', 'is not needed'],
  });
  if (!first) return undefined;
  const routeRef = { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'HTTPRoute' as const, name: first };
  return {
    spec: { provider: 'gatewayapi:v1', routeRef },
    apex: context.stable,
    edit: routeEdit(context, 'HTTPRoute', first, 'name'),
  };
}

// Routes that stay: they lead to the one Service of the Canary, which Holdfast divides in the cluster.

/** Takes the backend of the canary out of a route in the tree, and weights and the subset off the other one. */
function routeEdit(
  { report, placed, stable, canary, find }: RoutingContext,
  kind: string,
  name: string,
  key: string,
  subset?: string,
): (files: Files) => Files {
  const found = find(kind, name);
  if (!found) {
    const message = `${kind} ${name} is not in these files: let its rules lead to Service ${stable ?? ''} alone, without weights, in the first step`;
    tell(report, placed, 'spec.strategy', ['differs', message]);
    return unchanged;
  }
  const isCanary = (backend: { get(path: readonly string[]): unknown }) =>
    subset === undefined
      ? String(backend.get([key])).split('.')[0] === canary
      : backend.get(['subset']) === subset;
  tell(report, found, 'spec', [
    'converted',
    `leads to Service ${stable} alone; the weights are written in the cluster`,
  ]);
  return (files) =>
    edited(files, found.origin.file, identityOf(found.object), (document) => {
      for (const list of backendLists(document)) leaveStable(list, { stable, key, isCanary });
    });
}

/** Lists of backends: of HTTPRoutes, VirtualServices and ApisixRoutes. */
function backendLists(document: Document): unknown[] {
  const ways = [
    [['spec', 'rules'], ['backendRefs']],
    [['spec', 'http'], ['route']],
    [['spec', 'http'], ['backends']],
  ] as const;
  return ways.flatMap(([to, below]) => {
    const rules = document.getIn(to);
    return isSeq(rules) ? rules.items.flatMap((rule) => (isMap(rule) ? [rule.getIn(below)] : [])) : [];
  });
}

function leaveStable(
  list: unknown,
  {
    stable,
    key,
    isCanary,
  }: {
    readonly stable: string | undefined;
    readonly key: string;
    readonly isCanary: (backend: { get(path: readonly string[]): unknown }) => boolean;
  },
): void {
  if (!isSeq(list)) return;
  const at = (item: unknown) => {
    const backend = isMap(item) ? (item.has('destination') ? item.get('destination') : item) : undefined;
    return isMap(backend) ? backend : undefined;
  };
  const asReader = (item: unknown) => ({ get: (path: readonly string[]) => at(item)?.getIn(path) });
  const canaryAt = list.items.findIndex((item) => isCanary(asReader(item)));
  if (canaryAt < 0) return;
  list.items.splice(canaryAt, 1);
  for (const item of list.items) {
    const backend = at(item);
    if (!isMap(item) || String(backend?.get(key)).split('.')[0] !== stable) continue;
    backend?.delete('subset');
    if (list.items.length === 1) item.delete('weight');
  }
}
