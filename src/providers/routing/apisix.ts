/** Provider `apisix`: a second ApisixRoute with the rule of `spec.routeRef` that leads to the apex (flagger-behaviour.md 3.11). */
import type { Canary } from '../../api/canary/canary.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { RouteTarget } from '../../api/observed.ts';
import type { RouteContext, RouteNames } from '../../contracts/routing.ts';
import { literal } from './request-metrics.ts';
import {
  assertWeights,
  type Derivation,
  derivationOf,
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

const apisixRoute = { apiVersion: 'apisix.apache.org/v2', kind: 'ApisixRoute' };
/** Above the rules of users, whose priority is 0 unless they say otherwise. */
const priority = 10_000;

/** The router of provider `apisix`. */
export const apisix: RoutingProvider = {
  name: 'apisix',
  kinds: [apisixRoute],
  resources: ['apisixroutes.apisix.apache.org'],
  requests: {
    counter: 'apisix_http_status',
    good: 'code!~"5.."',
    histogram: 'apisix_http_latency_bucket',
    only: { histogram: 'type=~"request"' },
    factor: 1,
    // Of the route with both sides: APISIX counts by route, not by backend.
    selector: ({ namespace, route, ownService }) =>
      `route=~"${literal(namespace)}_${literal(route)}-${literal(ownService.replace(/-(primary|canary)$/, ''))}-canary_.+"`,
  },
  apexFollowsTraffic: false,
  ignores: () => [...ignoredBut('spec.routeRef'), ...requestFields],
  references(canary, names) {
    const { source, own } = namesOf(canary, names);
    return [source, own].map((name) => ({ ...apisixRoute, name }));
  },
  check: (canary) => weightsOnly(canary, 'apisix'),
  objects,
  read,
};

function namesOf({ spec }: Canary, { apex }: Pick<RouteNames, 'apex'>): { source: string; own: string } {
  const source = spec.routeRef?.name ?? spec.targetRef.name;
  return { source, own: `${source}-${apex}-canary` };
}

interface Backend {
  readonly serviceName?: string;
  readonly weight?: number;
}

interface Rule {
  readonly name?: string;
  readonly backends?: readonly Backend[];
}

/** A rule, and the backend in it that both sides are made of. */
interface Part {
  readonly rule?: Rule;
  readonly backend?: Backend;
}

/** The route that is ours, the rule that it is made from, and the backend in it: those of our own route where the user's cannot be used any more. */
function routesOf(context: RouteContext, live: readonly KubernetesObject[]): Derivation & Part {
  const { apex, primary } = context.names;
  const found = derivationOf(context, apisixRoute, namesOf(context.canary, context.names), live);
  const { source, own } = found;
  const [given, ...others] = partsLeadingTo(apex, source);
  if (given && others.length === 0 && given.rule?.backends?.length === 1) return { ...found, ...given };
  const what = `needs exactly one HTTP rule with Service ${apex} as its only backend`;
  const problem = source && `ApisixRoute ${source.metadata.name} ${what}`;
  return {
    ...found,
    source: undefined,
    ...partsLeadingTo(primary, own)[0],
    ...(problem ? { problem } : {}),
  };
}

function partsLeadingTo(service: string, route: KubernetesObject | undefined): Part[] {
  return (route ? rulesOf(route) : []).flatMap((rule) => {
    const backend = rule.backends?.find(({ serviceName }) => serviceName === service);
    return backend ? [{ rule, backend }] : [];
  });
}

function rulesOf({ spec }: KubernetesObject): readonly Rule[] {
  return ((spec ?? {}) as { http?: readonly Rule[] }).http ?? [];
}

function objects(
  context: RouteContext,
  target: RouteTarget,
  live: readonly KubernetesObject[],
): KubernetesObject[] {
  assertWeights(target);
  const { source, own, rule, backend } = routesOf(context, live);
  const from = source ?? own;
  if (!from || !rule || !backend) return [];
  const { primary, canary } = context.names;
  const to = (serviceName: string, weight: number) => ({ ...backend, serviceName, weight });
  const backends = [to(primary, target.primaryWeight), to(canary, target.canaryWeight)];
  const { own: name } = namesOf(context.canary, context.names);
  // What else its spec has, as the class of its controller, is about the new route, too.
  const spec = { ...(from.spec as object), http: [{ ...rule, priority, backends }] };
  return [{ ...apisixRoute, metadata: derivedMetadata(context, name, from), spec }];
}

function read(context: RouteContext, live: readonly KubernetesObject[]): RouteReading | undefined {
  const { own, problem } = routesOf(context, live);
  if (!own) return problem === undefined ? undefined : unreadable(problem);
  const { primary, canary } = context.names;
  const weightOf = (name: string) =>
    rulesOf(own)[0]?.backends?.find(({ serviceName }) => serviceName === name)?.weight;
  const split = percentOf(weightOf(primary), weightOf(canary));
  if (split) return taken(split, problem ?? refusal(own));
  return unreadable(`ApisixRoute ${own.metadata.name}: its rule has no weights for ${primary} and ${canary}`);
}

/** What its controller has against the current generation; where it says nothing, the route counts as taken. */
function refusal({ metadata, status }: KubernetesObject): string | undefined {
  const { conditions = [] } = (status ?? {}) as {
    conditions?: ReadonlyArray<{ status: string; observedGeneration?: number; message?: string }>;
  };
  const refused = conditions.find(
    (one) => one.status === 'False' && (one.observedGeneration ?? 0) >= (metadata.generation ?? 0),
  );
  return (
    refused && `ApisixRoute ${metadata.name}: APISIX does not take it: ${refused.message ?? 'no reason'}`
  );
}
