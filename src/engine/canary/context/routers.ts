/** Which router a Canary has, which objects it reads and writes, and which kinds are watched for it. */
import { type Canary, sharesWorkload } from '../../../api/canary/canary.ts';
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import type { RouteKind, RouteReference, Router } from '../../../contracts/routing.ts';
import { watchedKinds } from '../../../workload/kinds.ts';
import { endpointSliceKind } from '../../../workload/pods/endpoints.ts';
import { type ScalerSpec, scalerKindOf } from '../../../workload/scaler.ts';
import { serviceNames } from '../../../workload/shared/metadata.ts';
import { unknownProvider } from '../../failure.ts';
import type { EngineOptions, ReadParts } from './observation.ts';

/** The routing provider of a Canary. */
export function providerOf(canary: Canary, options: Pick<EngineOptions, 'defaultProvider'>): string {
  return canary.spec.provider ?? options.defaultProvider;
}

/** The router of a provider. Throws EngineError UnknownProvider. */
export function routerOf(parts: Pick<ReadParts, 'routing'>, provider: string): Router {
  const router = parts.routing(provider);
  if (!router) throw unknownProvider(provider);
  return router;
}

/** The objects that a router reads and writes for a Canary. */
export function routeReferences(router: Router, canary: Canary): readonly RouteReference[] {
  const names = serviceNames(canary);
  return router.references?.(canary, names) ?? router.kinds.map((kind) => ({ ...kind, name: names.apex }));
}

/** What decides it. */
export type WatchParts = Pick<ReadParts, 'routing'> & {
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
  const routes = scaled.targetRef ? providers.flatMap((name) => routeKindsOf(canary, routing(name))) : [];
  // Both sides have a Service of their own, unless they are pods of one workload.
  const endpoints = providers.every(sharesWorkload) ? [] : [endpointSliceKind];
  return [...watchedKinds(scaled.targetRef ?? {}), ...(scaler ? [scaler] : []), ...endpoints, ...routes];
}

function routeKindsOf(canary: KubernetesObject, router: Router | undefined): readonly RouteKind[] {
  const about = canary as unknown as Canary;
  return router?.references?.(about, serviceNames(about)) ?? router?.kinds ?? [];
}
