import type { KubernetesObject } from '../../api/kubernetes.ts';
import { watchedKinds } from '../../workload/kinds.ts';
import { type ScalerSpec, scalerKindOf } from '../../workload/scaler.ts';
import type { RouteKind } from '../ports/routing-port.ts';
import type { CanaryParts } from './canary-parts.ts';

type Parts = Pick<CanaryParts, 'routing' | 'options'>;

/** The kinds to watch for a Canary beside those every Canary needs: of its target, its scaler and its routes. */
export function kindsOf({ spec, status }: KubernetesObject, { routing, options }: Parts): RouteKind[] {
  const { provider, ...scaled } = (spec ?? {}) as { provider?: string } & ScalerSpec;
  const scaler = scalerKindOf(scaled);
  // Also of the one that it moves away from.
  const current = (status as { provider?: string } | undefined)?.provider;
  const providers = [provider ?? options.defaultProvider, ...(current === undefined ? [] : [current])];
  const routes = providers.flatMap((name) => routing(name)?.kinds ?? []);
  return [...watchedKinds(scaled.targetRef ?? {}), ...(scaler ? [scaler] : []), ...routes];
}

/** The same for many Canaries, by namespace. */
export function kindsByNamespace(
  canaries: readonly KubernetesObject[],
  parts: Parts,
): Map<string, RouteKind[]> {
  const byNamespace = new Map<string, RouteKind[]>();
  for (const canary of canaries) {
    const namespace = canary.metadata.namespace ?? '';
    byNamespace.set(namespace, [...(byNamespace.get(namespace) ?? []), ...kindsOf(canary, parts)]);
  }
  return byNamespace;
}
