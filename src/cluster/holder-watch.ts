import type { KubernetesObject } from '../api/kubernetes.ts';
import type { CacheHandle, Caches } from './caches.ts';
import type { ClusterClient } from './client.ts';
import { type ContainerRun, type PodName, podOfIdentity, runUnderWay, whyGone } from './lease-holder.ts';
import type { LeaseRecord } from './lease-record.ts';

/** How pods are read. */
export interface HolderWatchOptions {
  readonly client: Pick<ClusterClient, 'get'>;
  readonly caches: Pick<Caches, 'ensure'>;
  /** Of the Lease, and of the pods of those who hold it. */
  readonly namespace: string;
  /** Something was heard of the pod. */
  readonly onNews: () => void;
}

/** Follows the pod of whoever holds the Lease. */
export interface HolderWatch {
  /** Tells who holds the Lease now, and that this one has written it anew; undefined: nobody whose pod matters. */
  renewed(record: LeaseRecord | undefined): void;
  /** Whether the watched pod says that the holder is gone. A hint: `readWhyGone` decides. */
  seemsGone(): boolean;
  /** Reads the holder's pod and says why it is certainly gone; undefined when it may run, and when nobody can say. */
  readWhyGone(record: LeaseRecord, signal: AbortSignal): Promise<string | undefined>;
  close(): Promise<void>;
}

/** What is known of the process that holds the Lease. */
interface Holder {
  readonly identity: string;
  readonly pod: PodName;
  readonly cache: CacheHandle;
  readonly end: () => void;
  /** The run that the pod showed at the last renewals in a row, and at how many. */
  lived: ContainerRun | undefined;
  renewals: number;
}

/** A status comes later than what it tells: a run seen at one renewal might be the one before. */
const certainAfterRenewals = 2;

/** The pod's watch comes and goes with the holder; nothing is watched while the holder names no pod. */
export function watchHolder({ client, caches, namespace, onNews }: HolderWatchOptions): HolderWatch {
  let holder: Holder | undefined;
  let closed = false;

  function follow(identity: string): void {
    void letGo();
    const pod = podOfIdentity(identity);
    if (!pod || closed) return;
    const cache = caches.ensure({ apiVersion: 'v1', kind: 'Pod', namespace, name: pod.name });
    const next = { identity, pod, cache, lived: undefined, renewals: 0, end: cache.store.subscribe(onNews) };
    holder = next;
    // Only then its absence means something.
    void cache.synced().then(() => {
      if (holder === next) onNews();
    });
  }

  async function letGo(): Promise<void> {
    const last = holder;
    holder = undefined;
    last?.end();
    await last?.cache.release();
  }

  return {
    renewed(record) {
      if (record?.holder !== holder?.identity) follow(record?.holder ?? '');
      if (!holder) return;
      const run = runUnderWay(podOf(holder, namespace));
      holder.renewals = run !== undefined && run === holder.lived ? holder.renewals + 1 : 1;
      holder.lived = run;
    },
    seemsGone() {
      if (!holder?.cache.health().synced) return false;
      const seen = holder.cache.store.get(namespace, holder.pod.name);
      return whyGone(seen, holder.pod, livedOf(holder)) !== undefined;
    },
    async readWhyGone(record, signal) {
      const asked = holder;
      if (!asked || asked.identity !== record.holder) return undefined;
      const { pod } = asked;
      try {
        const seen = await client.get(
          { apiVersion: 'v1', kind: 'Pod', namespace, name: pod.name },
          { signal },
        );
        return whyGone(seen, pod, livedOf(asked));
      } catch {
        // Not allowed, or no answer: nobody can say, so the Lease has to run out.
        return undefined;
      }
    },
    async close() {
      closed = true;
      await letGo();
    },
  };
}

function livedOf({ lived, renewals }: Holder): ContainerRun | undefined {
  return renewals >= certainAfterRenewals ? lived : undefined;
}

function podOf({ pod, cache }: Holder, namespace: string): KubernetesObject | undefined {
  const seen = cache.store.get(namespace, pod.name);
  return seen?.metadata.uid === pod.uid ? seen : undefined;
}
