/** Which kinds are watched for Canaries. */

import { type Canary, sharesWorkload } from '../../api/canary/canary.ts';
import { canaryStatus } from '../../api/canary/summary.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { RouteKind } from '../../contracts/routing.ts';
import { watchedKinds } from '../../workload/kinds.ts';
import { endpointSliceKind } from '../../workload/pods/endpoints.ts';
import { type ScalerSpec, scalerKindOf } from '../../workload/scaler.ts';
import { type EngineOptions, type ReadParts, routeReferences } from './context/observation.ts';
import { specsOf } from './status/spec-in-force.ts';

type WatchParts = Pick<ReadParts, 'routing'> & {
  readonly options: Pick<EngineOptions, 'defaultProvider'>;
};

/** The kinds to watch for a Canary besides those every Canary needs: of its target, its scaler and its routes. */
export function kindsOf(canary: KubernetesObject, { routing, options }: WatchParts): RouteKind[] {
  const { spec, status } = canary;
  const { provider, ...scaled } = (spec ?? {}) as { provider?: string } & ScalerSpec;
  const scaler = scalerKindOf(scaled);
  // Also of the one that it moves away from.
  const current = (status as { provider?: string } | undefined)?.provider;
  const providers = [provider ?? options.defaultProvider, ...(current === undefined ? [] : [current])];
  const routers = scaled.targetRef ? providers.flatMap((name) => routing(name) ?? []) : [];
  const routes = routers
    .flatMap((router) => routeReferences(router, canary as unknown as Canary))
    .map(({ name: _, ...kind }) => ({ ...kind, managers: true }));
  // Both sides have a Service of their own, unless they are pods of one workload.
  const endpoints = providers.every(sharesWorkload) ? [] : [endpointSliceKind];
  return [...watchedKinds(scaled.targetRef ?? {}), ...(scaler ? [scaler] : []), ...endpoints, ...routes];
}

/** What `kindsOf` goes by, of the newest spec and of the one in force: while it is the same, so are the kinds. */
export function watchKey(canary: KubernetesObject): string {
  const { uid, generation } = canary.metadata;
  const { provider, specInForce } = canaryStatus(canary);
  return JSON.stringify([uid, generation, provider, specInForce?.generation]);
}

/** The kinds to watch for many Canaries, by namespace: of their newest specs, and of those in force. */
export function kindsByNamespace(
  canaries: readonly KubernetesObject[],
  parts: WatchParts,
): Map<string, RouteKind[]> {
  const byNamespace = new Map<string, RouteKind[]>();
  for (const canary of canaries) {
    const namespace = canary.metadata.namespace ?? '';
    const kinds = byNamespace.get(namespace) ?? [];
    for (const one of specsOf(canary)) kinds.push(...kindsOf(one, parts));
    byNamespace.set(namespace, kinds);
  }
  return byNamespace;
}
