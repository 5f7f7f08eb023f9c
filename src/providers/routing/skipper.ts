/** Provider `skipper`: a second Ingress that divides requests by Skipper's backend weights (flagger-behaviour.md 3.8). */
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { RouteTarget } from '../../api/observed.ts';
import type { RouteContext } from '../../contracts/routing.ts';
import {
  ingressesOf,
  ingressKind,
  ingressNames,
  ingressReferences,
  mapPaths,
  serviceNamesIn,
  withService,
} from './ingress.ts';
import {
  assertWeights,
  derivedMetadata,
  ignoredBut,
  percentOf,
  type RouteReading,
  type RoutingProvider,
  requestFields,
  taken,
  unreadable,
  weightsOnly,
} from './router.ts';

const weightsAnnotation = 'zalando.org/backend-weights';
const predicateAnnotation = 'zalando.org/skipper-predicate';
/** Before the predicates of the users' Ingress: the canary's is preferred to it, or never taken. */
const ahead = 'Weight(100)';
const never = 'False()';

/** The router of provider `skipper`. */
export const skipper: RoutingProvider = {
  name: 'skipper',
  kinds: [ingressKind],
  resources: ['ingresses.networking.k8s.io'],
  requests: {
    counter: 'skipper_response_duration_seconds_bucket',
    good: 'code!~"5.."',
    only: { counter: 'le="+Inf"' },
    mean: 'skipper_serve_route_duration_seconds',
    factor: 1_000,
    selector: ({ namespace, ingress, ownService }) => `route=~"${routeIds(namespace, ingress, ownService)}"`,
  },
  apexFollowsTraffic: false,
  ignores: () => [...ignoredBut('spec.ingressRef'), ...requestFields],
  references: ingressReferences,
  check: (canary) => weightsOnly(canary, 'skipper'),
  objects,
  read,
};

/** Names that Skipper gives the routes to a Service: requests of the primary also come through the Ingress of the users, to the apex. */
function routeIds(namespace: string, ingress: string, ownService: string): string {
  const word = (text: string) => text.replaceAll(/\W/g, '_');
  const ofCanary = `${word(ingress)}_canary__.*__${word(ownService)}`;
  const apex = ownService.replace(/-primary$/, '');
  const named = apex === ownService ? ofCanary : `(${ofCanary}|${word(ingress)}__.*__${word(apex)})`;
  return `kube(ew)?_${word(namespace)}__${named}(_[0-9]+)?`;
}

/** Each path to the apex becomes two: Skipper divides between equal paths by the weights of their Services. */
function objects(
  context: RouteContext,
  target: RouteTarget,
  live: readonly KubernetesObject[],
): KubernetesObject[] {
  assertWeights(target);
  const { source, own } = ingressesOf(context, live);
  const from = source ?? own;
  if (!from) return [];
  const { apex, primary, canary } = context.names;
  const metadata = derivedMetadata(context, ingressNames(context.canary).own, from);
  const { canaryWeight } = target;
  const predicates = (metadata.annotations?.[predicateAnnotation] ?? '')
    .split('&&')
    .map((one) => one.trim())
    .filter((one) => one !== '' && one !== ahead && one !== never);
  const annotations = {
    ...metadata.annotations,
    [weightsAnnotation]: JSON.stringify(weightsWith(context, metadata, target)),
    [predicateAnnotation]: [canaryWeight > 0 ? ahead : never, ...predicates].join(' && '),
  };
  const spec = mapPaths(from.spec, (path) => {
    const { backend } = path;
    if (backend?.service?.name !== apex) return [path];
    return [primary, canary].map((name) => ({ ...path, backend: withService(backend, () => name) }));
  });
  return [{ ...ingressKind, metadata: { ...metadata, annotations }, spec }];
}

/** The users' own weights of other Services stay, and both sides have that of the apex together. */
function weightsWith(
  { names }: RouteContext,
  { annotations }: Pick<KubernetesObject['metadata'], 'annotations'>,
  { primaryWeight, canaryWeight }: RouteTarget,
): Record<string, number> {
  const { apex, primary, canary } = names;
  const users = weightsIn(annotations?.[weightsAnnotation]);
  const { [apex]: ofApex, [primary]: ofPrimary = 0, [canary]: ofCanary = 0, ...others } = users;
  const whole = (ofApex ?? ofPrimary + ofCanary) || 100;
  const at = (percent: number) => (percent * whole) / 100;
  return { ...others, [primary]: at(primaryWeight), [canary]: at(canaryWeight) };
}

function read(context: RouteContext, live: readonly KubernetesObject[]): RouteReading | undefined {
  const { own, problem } = ingressesOf(context, live);
  if (!own) return problem === undefined ? undefined : unreadable(problem);
  const { name, annotations = {} } = own.metadata;
  const { primary, canary } = context.names;
  const services = serviceNamesIn(own.spec);
  if (![primary, canary].every((service) => services.includes(service)))
    return unreadable(`Ingress ${name}: no path leads to both ${primary} and ${canary}`);
  const predicate = annotations[predicateAnnotation] ?? '';
  if (predicate.startsWith(never)) return taken({ primaryWeight: 100, canaryWeight: 0 }, problem);
  const weights = weightsIn(annotations[weightsAnnotation]);
  const split = percentOf(weights[primary], weights[canary]);
  if (!split) {
    const what = `has no weights for ${primary} and ${canary}`;
    return unreadable(`Ingress ${name}: its annotation ${weightsAnnotation} ${what}`);
  }
  return taken(split, problem);
}

function weightsIn(text = ''): Record<string, number> {
  try {
    const weights = JSON.parse(text) as Record<string, unknown> | null;
    return Object.fromEntries(
      Object.entries(weights ?? {}).filter(
        (entry): entry is [string, number] => typeof entry[1] === 'number',
      ),
    );
  } catch {
    return {};
  }
}
