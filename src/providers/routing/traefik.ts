/** Provider `traefik`: a TraefikService called as the apex, to which users point an IngressRoute (flagger-behaviour.md 3.9). */
import { isGenerated, type KubernetesObject, takenOverAnnotation } from '../../api/kubernetes.ts';
import type { RouteTarget } from '../../api/observed.ts';
import type { RouteContext } from '../../contracts/routing.ts';
import { literal } from './request-metrics.ts';
import {
  assertWeights,
  findRoute,
  ignoredBut,
  percentOf,
  portOf,
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
  const backend = (side: 'primary' | 'canary', weight: number) => ({
    name: context.names[side],
    namespace,
    port: portOf(context, side),
    weight,
  });
  const services = [
    backend('primary', target.primaryWeight),
    ...(target.canaryWeight > 0 ? [backend('canary', target.canaryWeight)] : []),
  ];
  const found = findRoute(context, traefikService, live);
  if (found && foreignProblem(context, found)) return [];
  const metadata = routeMetadata(context, found);
  return [{ ...traefikService, metadata, spec: { weighted: { services } } }];
}

interface Backend {
  readonly name: string;
  readonly weight?: number;
}

function servicesIn({ spec }: KubernetesObject): readonly Backend[] {
  const { weighted } = (spec ?? {}) as { weighted?: { services?: readonly Backend[] } };
  return weighted?.services ?? [];
}

/** The first Service besides the two sides that gets requests. */
function otherIn({ names: { primary, canary } }: RouteContext, found: KubernetesObject): Backend | undefined {
  return servicesIn(found).find(({ name, weight = 1 }) => name !== primary && name !== canary && weight > 0);
}

/** Why this TraefikService is not to be written: others made it, and use it for more than the two sides. */
function foreignProblem(context: RouteContext, found: KubernetesObject): string | undefined {
  const isTaken = found.metadata.annotations?.[takenOverAnnotation] !== undefined;
  const other = isTaken || isGenerated(found, context.canary) ? undefined : otherIn(context, found);
  return (
    other &&
    `TraefikService ${found.metadata.name} was not made for this Canary and leads to ${other.name}; take that out, or choose another spec.service.name`
  );
}

function read(context: RouteContext, live: readonly KubernetesObject[]): RouteReading | undefined {
  const found = findRoute(context, traefikService, live);
  if (!found) return undefined;
  const { apex, primary, canary } = context.names;
  const weightOf = (wanted: string) => {
    const backend = servicesIn(found).find(({ name }) => name === wanted);
    return backend ? (backend.weight ?? 1) : 0;
  };
  const split = percentOf(weightOf(primary), weightOf(canary));
  const foreign = foreignProblem(context, found);
  if (!split)
    return unreadable(foreign ?? `TraefikService ${apex}: it has no weights for ${primary} and ${canary}`);
  const other = otherIn(context, found);
  return taken(split, foreign ?? (other && `TraefikService ${apex}: requests also go to ${other.name}`));
}
