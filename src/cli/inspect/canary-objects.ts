import { type Canary, sharesWorkload } from '../../api/canary/canary.ts';
import { canaryStatus } from '../../api/canary/summary.ts';
import { describe, type KubernetesObject, type ObjectReference } from '../../api/kubernetes.ts';
import { InputError } from '../../api/problems.ts';
import type { ClusterClient } from '../../cluster/client/client.ts';
import { routeReferences } from '../../engine/canary/context/context.ts';
import { routerFor } from '../../providers/routing/table.ts';
import { nativeKind, sideNames, workloadKind } from '../../workload/kinds.ts';
import { primaryRevisionOf } from '../../workload/knative/knative.ts';
import { revisionPods } from '../../workload/native-pods.ts';
import { isMadeFor, type Pod } from '../../workload/pods/pods.ts';
import { scalerKindOf, scalerNames } from '../../workload/scaler.ts';
import { serviceNames } from '../../workload/shared/metadata.ts';
import { RefusedError } from '../../workload/shared/workload-kind.ts';

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
  const scalers = scalerKind ? Object.values(scalerNames(canary)) : [];
  const router = routerFor(provider);
  const routes = router && !router.isTarget ? routeReferences(router, canary) : [];
  const all = [
    one('canary', { apiVersion, kind, name: names.canary }),
    ...(isOneWorkload ? [] : [one('primary', { apiVersion, kind, name: names.primary })]),
    ...(sides === 'revisions'
      ? []
      : services.map((name) => one('service', { apiVersion: 'v1', kind: 'Service', name }))),
    ...scalers
      .slice(0, isOneWorkload ? 1 : 2)
      .flatMap((name) =>
        scalerKind ? [one('scaler', { apiVersion: scalerKind.apiVersion, kind: scalerKind.kind, name })] : [],
      ),
    ...routes.map(({ apiVersion: version, kind: routeKind, name, namespace: elsewhere }) =>
      one('route', {
        apiVersion: version,
        kind: routeKind,
        name,
        ...(elsewhere === undefined ? {} : { namespace: elsewhere }),
      }),
    ),
  ];
  // Some providers name a Service as their route.
  const keys = all.map(({ reference }) => describe(reference));
  return all.filter((_, index) => keys.indexOf(keys[index] ?? '') === index);
}

function providerOf(canary: KubernetesObject): string {
  return canaryStatus(canary).provider ?? (canary as Canary).spec.provider ?? '';
}

/** A pod of a Canary, and whose it is. */
export interface CanaryPod {
  readonly side: 'canary' | 'primary';
  readonly pod: Pod;
}

type Reader = Pick<ClusterClient, 'get' | 'list'>;

/** The pods of both sides, those of the canary first, each side by name. Throws ApiError, RefusedError, and InputError for a target without pods. */
export async function podsOf(client: Reader, object: KubernetesObject): Promise<CanaryPod[]> {
  const canary = object as Canary;
  const { namespace = '' } = canary.metadata;
  const { apiVersion, kind, sides } = workloadKind(canary);
  if (sides === 'copies')
    throw new InputError(`${describe(canary)}: its target is a Service, which has no pods`);
  const read = (name: string) => client.get({ apiVersion, kind, namespace, name });
  const names = sideNames(canary);
  const target = await read(names.canary);
  if (sides === 'revisions') return target ? knativePods(client, target) : [];
  if (sharesWorkload(providerOf(canary))) return target ? nativePods(client, canary, target) : [];
  const primary = await read(names.primary);
  const [canaries, primaries] = await Promise.all([
    selectedPods(client, target),
    selectedPods(client, primary),
  ]);
  return [...onSide('canary', canaries), ...onSide('primary', primaries)];
}

/** Pods of one workload: those of its newest template are the canary's while a release is under way. */
async function nativePods(client: Reader, canary: Canary, workload: KubernetesObject): Promise<CanaryPod[]> {
  const { namespace = '' } = workload.metadata;
  const pods = await selectedPods(client, workload);
  const listed = async (apiVersion: string, kind: string) =>
    (await client.list(apiVersion, kind, { namespace, labelSelector: selectorOf(workload) })).items;
  const replicaSets = workload.kind === 'Deployment' ? await listed('apps/v1', 'ReplicaSet') : [];
  const controllerRevisions =
    workload.kind === 'Deployment' ? [] : await listed('apps/v1', 'ControllerRevision');
  const source = { workload, pods, replicaSets, controllerRevisions, service: undefined };
  const { label } = revisionPods(nativeKind(canary), source);
  const isUnderWay = canaryStatus(canary).run !== undefined;
  const isNew = ({ metadata }: Pod) =>
    isUnderWay && label !== undefined && metadata.labels?.[label.key] === label.value;
  return [
    ...onSide('canary', pods.filter(isNew)),
    ...onSide(
      'primary',
      pods.filter((pod) => !isNew(pod)),
    ),
  ];
}

async function knativePods(client: Reader, target: KubernetesObject): Promise<CanaryPod[]> {
  const { namespace = '', name } = target.metadata;
  const labelSelector = `serving.knative.dev/service=${name}`;
  const pods = (await client.list('v1', 'Pod', { namespace, labelSelector })).items as Pod[];
  const isPrimary = ({ metadata }: Pod) =>
    metadata.labels?.['serving.knative.dev/revision'] === primaryRevisionOf(target);
  return [
    ...onSide(
      'canary',
      pods.filter((pod) => !isPrimary(pod)),
    ),
    ...onSide('primary', pods.filter(isPrimary)),
  ];
}

async function selectedPods(client: Reader, workload: KubernetesObject | undefined): Promise<Pod[]> {
  const labelSelector = workload && selectorOf(workload);
  // Without labels every pod of the namespace would be meant.
  if (!labelSelector) return [];
  const { namespace = '' } = workload.metadata;
  const { items } = await client.list('v1', 'Pod', { namespace, labelSelector });
  return (items as Pod[]).filter((pod) => isMadeFor(workload, pod));
}

function selectorOf({ spec }: KubernetesObject): string {
  const { selector } = (spec ?? {}) as { selector?: { matchLabels?: Record<string, string> } };
  return Object.entries(selector?.matchLabels ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
}

function onSide(side: CanaryPod['side'], pods: readonly Pod[]): CanaryPod[] {
  return pods
    .map((pod) => ({ side, pod }))
    .sort((left, right) => (left.pod.metadata.name < right.pod.metadata.name ? -1 : 1));
}
