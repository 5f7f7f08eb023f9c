/** Reads traffic, and whether Gateways took it, back from an HTTPRoute. */
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { RouteContext } from '../../contracts/routing.ts';
import { type BackendFields, foreignReading, foreignTraffic } from './foreign-backends.ts';
import { percentOf, type RouteReading, unreadable } from './router.ts';

interface ParentRef {
  group?: string | undefined;
  kind?: string | undefined;
  name: string;
  namespace?: string | undefined;
  sectionName?: string | undefined;
  port?: number | undefined;
}

interface RouteCondition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  observedGeneration?: number;
}

/** The part of an HTTPRoute that is read. */
export interface HttpRoute extends KubernetesObject {
  spec: {
    parentRefs?: ParentRef[];
    rules?: Array<{
      backendRefs?: Array<{ name: string; weight?: number; filters?: unknown[] }>;
      filters?: Array<{ type: string; requestMirror?: { backendRef?: { name?: string } } }>;
    }>;
  };
  status?: {
    parents?: Array<{ parentRef: ParentRef; controllerName?: string; conditions?: RouteCondition[] }>;
  };
}

/** Where an HTTPRoute names its backends. */
export const httpRouteBackends: BackendFields = { rules: 'rules', backends: 'backendRefs', unweighted: 1 };

/** Weights of the rule with both backends, and acceptance at the current generation by every parent that the Canary and the route name. */
export function readHttpRoute(route: HttpRoute, context: RouteContext): RouteReading {
  const { names } = context;
  const others = foreignTraffic(context, route, httpRouteBackends);
  if (others === 'serving') return foreignReading(context, `HTTPRoute ${names.apex}`, refusal(route, []));
  const splits = (route.spec.rules ?? []).filter(({ backendRefs }) =>
    [names.primary, names.canary].every((name) => backendRefs?.some((backend) => backend.name === name)),
  );
  // Users that stay where they are have rules of their own; the one by weight gives out their cookies.
  const split =
    splits.find(({ backendRefs }) => backendRefs?.some(({ filters }) => filters?.length)) ?? splits[0];
  const weightOf = (name: string): number | undefined => {
    const backend = split?.backendRefs?.find((one) => one.name === name);
    return backend && (backend.weight ?? 1);
  };
  const weights = percentOf(weightOf(names.primary), weightOf(names.canary));
  const named = others && { others };
  if (!split || !weights) {
    const message = `HTTPRoute ${names.apex}: no rule has weights for ${names.primary} and ${names.canary}`;
    return { ...unreadable(message), ...named };
  }
  const mirrors = (split.filters ?? []).filter(
    ({ type, requestMirror }) => type === 'RequestMirror' && requestMirror?.backendRef?.name === names.canary,
  );
  // The Canary may ask for one of its own, whatever is tried.
  const asked = (context.canary.spec.service?.mirror ?? []).filter(
    ({ backendRef }) => backendRef?.name === names.canary,
  );
  const mirrored = mirrors.length > asked.length;
  const matched = (route.spec.rules ?? []).some(
    ({ backendRefs }) => backendRefs?.length === 1 && backendRefs[0]?.name === names.primary,
  );
  const problem = refusal(route, context.canary.spec.service?.gatewayRefs ?? []);
  const taken = { accepted: problem === undefined, ...(problem ? { problem } : {}) };
  return { ...weights, mirrored, matched, ...taken, ...named };
}

/**
 * Why a parent has not accepted the current generation of the route; undefined when all have. `named` are the required parents.
 *
 * The Gateway's condition Programmed does not count: it is about the Gateway's generation, not about a route.
 */
export function refusal(route: HttpRoute, named: readonly ParentRef[]): string | undefined {
  const { name, namespace } = route.metadata;
  const parents = route.spec.parentRefs ?? [];
  if (parents.length === 0) return `HTTPRoute ${name} has no parentRefs, so no Gateway serves it`;
  const absent = named.find((one) => !parents.some((parent) => sameParent(one, parent, namespace)));
  if (absent) return `HTTPRoute ${name} does not name ${titleOf(absent, namespace)} in its parentRefs`;
  return parents.map((parent) => parentRefusal(route, parent)).find((reason) => reason !== undefined);
}

/**
 * Where several controllers answer for one parent, all have to accept: which one serves the requests is not known here. But one that does not
 * know the parent is not it: Traefik up to 3.6 says so of the Gateways of others.
 */
function parentRefusal({ metadata, status }: HttpRoute, parent: ParentRef): string | undefined {
  const { name, namespace, generation = 0 } = metadata;
  const title = titleOf(parent, namespace);
  const all = (status?.parents ?? []).filter(({ parentRef }) => sameParent(parentRef, parent, namespace));
  const known = all.filter(({ conditions }) => !conditions?.some(isUnknownParent));
  const answers = known.length > 0 ? known : all;
  if (answers.length === 0)
    return `${title} has not reported a status for HTTPRoute ${name} yet; check that it exists and that its controller runs`;
  for (const { conditions = [], controllerName } of answers) {
    const reason = answerRefusal(conditions, name, generation);
    if (reason === undefined) continue;
    if (answers.length === 1 || !controllerName) return `${title} ${reason}`;
    return `${title} (${controllerName}) ${reason}; if that controller is gone, remove its entry from status.parents`;
  }
  return undefined;
}

function isUnknownParent({ type, status, reason }: RouteCondition): boolean {
  return type === 'Accepted' && status === 'False' && reason === 'NoMatchingParent';
}

/**
 * An answer about an older generation does not count; Linkerd's name none, and are all there is. ResolvedRefs counts where it is reported:
 * Flagger does not check it.
 */
function answerRefusal(
  conditions: readonly RouteCondition[],
  route: string,
  generation: number,
): string | undefined {
  const isOld = ({ observedGeneration = generation }: RouteCondition) => observedGeneration < generation;
  const about = (type: string) => conditions.filter((condition) => condition.type === type);
  const relevant = [...about('Accepted'), ...about('ResolvedRefs')];
  if (relevant.some(isOld))
    return `has not observed generation ${generation} of HTTPRoute ${route} yet; check that its controller runs`;
  if (about('Accepted').length === 0)
    return `has not accepted HTTPRoute ${route} yet: condition Accepted is missing`;
  // Some rules are not in effect, or those of an older generation still are.
  const partly = about('PartiallyInvalid').find((one) => one.status === 'True' && !isOld(one));
  const refused = relevant.find(({ status }) => status !== 'True') ?? partly;
  if (!refused) return undefined;
  const { type, status, reason = 'no reason', message } = refused;
  const why = message ? `${reason}: ${message}` : reason;
  return `does not accept HTTPRoute ${route}: ${type} is ${status}, ${why}`.trim();
}

function titleOf(
  { kind = 'Gateway', name, namespace }: ParentRef,
  routeNamespace: string | undefined,
): string {
  return `${kind} ${namespace ?? routeNamespace}/${name}`;
}

/** Linkerd calls the group of Services `core`, which the Gateway API leaves empty. */
function groupOf({ group = 'gateway.networking.k8s.io' }: ParentRef): string {
  return group === 'core' ? '' : group;
}

function sameParent(left: ParentRef, right: ParentRef, routeNamespace: string | undefined): boolean {
  return (
    groupOf(left) === groupOf(right) &&
    (left.kind ?? 'Gateway') === (right.kind ?? 'Gateway') &&
    left.name === right.name &&
    (left.namespace ?? routeNamespace) === (right.namespace ?? routeNamespace) &&
    left.sectionName === right.sectionName &&
    left.port === right.port
  );
}
