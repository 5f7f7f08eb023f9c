import type { Clock } from '../api/clock.ts';
import type { CacheHandle } from './caches.ts';
import { type HolderWatch, type HolderWatchOptions, watchHolder } from './holder-watch.ts';
import { type LeaseRecord, leaseKind, leaseRecordOf } from './lease-record.ts';

/** Where the Lease is, and how it is read. */
export interface LeaseWatchOptions extends Omit<HolderWatchOptions, 'onNews'> {
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
