/** Which kinds are watched for Canaries. */
import { type Canary, sharesWorkload } from '../../../api/canary/canary.ts';
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import type { RouteKind, Router } from '../../../contracts/routing.ts';
import { watchedKinds } from '../../../workload/kinds.ts';
import { endpointSliceKind } from '../../../workload/pods/endpoints.ts';
import { type ScalerSpec, scalerKindOf } from '../../../workload/scaler.ts';
import { serviceNames } from '../../../workload/shared/metadata.ts';
import type { CanaryParts } from '../context/context.ts';
import { specsOf } from './spec-in-force.ts';

type Parts = Pick<CanaryParts, 'routing' | 'options'>;

/** The kinds to watch for a Canary besides those every Canary needs: of its target, its scaler and its routes. */
export function kindsOf(canary: KubernetesObject, { routing, options }: Parts): RouteKind[] {
  const { spec, status } = canary;
  const { provider, ...scaled } = (spec ?? {}) as { provider?: string } & ScalerSpec;
  const scaler = scalerKindOf(scaled);
  // Also of the one that it moves away from.
  const current = (status as { provider?: string } | undefined)?.provider;
  const providers = [provider ?? options.defaultProvider, ...(current === undefined ? [] : [current])];
  const routes = scaled.targetRef ? providers.flatMap((name) => routeKindsOf(canary, routing(name))) : [];
  // Both sides have a Service of their own, unless they are pods of one workload.
  const endpoints = providers.every(sharesWorkload) ? [] : [endpointSliceKind];
  return [...watchedKinds(scaled.targetRef ?? {}), ...(scaler ? [scaler] : []), ...endpoints, ...routes];
}

function routeKindsOf(canary: KubernetesObject, router: Router | undefined): readonly RouteKind[] {
  const about = canary as unknown as Canary;
  return router?.references?.(about, serviceNames(about)) ?? router?.kinds ?? [];
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
