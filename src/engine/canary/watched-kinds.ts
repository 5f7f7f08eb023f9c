import { sharesWorkload } from '../../api/effective.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { endpointSliceKind } from '../../workload/endpoints.ts';
import { watchedKinds } from '../../workload/kinds.ts';
import { type ScalerSpec, scalerKindOf } from '../../workload/scaler.ts';
import type { RouteKind } from '../ports/routing-port.ts';
import type { CanaryParts } from './canary-parts.ts';
import { specsOf } from './spec-in-force.ts';

type Parts = Pick<CanaryParts, 'routing' | 'options'>;

/** The kinds to watch for a Canary beside those every Canary needs: of its target, its scaler and its routes. */
export function kindsOf({ spec, status }: KubernetesObject, { routing, options }: Parts): RouteKind[] {
  const { provider, ...scaled } = (spec ?? {}) as { provider?: string } & ScalerSpec;
  const scaler = scalerKindOf(scaled);
  // Also of the one that it moves away from.
  const current = (status as { provider?: string } | undefined)?.provider;
  const providers = [provider ?? options.defaultProvider, ...(current === undefined ? [] : [current])];
  const routes = providers.flatMap((name) => routing(name)?.kinds ?? []);
  // Both sides have a Service of their own, unless they are pods of one workload.
  const endpoints = providers.every(sharesWorkload) ? [] : [endpointSliceKind];
  return [...watchedKinds(scaled.targetRef ?? {}), ...(scaler ? [scaler] : []), ...endpoints, ...routes];
}

/** The same for many Canaries, by namespace: of their newest specs, and of those in force. */
export function kindsByNamespace(
  canaries: readonly KubernetesObject[],
  parts: Parts,
): Map<string, RouteKind[]> {
  const byNamespace = new Map<string, RouteKind[]>();
  for (const canary of canaries) {
    const namespace = canary.metadata.namespace ?? '';
    const kinds = specsOf(canary).flatMap((one) => kindsOf(one, parts));
    byNamespace.set(namespace, [...(byNamespace.get(namespace) ?? []), ...kinds]);
  }
  return byNamespace;
}
