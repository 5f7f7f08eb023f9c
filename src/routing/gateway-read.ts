/** Reads traffic, and whether Gateways took it, back from an HTTPRoute. */
import type { KubernetesObject } from '../api/kubernetes.ts';
import { type BackendFields, byOthers, othersIn } from './other-backends.ts';
import { percentOf, unreadable } from './route-object.ts';
import type { RouteContext, RouteReading } from './router.ts';

interface ParentRef {
  group?: string;
  kind?: string;
  name: string;
  namespace?: string;
  sectionName?: string;
  port?: number;
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
  status?: { parents?: Array<{ parentRef: ParentRef; conditions?: RouteCondition[] }> };
}

/** Where an HTTPRoute names its backends. */
export const httpRouteBackends: BackendFields = { rules: 'rules', backends: 'backendRefs', unweighted: 1 };

/** Weights of the rule with both backends, and acceptance by every parent at the current generation. */
export function readHttpRoute(route: HttpRoute, context: RouteContext): RouteReading {
  const { names } = context;
  const others = othersIn(context, route, httpRouteBackends);
  if (others === 'serving') return byOthers(context, `HTTPRoute ${names.apex}`, refusal(route));
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
  const mirrored = (split.filters ?? []).some(
    ({ type, requestMirror }) => type === 'RequestMirror' && requestMirror?.backendRef?.name === names.canary,
  );
  const matched = (route.spec.rules ?? []).some(
    ({ backendRefs }) => backendRefs?.length === 1 && backendRefs[0]?.name === names.primary,
  );
  const problem = refusal(route);
  const taken = { accepted: problem === undefined, ...(problem ? { problem } : {}) };
  return { ...weights, mirrored, matched, ...taken, ...named };
}

/** Why some parent has not taken the route's current generation, undefined when all have. */
function refusal(route: HttpRoute): string | undefined {
  const parents = route.spec.parentRefs ?? [];
  if (parents.length === 0) return 'HTTPRoute has no parentRefs';
  return parents.map((parent) => parentRefusal(route, parent)).find((reason) => reason !== undefined);
}

function parentRefusal({ metadata, status }: HttpRoute, parent: ParentRef): string | undefined {
  const title = `${parent.kind ?? 'Gateway'} ${parent.namespace ?? metadata.namespace}/${parent.name}`;
  const entries = (status?.parents ?? []).filter(({ parentRef }) =>
    sameParent(parentRef, parent, metadata.namespace),
  );
  if (entries.length === 0) return `${title} has not answered yet: no status for it in the HTTPRoute`;
  for (const type of ['Accepted', 'ResolvedRefs'] as const) {
    const conditions = entries.flatMap((entry) =>
      (entry.conditions ?? []).filter((one) => one.type === type),
    );
    const reason = conditionRefusal(conditions, type, metadata.generation ?? 0);
    if (reason) return `${title}: ${reason}`;
  }
  return undefined;
}

/** Accepted has to be there; ResolvedRefs counts only if it is False now, since Flagger does not ask for it. */
function conditionRefusal(
  conditions: readonly RouteCondition[],
  type: string,
  generation: number,
): string | undefined {
  if (conditions.length === 0) return type === 'Accepted' ? 'condition Accepted is missing' : undefined;
  const refused = conditions.find(({ status }) => status !== 'True');
  if (refused)
    return `${type} is ${refused.status}, ${refused.reason ?? 'no reason'}: ${refused.message ?? ''}`.trim();
  const stale = conditions.some(({ observedGeneration }) => (observedGeneration ?? 0) < generation);
  return stale ? `${type} is for an older generation than ${generation}` : undefined;
}

function sameParent(left: ParentRef, right: ParentRef, routeNamespace: string | undefined): boolean {
  return (
    (left.group ?? 'gateway.networking.k8s.io') === (right.group ?? 'gateway.networking.k8s.io') &&
    (left.kind ?? 'Gateway') === (right.kind ?? 'Gateway') &&
    left.name === right.name &&
    (left.namespace ?? routeNamespace) === (right.namespace ?? routeNamespace) &&
    left.sectionName === right.sectionName &&
    left.port === right.port
  );
}
