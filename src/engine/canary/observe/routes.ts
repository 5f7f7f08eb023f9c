/** How the routing objects of a Canary are found and read. */
import type { Canary } from '../../../api/canary/canary.ts';
import { sharesWorkload } from '../../../api/defaults.ts';
import { type KubernetesObject, namespacedName } from '../../../api/kubernetes.ts';
import type { RouteContext, RouteReference, Router } from '../../../contracts/routing.ts';
import { workloadKind } from '../../../workload/kinds.ts';
import { serviceNames } from '../../../workload/shared/names.ts';
import { type SelectorLabel, selectorLabel } from '../../../workload/shared/selector.ts';
import type { CanaryParts } from '../context/context.ts';
import { type NamespaceView, serviceKind } from '../context/namespace-view.ts';

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
  const source = target ?? parts.heads.of(namespacedName(canary)).release?.target;
  return source && selectorLabel(source, parts.options.selectorLabels);
}

/** The Canary as routers get it. */
export function routeContext(
  canary: Canary,
  label: SelectorLabel | undefined,
  more: Pick<RouteContext, 'apex' | 'successor' | 'inGit' | 'settings'> = {},
): RouteContext {
  return { canary, names: serviceNames(canary), label, ...more };
}

/** The route in Git that replaces the Canary's once that has moved to a provider without one; undefined: there is none. */
export function successorOf(
  { heads }: Pick<CanaryParts, 'heads'>,
  canary: Canary,
  { router, movesTo }: { readonly router: Router; readonly movesTo: string | undefined },
): KubernetesObject | undefined {
  if (movesTo === undefined || !sharesWorkload(movesTo)) return undefined;
  const context = routeContext(canary, undefined);
  const held = (heads.of(namespacedName(canary)).shared ?? []).filter(
    ({ metadata }) => metadata.name === context.names.apex,
  );
  const isOfRouter = (object: KubernetesObject) =>
    router.kinds.some(({ apiVersion, kind }) => object.apiVersion === apiVersion && object.kind === kind);
  return held.find((object) => isOfRouter(object) && router.isSucceededBy?.(context, object));
}

/** The route that `spec.routeRef` names, as Git holds it; undefined: Git is not known, or holds none. */
export function keptInGit(
  { heads }: Pick<CanaryParts, 'heads'>,
  canary: Canary,
): KubernetesObject | undefined {
  const { kind, name } = canary.spec.routeRef ?? {};
  const held = heads.of(namespacedName(canary)).shared ?? [];
  return held.find((object) => object.kind === kind && object.metadata.name === name);
}

/** The objects that a router reads and writes for a Canary. */
export function routeReferences(router: Router, canary: Canary): readonly RouteReference[] {
  const names = serviceNames(canary);
  return router.references?.(canary, names) ?? router.kinds.map((kind) => ({ ...kind, name: names.apex }));
}

/** Live routing objects, and the apex Service, that a router may look at. */
export function liveRoutes(router: Router, view: NamespaceView, canary: Canary): KubernetesObject[] {
  const { apex } = serviceNames(canary);
  const isApex = ({ apiVersion, kind }: RouteReference) =>
    apiVersion === serviceKind.apiVersion && kind === serviceKind.kind;
  const routes = routeReferences(router, canary).filter((reference) => !isApex(reference));
  return [...routes, { ...serviceKind, name: apex }]
    .map((reference) => view.get(reference, reference.name))
    .filter((object) => object !== undefined);
}
