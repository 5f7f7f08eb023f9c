import { type Canary, sharesWorkload } from '../../api/canary/canary.ts';
import { canaryStatus } from '../../api/canary/summary.ts';
import { describe, type KubernetesObject } from '../../api/kubernetes.ts';
import { InputError } from '../../api/problems.ts';
import type { ClusterClient } from '../../cluster/client/client.ts';
import { nativeKind, sideNames, workloadKind } from '../../workload/kinds.ts';
import { primaryRevisionOf } from '../../workload/knative/knative.ts';
import { revisionPods } from '../../workload/native-pods.ts';
import { isMadeFor, type Pod } from '../../workload/pods/pods.ts';
import { matchLabelsOf } from '../../workload/shared/metadata.ts';
import { providerOf } from './canary-objects.ts';

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

function selectorOf(workload: KubernetesObject): string {
  return Object.entries(matchLabelsOf(workload))
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
}

function onSide(side: CanaryPod['side'], pods: readonly Pod[]): CanaryPod[] {
  return pods
    .map((pod) => ({ side, pod }))
    .sort((left, right) => (left.pod.metadata.name < right.pod.metadata.name ? -1 : 1));
}
