/** Provider `kubernetes`: no traffic object. All traffic goes where the apex Service's selector points (design section 4, "clear"). */
import type { Canary } from '../../api/canary/canary.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { RouteTarget } from '../../api/observed.ts';
import type { RouteContext, RouteProblem } from '../../contracts/routing.ts';
import { applicationMetrics } from './request-metrics.ts';
import {
  assertWeights,
  findRoute,
  ignoredBut,
  type RouteReading,
  type RoutingProvider,
  requestFields,
  unreadable,
} from './router.ts';

const service = { apiVersion: 'v1', kind: 'Service' };

/** The router of provider `kubernetes`. */
export const kubernetes: RoutingProvider = {
  name: 'kubernetes',
  kinds: [service],
  resources: [],
  requests: applicationMetrics,
  apexFollowsTraffic: true,
  ignores: () => [...ignoredBut(), ...requestFields],
  check,
  objects,
  read,
};

/** As Flagger: A/B conditions are left out, and steps become iterations (flagger-behaviour.md 2.2 step 27). */
function check({ spec }: Canary): RouteProblem[] {
  const problems: RouteProblem[] = [];
  const warn = (field: string, message: string): void => {
    problems.push({ severity: 'warning', path: `spec.analysis.${field}`, message });
  };
  if (spec.analysis?.match?.length) warn('match', 'is ignored: provider kubernetes cannot route by request');
  if (spec.analysis?.sessionAffinity) warn('sessionAffinity', 'has no effect with provider kubernetes');
  if ((spec.analysis?.iterations ?? 0) < 1 && !spec.skipAnalysis)
    warn('iterations', 'defaults to 10: provider kubernetes cannot split traffic by weight');
  return problems;
}

/** The apex Service, selecting the side with the traffic. Throws RangeError for a split, which a selector cannot express. */
function objects({ apex, label }: RouteContext, target: RouteTarget): KubernetesObject[] {
  assertWeights(target);
  const { canaryWeight } = target;
  if (canaryWeight !== 0 && canaryWeight !== 100)
    throw new RangeError(`provider kubernetes cannot send ${canaryWeight} % to the canary, only 0 or 100`);
  if (!apex || !label)
    throw new Error(
      'provider kubernetes needs the apex Service that is to be written, and the label it selects by',
    );
  const selector = { [label.key]: canaryWeight === 100 ? label.canary : label.primary };
  return [{ ...apex, spec: { ...(apex.spec as object), selector } }];
}

function read(context: RouteContext, live: readonly KubernetesObject[]): RouteReading | undefined {
  const apex = findRoute(context, service, live);
  if (!apex) return undefined;
  if (!context.label)
    return unreadable(`Service ${context.names.apex} is the target and cannot be the route`);
  const { key, primary, canary } = context.label;
  const value = (apex.spec as { selector?: Record<string, string> } | undefined)?.selector?.[key];
  const taken = { mirrored: false, matched: false, accepted: true };
  if (value === primary) return { primaryWeight: 100, canaryWeight: 0, ...taken };
  if (value === canary) return { primaryWeight: 0, canaryWeight: 100, ...taken };
  return unreadable(
    `Service ${context.names.apex}: spec.selector[${key}] is ${value ?? 'absent'}, neither ${primary} nor ${canary}`,
  );
}
