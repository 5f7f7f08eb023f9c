/** What a routing provider is asked with, for one Canary. */
import type { Canary } from '../../api/canary.ts';
import { sharesWorkload } from '../../api/effective.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { workloadKind } from '../../workload/kinds.ts';
import { serviceNames } from '../../workload/names.ts';
import { type SelectorLabel, selectorLabel } from '../../workload/selector.ts';
import type { CanaryParts } from '../canary/canary-parts.ts';
import { keyOf } from '../canary/checks.ts';
import { EngineError } from '../failure.ts';
import { type NamespaceView, serviceKind } from '../observe/namespace-view.ts';
import type { RouteContext, Router } from '../ports/routing-port.ts';

/** The router of a provider. Throws EngineError UnknownProvider. */
export function routerOf(parts: Pick<CanaryParts, 'routing'>, provider: string): Router {
  const router = parts.routing(provider);
  if (router) return router;
  throw new EngineError(
    'UnknownProvider',
    `spec.provider: this version cannot route traffic with ${provider}`,
  );
}

/** Whether the target is there, or wanted: before that there is nothing to route to. */
export function isTargetKnown(
  { heads }: Pick<CanaryParts, 'heads'>,
  canary: Canary,
  target: KubernetesObject | undefined,
): boolean {
  return target !== undefined || heads.of(keyOf(canary)).release !== undefined;
}

/**
 * The label that tells the two workloads apart: of the live target, or of the one Git wants. Undefined when there is neither, and where the
 * two sides are no workloads of ours.
 */
export function labelOf(
  parts: Pick<CanaryParts, 'heads' | 'options'>,
  canary: Canary,
  target: KubernetesObject | undefined,
): SelectorLabel | undefined {
  if (workloadKind(canary).sides !== 'workloads') return undefined;
  const source = target ?? parts.heads.of(keyOf(canary)).release?.target;
  return source && selectorLabel(source, parts.options.selectorLabels);
}

/** What a router is asked with. */
export function routeContext(
  canary: Canary,
  label: SelectorLabel | undefined,
  more: Pick<RouteContext, 'apex' | 'successor'> = {},
): RouteContext {
  return { canary, names: serviceNames(canary), label, ...more };
}

/** The route as Git holds it, which takes the place of the Canary's when that has moved to a provider without one; undefined: there is none. */
export function successorOf(
  { heads }: Pick<CanaryParts, 'heads'>,
  canary: Canary,
  { router, movesTo }: { readonly router: Router; readonly movesTo: string | undefined },
): KubernetesObject | undefined {
  if (movesTo === undefined || !sharesWorkload(movesTo)) return undefined;
  const context = routeContext(canary, undefined);
  const held = (heads.of(keyOf(canary)).shared ?? []).filter(
    ({ metadata }) => metadata.name === context.names.apex,
  );
  return held.find((object) => isOfRouter(router, object) && router.isSucceededBy?.(context, object));
}

function isOfRouter({ kinds }: Router, { apiVersion, kind }: KubernetesObject): boolean {
  return kinds.some((one) => one.apiVersion === apiVersion && one.kind === kind);
}

/** Live routing objects and Services that a router may look at. */
export function liveRoutes(router: Router, view: NamespaceView, canary: Canary): KubernetesObject[] {
  const { apex } = serviceNames(canary);
  const routes = router.kinds.filter(({ apiVersion, kind }) => {
    return kind !== serviceKind.kind || apiVersion !== serviceKind.apiVersion;
  });
  const kinds = [...routes, serviceKind];
  return kinds.map((kind) => view.get(kind, apex)).filter((object) => object !== undefined);
}
