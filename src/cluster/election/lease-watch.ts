import type { Clock } from '../../api/clock.ts';
import type { CacheHandle, Caches } from '../caches/caches.ts';
import type { ClusterClient } from '../client/client.ts';
import { type ContainerRun, currentRun, goneReason, type PodName, podOfIdentity } from './lease-holder.ts';
import { type LeaseRecord, leaseKind, leaseRecordOf } from './lease-record.ts';

/** Where the Lease is, and how it is read. */
interface LeaseWatchOptions extends Omit<HolderWatchOptions, 'onEvent'> {
  readonly name: string;
  readonly clock: Clock;
  /** The Lease as the watch shows it; undefined: it was deleted. */
  readonly onLease: (record: LeaseRecord | undefined) => void;
}

/** Watches the Lease, and the pod of its holder. */
export interface LeaseWatch extends HolderWatch {
  /** Opens the watch of the Lease. */
  start(): void;
  /** Calls `onLease` again with what the watch has: the answer to a request may arrive after a newer event. */
  replay(): void;
  /** True while the watch delivers changes; false: they must be polled. */
  follows(): boolean;
  /** Counts the events so far. */
  events(): number;
  /** Resolves when the condition holds, evaluated after each event; or after `timeoutMs`; or when the signal aborts. */
  until(condition: () => boolean, timeoutMs: number, signal: AbortSignal): Promise<void>;
}

/** Nothing is watched before `start`. */
export function watchLease(options: LeaseWatchOptions): LeaseWatch {
  const { caches, namespace, name, clock } = options;
  const holder = watchHolder({ ...options, onEvent: notify });
  const waiting = new Set<() => void>();
  let lease: CacheHandle | undefined;
  let end: () => void = () => undefined;
  let events = 0;

  function notify(): void {
    events += 1;
    for (const look of [...waiting]) look();
  }

  return {
    ...holder,
    start() {
      lease = caches.ensure({ ...leaseKind, namespace, name });
      end = lease.store.subscribe((type, object) => {
        options.onLease(type === 'deleted' ? undefined : leaseRecordOf(object));
        notify();
      });
      void lease.synced().then(notify);
    },
    replay() {
      const seen = lease?.store.get(namespace, name);
      if (seen) options.onLease(leaseRecordOf(seen));
    },
    follows() {
      const health = lease?.health();
      return health?.synced === true && health.lastError === '';
    },
    events: () => events,
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
  /** Of the Lease, and of the pods of its holders. */
  readonly namespace: string;
  /** The watch of the pod reported something. */
  readonly onEvent: () => void;
}

/** Watches the pod of the holder. */
interface HolderWatch {
  /** The holder has renewed the Lease; undefined: there is no holder whose pod matters. */
  renewed(record: LeaseRecord | undefined): void;
  /** Whether the watched pod says that the holder is gone. A hint: `readWhyGone` decides. */
  seemsGone(): boolean;
  /** Reads the holder's pod and says why it is certainly gone; undefined when it may run, or when that is unknown. */
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

/** A status lags behind: a run seen at one renewal may be the previous run. */
const certainAfterRenewals = 2;

/** Opens one watch for each holder that names a pod. */
function watchHolder({ client, caches, namespace, onEvent }: HolderWatchOptions): HolderWatch {
  let holder: Holder | undefined;
  let closed = false;

  function follow(identity: string): void {
    void unfollow();
    const pod = podOfIdentity(identity);
    if (!pod || closed) return;
    const cache = caches.ensure({ apiVersion: 'v1', kind: 'Pod', namespace, name: pod.name });
    const next = { identity, pod, cache, lived: undefined, renewals: 0, end: cache.store.subscribe(onEvent) };
    holder = next;
    // Only after that its absence means that it does not exist.
    void cache.synced().then(() => {
      if (holder === next) onEvent();
    });
  }

  async function unfollow(): Promise<void> {
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
        // Not allowed, or no answer: it is unknown, so the Lease has to expire.
        return undefined;
      }
    },
    async close() {
      closed = true;
      await unfollow();
    },
  };
}

function livedOf({ lived, renewals }: Holder): ContainerRun | undefined {
  return renewals >= certainAfterRenewals ? lived : undefined;
}
