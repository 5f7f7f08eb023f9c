import { type Canary, sharesWorkload } from '../../api/canary/canary.ts';
import { canaryStatus } from '../../api/canary/summary.ts';
import { describe, type KubernetesObject, type ObjectReference } from '../../api/kubernetes.ts';
import { routeReferences } from '../../engine/canary/context/observation.ts';
import { routerFor } from '../../providers/routing/table.ts';
import { sideNames, workloadKind } from '../../workload/kinds.ts';
import { scalerKindOf, scalerNames } from '../../workload/scaler.ts';
import { serviceNames } from '../../workload/shared/metadata.ts';
import { RefusedError } from '../../workload/shared/refusal.ts';

/** What an object is to its Canary. */
type Role = 'canary' | 'primary' | 'service' | 'scaler' | 'route';

/** An object that a Canary has by name, whether or not it exists. */
interface CanaryObject {
  readonly role: Role;
  readonly reference: ObjectReference;
}

/** The workloads, Services, scalers and routes of a Canary, by the names that Holdfast gives them; none for a target that it cannot roll out. */
export function objectsOf(canary: KubernetesObject): CanaryObject[] {
  try {
    return namedObjects(canary as Canary);
  } catch (error) {
    if (error instanceof RefusedError) return [];
    throw error;
  }
}

function namedObjects(canary: Canary): CanaryObject[] {
  const { namespace = '' } = canary.metadata;
  const provider = providerOf(canary);
  const { apiVersion, kind, sides } = workloadKind(canary);
  const one = (role: Role, reference: Omit<ObjectReference, 'namespace'>): CanaryObject => ({
    role,
    reference: { namespace, ...reference },
  });
  const names = sideNames(canary);
  const isOneWorkload = sharesWorkload(provider) || sides === 'revisions';
  const services = sharesWorkload(provider)
    ? [serviceNames(canary).apex]
    : Object.values(serviceNames(canary));
  const scalerKind = scalerKindOf(canary.spec);
  const scalers = scalerKind
    ? Object.values(scalerNames(canary)).map((name) =>
        one('scaler', { apiVersion: scalerKind.apiVersion, kind: scalerKind.kind, name }),
      )
    : [];
  const router = routerFor(provider);
  const routes = router && !router.isTarget ? routeReferences(router, canary) : [];
  const all = [
    one('canary', { apiVersion, kind, name: names.canary }),
    ...(isOneWorkload ? [] : [one('primary', { apiVersion, kind, name: names.primary })]),
    ...(sides === 'revisions'
      ? []
      : services.map((name) => one('service', { apiVersion: 'v1', kind: 'Service', name }))),
    ...scalers.slice(0, isOneWorkload ? 1 : 2),
    ...routes.map((reference) => one('route', reference)),
  ];
  // Some providers name a Service as their route.
  const keys = all.map(({ reference }) => describe(reference));
  return all.filter((_, index) => keys.indexOf(keys[index] ?? '') === index);
}

export function providerOf(canary: KubernetesObject): string {
  // The CRD lets one in that has no spec.
  const { provider = '' } = (canary.spec ?? {}) as Partial<Canary['spec']>;
  return canaryStatus(canary).provider ?? provider;
}
