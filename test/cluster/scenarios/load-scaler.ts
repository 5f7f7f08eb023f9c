import { setTimeout as sleep } from 'node:timers/promises';
import type { KubernetesObject } from '../../../src/api/kubernetes.ts';
import { replicasOf } from '../../objects.ts';
import type { BedClient } from '../bed/client.ts';

/** Scales the copies of `podinfo` by the traffic they get, until stopped. */
export interface LoadScaler {
  /** Throws what went wrong meanwhile. */
  stop(): Promise<void>;
}

/** What an autoscaler has to work with. */
export interface LoadScalerOptions {
  /** Pods that all the traffic needs. */
  readonly podsForAll: number;
  /** How long a change of the traffic stays unseen. */
  readonly lagMs: number;
}

interface Backend {
  readonly name: string;
  readonly weight: number;
}

const mergePatch = { 'content-type': 'application/merge-patch+json' };
const roundMs = 500;

/**
 * The part of an autoscaler that the bed's HorizontalPodAutoscaler controller lacks, which has no metrics: pods by load, through the scale
 * subresource, within the bounds of each HorizontalPodAutoscaler, up and down at once, by the load of a while ago. A copy at zero rests.
 */
export function startLoadScaler(
  bed: BedClient,
  namespace: string,
  { podsForAll, lagMs }: LoadScalerOptions,
): LoadScaler {
  const seen: Array<{ atMs: number; canaryShare: number }> = [];
  let stopped = false;
  const running = run();

  async function run(): Promise<void> {
    while (!stopped) {
      seen.push({
        atMs: Date.now(),
        canaryShare: shareOf(await bed.readObject('HTTPRoute', namespace, 'podinfo')),
      });
      const known = seen.findLast(({ atMs }) => atMs <= Date.now() - lagMs) ?? seen[0];
      const share = known?.canaryShare ?? 0;
      await scale('podinfo-primary', podsForAll * (1 - share));
      await scale('podinfo', podsForAll * share);
      await sleep(roundMs);
    }
  }

  async function scale(name: string, pods: number): Promise<void> {
    const [scaler, workload] = await Promise.all([
      bed.readObject('HorizontalPodAutoscaler', namespace, name),
      bed.readObject('Deployment', namespace, name),
    ]);
    const current = replicasOf(workload) ?? 0;
    const { minReplicas, maxReplicas } = (scaler?.spec ?? {}) as { minReplicas: number; maxReplicas: number };
    if (!scaler || current === 0) return;
    const replicas = Math.min(maxReplicas, Math.max(minReplicas, Math.ceil(pods)));
    if (replicas === current) return;
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments/${name}/scale`;
    await bed.api.request('PATCH', path, { spec: { replicas } }, mergePatch);
  }

  return {
    async stop() {
      stopped = true;
      await running;
    },
  };
}

function shareOf(route: KubernetesObject | undefined): number {
  const { rules = [] } = (route?.spec ?? {}) as { rules?: Array<{ backendRefs?: Backend[] }> };
  const backends = rules[0]?.backendRefs ?? [];
  const all = backends.reduce((sum, { weight }) => sum + weight, 0);
  return all === 0 ? 0 : (backends.find(({ name }) => name === 'podinfo-canary')?.weight ?? 0) / all;
}
