import { mkdirSync } from 'node:fs';
import type { KubernetesObject } from '../../../../src/api/kubernetes.ts';
import { podAddress } from '../addresses.ts';
import { applyObject, type WatchEvent } from '../api-client.ts';
import { type PodSettings, type RunningPod, startPod } from './pod.ts';

const NODE_NAMES: readonly string[] = ['bed-node-a', 'bed-node-b'];

/**
 * Stands in for the kubelets of two nodes: one real process per container of the bed's program, each pod on its own address.
 * It needs no container runtime; see image.ts for what the images mean.
 */
export interface Kubelet {
  /** Kills every pod's processes. */
  stop(): Promise<void>;
}

/** Registers the nodes as Ready and starts running the pods bound to them. */
export async function startKubelet(settings: PodSettings): Promise<Kubelet> {
  mkdirSync(settings.logsFolder, { recursive: true });
  for (const name of NODE_NAMES) await registerNode(settings, name);
  const pods = new Map<string, RunningPod>();
  const removals = new Set<string>();
  const stopping = new AbortController();
  let started = 0;

  const onEvent = ({ type, object: pod }: WatchEvent) => {
    const uid = pod.metadata.uid ?? '';
    const running = pods.get(uid);
    if (type === 'DELETED') {
      pods.delete(uid);
      removals.delete(uid);
      void running?.kill();
      return;
    }
    if (!NODE_NAMES.includes((pod.spec as { nodeName?: string }).nodeName ?? '')) return;
    running?.update(pod);
    if (!running && !pod.metadata.deletionTimestamp) {
      pods.set(uid, startPod(pod, podAddress(started++), settings));
    } else if (pod.metadata.deletionTimestamp && !removals.has(uid)) {
      removals.add(uid);
      void removeWithRetry(running ?? startPod(pod, podAddress(started++), settings), pod, stopping.signal);
    }
  };
  const following = settings.client.follow('/api/v1/pods', onEvent, stopping.signal);
  const stop = async () => {
    stopping.abort();
    await following;
    await Promise.all([...pods.values()].map((pod) => pod.kill()));
  };
  return { stop };
}

async function removeWithRetry(
  running: RunningPod,
  pod: KubernetesObject,
  signal: AbortSignal,
): Promise<void> {
  for (let delayMs = 200; !signal.aborted; delayMs *= 2) {
    try {
      await running.remove(pod);
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, delayMs));
    }
  }
}

async function registerNode({ client }: PodSettings, name: string): Promise<void> {
  const path = `/api/v1/nodes/${name}`;
  const labels = {
    'kubernetes.io/hostname': name,
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': 'amd64',
  };
  await applyObject(client, path, { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } });
  const room = { cpu: '1000', memory: '1000Gi', pods: '2000', 'ephemeral-storage': '1000Gi' };
  const now = new Date().toISOString();
  const condition = (type: string, status: string) => ({
    type,
    status,
    reason: type === 'Ready' ? 'KubeletReady' : 'Sufficient',
    message: 'kept by the stand-in',
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  });
  const status = {
    capacity: room,
    allocatable: room,
    addresses: [{ type: 'InternalIP', address: '10.244.0.1' }],
    conditions: [
      condition('Ready', 'True'),
      ...['MemoryPressure', 'DiskPressure', 'PIDPressure'].map((type) => condition(type, 'False')),
    ],
  };
  await client.request(
    'PATCH',
    `${path}/status`,
    { status },
    { 'content-type': 'application/merge-patch+json' },
  );
}
