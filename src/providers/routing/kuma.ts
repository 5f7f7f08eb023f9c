/** Provider `kuma`: a TrafficRoute called as the apex, which is in no namespace (flagger-behaviour.md 3.10). */
import { type KubernetesObject, keepAwayAnnotations, ownLabels } from '../../api/kubernetes.ts';
import type { RouteTarget } from '../../api/observed.ts';
import type { RouteContext } from '../../contracts/routing.ts';
import { envoyMetrics, literal } from './request-metrics.ts';
import {
  assertWeights,
  findRoute,
  ignoredBut,
  percentOf,
  portOf,
  type RouteReading,
  type RoutingProvider,
  requestFields,
  taken,
  unreadable,
  weightsOnly,
} from './router.ts';

const trafficRoute = { apiVersion: 'kuma.io/v1alpha1', kind: 'TrafficRoute', namespace: '' };
const meshAnnotation = 'kuma.io/mesh';
const tag = 'kuma.io/service';

/** The router of provider `kuma`. */
export const kuma: RoutingProvider = {
  name: 'kuma',
  kinds: [trafficRoute],
  resources: ['trafficroutes.kuma.io'],
  requests: {
    ...envoyMetrics,
    selector: ({ namespace, ownService }) =>
      `service=~"${literal(ownService)}_${literal(namespace)}_svc_[0-9a-zA-Z-]+"`,
  },
  apexFollowsTraffic: false,
  ignores: () => [...ignoredBut(), ...requestFields],
  check: (canary) => weightsOnly(canary, 'kuma'),
  objects,
  read,
};

/** The name that Kuma gives a Service, without its port, which may change: the TrafficRoute stays the same one. */
function tagBefore({ canary }: RouteContext, service: string): string {
  return `${service}_${canary.metadata.namespace ?? 'default'}_svc_`;
}

/** Without an owner: one in a namespace cannot own what is in none. It stays when the Canary is deleted, as in Flagger. */
function objects(
  context: RouteContext,
  target: RouteTarget,
  live: readonly KubernetesObject[],
): KubernetesObject[] {
  assertWeights(target);
  const found = findRoute(context, trafficRoute, live);
  if (found && !isOwn(context, found)) return [];
  const { apex } = context.names;
  const custom = context.canary.spec.service?.apex;
  const to = (side: 'primary' | 'canary', weight: number) => ({
    weight,
    destination: { [tag]: `${tagBefore(context, context.names[side])}${portOf(context, side)}` },
  });
  // The apex has the ports of the primary.
  const match = { [tag]: `${tagBefore(context, apex)}${portOf(context, 'primary')}` };
  const { apiVersion, kind } = trafficRoute;
  return [
    {
      apiVersion,
      kind,
      mesh: context.canary.metadata.annotations?.[meshAnnotation] ?? 'default',
      metadata: {
        name: apex,
        labels: { ...custom?.labels, ...ownLabels(context.canary) },
        annotations: { ...custom?.annotations, ...keepAwayAnnotations },
      },
      spec: {
        sources: [{ match: { [tag]: '*' } }],
        destinations: [{ match }],
        conf: { split: [to('primary', target.primaryWeight), to('canary', target.canaryWeight)] },
      },
    },
  ];
}

interface TrafficRouteSpec {
  readonly destinations?: ReadonlyArray<{ readonly match?: Readonly<Record<string, string>> }>;
  readonly conf?: {
    readonly split?: ReadonlyArray<{
      readonly weight?: number;
      readonly destination?: Readonly<Record<string, string>>;
    }>;
  };
}

/** Two namespaces may have a Service of the same name, but there is only one TrafficRoute of it. */
function isOwn(context: RouteContext, { spec }: KubernetesObject): boolean {
  const { destinations } = (spec ?? {}) as TrafficRouteSpec;
  const wanted = tagBefore(context, context.names.apex);
  // Its schema takes anything here.
  if (!Array.isArray(destinations)) return true;
  return destinations.every((one) => String(one?.match?.[tag] ?? wanted).startsWith(wanted));
}

function read(context: RouteContext, live: readonly KubernetesObject[]): RouteReading | undefined {
  const found = findRoute(context, trafficRoute, live);
  if (!found) return undefined;
  const { apex, primary, canary } = context.names;
  if (!isOwn(context, found)) {
    const message = `TrafficRoute ${apex} divides the requests of another Service; TrafficRoutes have no namespace: give spec.service.name a name that no other namespace uses`;
    return unreadable(message);
  }
  const { conf } = (found.spec ?? {}) as TrafficRouteSpec;
  const weightOf = (service: string) =>
    conf?.split?.find(({ destination }) => destination?.[tag]?.startsWith(tagBefore(context, service)))
      ?.weight;
  const split = percentOf(weightOf(primary), weightOf(canary));
  return split ? taken(split) : unreadable(`TrafficRoute ${apex}: no weights for ${primary} and ${canary}`);
}
