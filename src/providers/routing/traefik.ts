/** Provider `traefik`: a TraefikService called as the apex, to which users point an IngressRoute (flagger-behaviour.md 3.9). */
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { RouteTarget } from '../../api/observed.ts';
import type { RouteContext } from '../../contracts/routing.ts';
import { literal } from './request-metrics.ts';
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

const traefikService = { apiVersion: 'traefik.io/v1alpha1', kind: 'TraefikService' };

/** The router of provider `traefik`. */
export const traefik: RoutingProvider = {
  name: 'traefik',
  kinds: [traefikService],
  resources: ['traefikservices.traefik.io'],
  requests: {
    counter: 'traefik_service_request_duration_seconds_bucket',
    good: 'code!~"5.."',
    only: { counter: 'le="+Inf"' },
    histogram: 'traefik_service_request_duration_seconds_bucket',
    factor: 1_000,
    selector: ({ namespace, ownService }) =>
      `service=~"${literal(namespace)}-${literal(ownService)}-[0-9a-zA-Z-]+@kubernetescrd"`,
  },
  apexFollowsTraffic: false,
  ignores: () => [...ignoredBut(), ...requestFields],
  check: (canary) => weightsOnly(canary, 'traefik'),
  objects,
  read,
};

/** Without a share the canary is not named: Traefik would check the health of its pods. */
function objects(
  context: RouteContext,
  target: RouteTarget,
  live: readonly KubernetesObject[],
): KubernetesObject[] {
  assertWeights(target);
  const { namespace = 'default' } = context.canary.metadata;
  const port = context.canary.spec.service?.port;
  const backend = (name: string, weight: number) => ({ name, namespace, port, weight });
  const services = [
    backend(context.names.primary, target.primaryWeight),
    ...(target.canaryWeight > 0 ? [backend(context.names.canary, target.canaryWeight)] : []),
  ];
  const metadata = routeMetadata(context, findRoute(context, traefikService, live));
  return [{ ...traefikService, metadata, spec: { weighted: { services } } }];
}

interface Backend {
  readonly name: string;
  readonly weight?: number;
}

function read(context: RouteContext, live: readonly KubernetesObject[]): RouteReading | undefined {
  const found = findRoute(context, traefikService, live);
  if (!found) return undefined;
  const { weighted } = (found.spec ?? {}) as { weighted?: { services?: readonly Backend[] } };
  const { apex, primary, canary } = context.names;
  const services = weighted?.services ?? [];
  const weightOf = (wanted: string) => {
    const backend = services.find(({ name }) => name === wanted);
    return backend ? (backend.weight ?? 1) : 0;
  };
  const split = percentOf(weightOf(primary), weightOf(canary));
  if (!split) return unreadable(`TraefikService ${apex}: it has no weights for ${primary} and ${canary}`);
  const other = services.find(({ name, weight = 1 }) => name !== primary && name !== canary && weight > 0);
  return taken(split, other && `TraefikService ${apex}: requests also go to ${other.name}`);
}
