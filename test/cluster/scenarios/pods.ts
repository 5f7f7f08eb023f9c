import type { KubernetesObject } from '../../../src/api/kubernetes.ts';
import { type BedClient, waitFor } from '../bed/client.ts';
import type { PodFault } from '../bed/kubelet/container.ts';
import { faultAnnotation } from '../bed/kubelet/pod.ts';

/** Pods of a workload that are not on their way out, oldest first. */
export async function podsOf(
  bed: BedClient,
  namespace: string,
  workload: 'podinfo' | 'podinfo-primary',
): Promise<KubernetesObject[]> {
  const pods = await bed.listObjects('Pod', namespace, `app=${workload}`);
  const age = ({ metadata }: KubernetesObject) => `${metadata.creationTimestamp}/${metadata.name}`;
  return pods
    .filter(({ metadata }) => !metadata.deletionTimestamp)
    .sort((left, right) => age(left).localeCompare(age(right)));
}

/** Breaks the first pods of a workload, where they are, and waits until their state says so. What replaces them is sound. */
export async function breakPods(
  bed: BedClient,
  namespace: string,
  { workload, count, fault }: { workload: 'podinfo' | 'podinfo-primary'; count: number; fault: PodFault },
): Promise<void> {
  const broken = (await podsOf(bed, namespace, workload))
    .slice(0, count)
    .map(({ metadata }) => metadata.name);
  await Promise.all(broken.map((pod) => annotate(bed, namespace, pod, fault)));
  const stillReady = async () => {
    const pods = await podsOf(bed, namespace, workload);
    return pods.filter(({ metadata, status }) => broken.includes(metadata.name) && isReady(status)).length;
  };
  await waitFor(async () => (await stillReady()) === 0, {
    timeoutMs: 60_000,
    intervalMs: 50,
    what: `${namespace}: ${broken.join(', ')} not ready`,
  });
}

function annotate(bed: BedClient, namespace: string, pod: string, fault: PodFault): Promise<unknown> {
  const body = { metadata: { annotations: { [faultAnnotation]: fault } } };
  const headers = { 'content-type': 'application/merge-patch+json' };
  return bed.api.request('PATCH', `/api/v1/namespaces/${namespace}/pods/${pod}`, body, headers);
}

function isReady(status: unknown): boolean {
  const { conditions = [] } = (status ?? {}) as { conditions?: Array<{ type: string; status: string }> };
  return conditions.some(({ type, status: holds }) => type === 'Ready' && holds === 'True');
}
