/**
 * Providers `linkerd`, `smi:v1alpha1` to `smi:v1alpha3` and `osm`: a TrafficSplit called as the apex (flagger-behaviour.md 3.3). Open Service
 * Mesh is archived and the SMI specification has ended; existing setups of Flagger's users continue to work.
 */
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { RouteTarget } from '../../api/observed.ts';
import type { RouteContext, RouteKind } from '../../contracts/routing.ts';
import { istioMetrics, literal, type RequestMetrics } from './request-metrics.ts';
import {
  assertWeights,
  findRoute,
  ignoredBut,
  percentOf,
  type RouteReading,
  type RoutingProvider,
  requestFields,
  routeMetadata,
  taken,
  unreadable,
  weightsOnly,
} from './router.ts';

/** What Linkerd's proxies count where requests arrive. */
const linkerdMetrics: RequestMetrics = {
  counter: 'response_total',
  good: 'classification!="failure"',
  histogram: 'response_latency_ms_bucket',
  factor: 1,
  selector: ({ namespace, target }) =>
    `namespace="${namespace}",deployment=~"${literal(target)}",direction="inbound"`,
};

/** What the sidecars of Open Service Mesh count. */
const osmMetrics: RequestMetrics = {
  counter: 'osm_request_total',
  good: 'response_code!~"5.*"',
  histogram: 'osm_request_duration_ms_bucket',
  factor: 1,
  selector: ({ namespace, target }) =>
    `destination_namespace="${namespace}",destination_kind="Deployment",destination_name="${target}"`,
};

/** The routers of the providers with a TrafficSplit. */
export const smiProviders: readonly RoutingProvider[] = [
  splitting('linkerd', 'v1alpha1', linkerdMetrics),
  splitting('smi:v1alpha1', 'v1alpha1', istioMetrics),
  splitting('smi:v1alpha2', 'v1alpha2', istioMetrics),
  splitting('smi:v1alpha3', 'v1alpha3', istioMetrics),
  splitting('osm', 'v1alpha2', osmMetrics),
];

function splitting(name: string, version: string, requests: RequestMetrics): RoutingProvider {
  const split = { apiVersion: `split.smi-spec.io/${version}`, kind: 'TrafficSplit' };
  return {
    name,
    kinds: [split],
    resources: ['trafficsplits.split.smi-spec.io'],
    requests,
    apexFollowsTraffic: false,
    ignores: () => [...ignoredBut(), ...requestFields.filter((field) => field !== 'spec.service.hosts')],
    check: (canary) => weightsOnly(canary, name),
    objects: (context, target, live) => [trafficSplit(context, target, { split, live })],
    read: (context, live) => read(context, findRoute(context, split, live)),
  };
}

/** The split's root is the Service that clients call: the first host, where there is one. */
function trafficSplit(
  context: RouteContext,
  target: RouteTarget,
  { split, live }: { readonly split: RouteKind; readonly live: readonly KubernetesObject[] },
): KubernetesObject {
  assertWeights(target);
  const { apex, primary, canary } = context.names;
  const backends = [
    { service: canary, weight: target.canaryWeight },
    { service: primary, weight: target.primaryWeight },
  ];
  const service = context.canary.spec.service?.hosts?.[0] ?? apex;
  return {
    ...split,
    metadata: routeMetadata(context, findRoute(context, split, live)),
    spec: { service, backends },
  };
}

interface Backend {
  readonly service?: string;
  readonly weight?: number | string;
}

function read(context: RouteContext, found: KubernetesObject | undefined): RouteReading | undefined {
  if (!found) return undefined;
  const { apex, primary, canary } = context.names;
  const { backends = [] } = (found.spec ?? {}) as { backends?: readonly Backend[] };
  const weightOf = (name: string) => amountOf(backends.find(({ service }) => service === name)?.weight);
  const weights = percentOf(weightOf(primary), weightOf(canary));
  if (!weights) return unreadable(`TrafficSplit ${apex}: it has no weights for ${primary} and ${canary}`);
  const other = backends.find(
    ({ service, weight }) => service !== primary && service !== canary && (amountOf(weight) ?? 0) > 0,
  );
  return taken(weights, other && `TrafficSplit ${apex}: requests also go to ${other.service}`);
}

/** Weights of v1alpha1 are quantities, as Flagger writes them: `500m` is a half. */
function amountOf(weight: number | string | undefined): number | undefined {
  const found = /^(?<digits>\d+(\.\d+)?)(?<milli>m)?$/.exec(String(weight))?.groups;
  return found && Number(found.digits) / (found.milli ? 1_000 : 1);
}
