/** Which router a Canary has, and which objects it reads and writes. */
import type { Canary } from '../../../api/canary/canary.ts';
import type { RouteReference, Router } from '../../../contracts/routing.ts';
import { serviceNames } from '../../../workload/shared/metadata.ts';
import { unknownProvider } from '../../failure.ts';
import type { ReadParts } from './observation.ts';

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
