/** Reads traffic back from App Mesh's objects. */
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { RouteContext } from '../../contracts/routing.ts';
import type { MeshVersion } from './appmesh-versions.ts';
import { findObject, percentOf, type RouteReading, taken, unreadable } from './router.ts';

interface Targets {
  readonly action?: {
    readonly weightedTargets?: ReadonlyArray<{
      readonly virtualNodeName?: string;
      readonly virtualNodeRef?: { readonly name?: string };
      readonly weight?: number;
    }>;
  };
}

/** Weights of the first route with both sides. */
export function readMesh(
  context: RouteContext,
  version: MeshVersion,
  live: readonly KubernetesObject[],
): RouteReading | undefined {
  const { primary, canary } = context.names;
  const namespace = context.canary.metadata.namespace ?? 'default';
  const holder = version.holder(context.names, namespace);
  const found = findObject(context, holder, live);
  if (!found) return undefined;
  const { routes = [] } = (found.spec ?? {}) as { routes?: ReadonlyArray<Readonly<Record<string, Targets>>> };
  const lists = routes.map((route) => route[version.http]?.action?.weightedTargets ?? []);
  const weights = lists.flatMap((targets) => {
    const weightOf = (name: string) =>
      targets.find((one) => (one.virtualNodeRef?.name ?? one.virtualNodeName) === name)?.weight;
    return percentOf(weightOf(primary), weightOf(canary)) ?? [];
  });
  const [split] = weights;
  if (!split)
    return unreadable(`${holder.kind} ${holder.name}: no route has weights for ${primary} and ${canary}`);
  const gone = version.references(context.names, namespace).find((one) => !findObject(context, one, live));
  const missing = gone && `${gone.kind} ${gone.name} does not exist yet`;
  return taken({ ...split, matched: routes.length > 1 }, missing ?? version.refusal(found));
}
