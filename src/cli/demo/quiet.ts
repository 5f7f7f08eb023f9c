import { setTimeout as sleep } from 'node:timers/promises';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { ClusterClient } from '../../cluster/client.ts';
import type { Quiet } from './events.ts';

/** Everything that Holdfast writes here, but its Lease. Workloads and routes count by generation: others write their status. */
const watched: ReadonlyArray<{ apiVersion: string; kind: string; by: 'generation' | 'resourceVersion' }> = [
  { apiVersion: 'apps/v1', kind: 'Deployment', by: 'generation' },
  { apiVersion: 'v1', kind: 'Service', by: 'resourceVersion' },
  { apiVersion: 'v1', kind: 'Secret', by: 'resourceVersion' },
  { apiVersion: 'flagger.app/v1beta1', kind: 'Canary', by: 'resourceVersion' },
  { apiVersion: 'flagger.app/v1beta1', kind: 'MetricTemplate', by: 'resourceVersion' },
  { apiVersion: 'holdfast.dev/v1alpha1', kind: 'Source', by: 'resourceVersion' },
];
const routes: Readonly<Record<string, { apiVersion: string; kind: string; by: 'generation' }>> = {
  'gatewayapi:v1': { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'HTTPRoute', by: 'generation' },
  contour: { apiVersion: 'projectcontour.io/v1', kind: 'HTTPProxy', by: 'generation' },
};

/** What is looked at. */
export interface QuietOptions {
  readonly client: ClusterClient;
  readonly namespace: string;
  readonly provider: string;
  /** Requests that the Git server has answered so far. */
  readonly gitRequests: () => number;
  readonly signal: AbortSignal;
}

const settleMs = 10_000;
const lookMs = 500;
/** Three polls of Git, which are two requests each. */
const requestsWatched = 6;
const watchMs = 15_000;

/** Watches head stay bad for three polls and says what was written meanwhile. The last writes of the revert itself may settle before. */
export async function watchQuiet(options: QuietOptions): Promise<Quiet> {
  const { gitRequests, signal } = options;
  const before = await settled(options);
  const startedMs = Date.now();
  const asked = gitRequests();
  while (gitRequests() - asked < requestsWatched && Date.now() - startedMs < watchMs)
    await sleep(lookMs, undefined, { signal });
  const after = await versions(options);
  return {
    type: 'quiet',
    gitRequests: gitRequests() - asked,
    seconds: Math.round((Date.now() - startedMs) / 1000),
    written: [...new Set([...before.keys(), ...after.keys()])].filter(
      (key) => before.get(key) !== after.get(key),
    ),
  };
}

async function settled(options: QuietOptions): Promise<Map<string, string>> {
  const deadlineMs = Date.now() + settleMs;
  let seen = await versions(options);
  for (;;) {
    await sleep(lookMs, undefined, { signal: options.signal });
    const now = await versions(options);
    if (JSON.stringify([...now]) === JSON.stringify([...seen]) || Date.now() > deadlineMs) return now;
    seen = now;
  }
}

async function versions({ client, namespace, provider, signal }: QuietOptions): Promise<Map<string, string>> {
  const route = Object.entries(routes).find(([name]) => provider.startsWith(name))?.[1];
  const kinds = route ? [...watched, route] : watched;
  const lists = await Promise.all(
    kinds.map(async ({ apiVersion, kind, by }) => {
      const { items } = await client.list(apiVersion, kind, { namespace, signal });
      return items.map((object): [string, string] => [
        `${kind} ${object.metadata.name}`,
        versionOf(object, by),
      ]);
    }),
  );
  return new Map(lists.flat());
}

function versionOf({ metadata }: KubernetesObject, by: 'generation' | 'resourceVersion'): string {
  return `${metadata.uid} ${by === 'generation' ? metadata.generation : metadata.resourceVersion}`;
}
