/** How the Services and routing objects of a Canary are found and read. */
import { type Canary, sharesWorkload } from '../../../api/canary/canary.ts';
import { type KubernetesObject, namespacedName } from '../../../api/kubernetes.ts';
import type { RouteContext, RouteNames, RouteReference, Router } from '../../../contracts/routing.ts';
import { workloadKind } from '../../../workload/kinds.ts';
import { type SelectorLabel, selectorLabel, serviceNames } from '../../../workload/shared/metadata.ts';
import type { CanaryParts } from '../context/context.ts';
import { type NamespaceView, serviceKind } from '../context/namespace-view.ts';
import type { ReadContext } from '../context/observation.ts';
import { routeReferences } from '../context/routers.ts';

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
  more: Pick<RouteContext, 'apex' | 'successor' | 'inGit' | 'neighbours' | 'settings'> = {},
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

/** Names of the other Canaries of the namespace that name the same route. */
export function neighboursOf({ canaries }: Pick<CanaryParts, 'canaries'>, canary: Canary): RouteNames[] {
  const { kind, name } = canary.spec.routeRef ?? {};
  if (name === undefined) return [];
  return canaries.list().flatMap((object) => {
    const { spec, metadata } = object as Partial<Canary> & KubernetesObject;
    const isOther =
      metadata.namespace === canary.metadata.namespace && metadata.name !== canary.metadata.name;
    const isSame = spec?.routeRef?.kind === kind && spec?.routeRef?.name === name;
    return isOther && isSame && spec?.targetRef?.name ? serviceNames(object as Canary) : [];
  });
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

/** The generated Services as they are. */
export function liveServices({ observation }: ReadContext) {
  const names = serviceNames(observation.canary);
  const get = (name: string) => observation.view.get(serviceKind, name);
  return { apex: get(names.apex), primary: get(names.primary), canary: get(names.canary) };
}
