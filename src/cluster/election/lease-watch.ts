import type { Clock } from '../../api/clock.ts';
import type { CacheHandle, Caches } from '../caches/caches.ts';
import type { ClusterClient } from '../client/client.ts';
import { type ContainerRun, currentRun, goneReason, type PodName, podOfIdentity } from './lease-holder.ts';
import { type LeaseRecord, leaseKind, leaseRecordOf } from './lease-record.ts';

/** Where the Lease is, and how it is read. */
interface LeaseWatchOptions extends Omit<HolderWatchOptions, 'onNews'> {
  readonly name: string;
  readonly clock: Clock;
  /** The watch shows the Lease like this; undefined: it was deleted. */
  readonly onLease: (record: LeaseRecord | undefined) => void;
}

/** Follows the Lease, and the pod of whoever holds it. */
export interface LeaseWatch extends HolderWatch {
  /** Opens the watch of the Lease. */
  start(): void;
  /** Tells `onLease` once more what the watch has: an answer may have come later than newer news. */
  tellAgain(): void;
  /** True while news come by themselves; false: whoever waits must ask. */
  follows(): boolean;
  /** Grows with everything that was heard. */
  news(): number;
  /** Resolves when the condition holds, looked at after each piece of news; or after `timeoutMs`; or when the signal aborts. */
  until(condition: () => boolean, timeoutMs: number, signal: AbortSignal): Promise<void>;
}

/** Nothing is watched before `start`. */
export function watchLease(options: LeaseWatchOptions): LeaseWatch {
  const { caches, namespace, name, clock } = options;
  const holder = watchHolder({ ...options, onNews: tell });
  const waiting = new Set<() => void>();
  let lease: CacheHandle | undefined;
  let end: () => void = () => undefined;
  let news = 0;

  function tell(): void {
    news += 1;
    for (const look of [...waiting]) look();
  }

  return {
    ...holder,
    start() {
      lease = caches.ensure({ ...leaseKind, namespace, name });
      end = lease.store.subscribe((type, object) => {
        options.onLease(type === 'deleted' ? undefined : leaseRecordOf(object));
        tell();
      });
      void lease.synced().then(tell);
    },
    tellAgain() {
      const seen = lease?.store.get(namespace, name);
      if (seen) options.onLease(leaseRecordOf(seen));
    },
    follows() {
      const health = lease?.health();
      return health?.synced === true && health.lastError === '';
    },
    news: () => news,
    until: (condition, timeoutMs, signal) =>
      new Promise((resolve) => {
        const look = () => {
          if (signal.aborted || condition()) done();
        };
        const done = () => {
          cancel();
          waiting.delete(look);
          signal.removeEventListener('abort', look);
          resolve();
        };
        const cancel = clock.after(timeoutMs, done);
        waiting.add(look);
        signal.addEventListener('abort', look);
        look();
      }),
    async close() {
      end();
      await holder.close();
      await lease?.release();
    },
  };
}

/** How pods are read. */
interface HolderWatchOptions {
  readonly client: Pick<ClusterClient, 'get'>;
  readonly caches: Pick<Caches, 'ensure'>;
  /** Of the Lease, and of the pods of those who hold it. */
  readonly namespace: string;
  /** Something was heard of the pod. */
  readonly onNews: () => void;
}

/** Follows the pod of whoever holds the Lease. */
interface HolderWatch {
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
function watchHolder({ client, caches, namespace, onNews }: HolderWatchOptions): HolderWatch {
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
      const pod = holder.cache.store.get(namespace, holder.pod.name);
      const run = pod?.metadata.uid === holder.pod.uid ? currentRun(pod) : undefined;
      holder.renewals = run !== undefined && run === holder.lived ? holder.renewals + 1 : 1;
      holder.lived = run;
    },
    seemsGone() {
      if (!holder?.cache.health().synced) return false;
      const seen = holder.cache.store.get(namespace, holder.pod.name);
      return goneReason(seen, holder.pod, livedOf(holder)) !== undefined;
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
        return goneReason(seen, pod, livedOf(asked));
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
