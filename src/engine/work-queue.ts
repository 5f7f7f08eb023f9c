import { type BackoffBounds, backoffDelayMs, type Clock } from '../api/clock.ts';

/** What a pass over one key says about the next one: run again after this time, or only when the key is added. */
export interface PassResult {
  readonly againAfterMs: number | undefined;
  /** Something could not be done, and the rest went on: again with back-off, or earlier where `againAfterMs` says so. */
  readonly failure?: unknown;
}

/** One pass over a key. It calls `looks` before it looks at the world: whatever asked for the key until then has been answered by that. */
export type Pass = (key: string, looks: () => void) => Promise<PassResult>;

/** How the queue works. */
interface WorkQueueOptions {
  readonly clock: Clock;
  /** Keys worked on at the same time; one key is never worked on twice at once. */
  readonly concurrency: number;
  /** Of these at most so many for keys of one namespace (`namespace/name`), so that those that hang hold up only their own. Default: all. */
  readonly perNamespace?: number;
  /** A rejection counts as an error: the key comes back with back-off. */
  readonly pass: Pass;
  readonly onError: (key: string, error: unknown, retryAfterMs: number) => void;
  readonly backoff: BackoffBounds;
  /** In [0, 1), as Math.random. */
  readonly random: () => number;
}

/** A keyed queue. Namespaces share the places, and in each the first key comes first; one that is asked for while it runs runs once more afterwards. */
export interface WorkQueue {
  /** Runs the key as soon as there is room, also in the middle of its back-off. */
  add(key: string): void;
  /** Runs the key after this time at the latest; an earlier one that was asked for stays. */
  addAfter(key: string, delayMs: number): void;
  /** Starts nothing new and resolves when every pass under way has ended. */
  stop(): Promise<void>;
  /** Keys that wait for room now. */
  depth(): number;
}

/** Creates an empty queue on the clock. */
export function createWorkQueue(options: WorkQueueOptions): WorkQueue {
  const { perNamespace = options.concurrency } = options;
  const waiting = new Set<string>();
  const running = new Map<string, Promise<void>>();
  const wantedAgain = new Set<string>();
  const failures = new Map<string, number>();
  const appointments = createAppointments(options.clock, add);
  let stopped = false;

  function add(key: string): void {
    if (stopped) return;
    appointments.cancel(key);
    if (running.has(key)) wantedAgain.add(key);
    else waiting.add(key);
    startMore();
  }

  function startMore(): void {
    while (!stopped && running.size < options.concurrency) {
      const key = nextKey();
      if (key === undefined) return;
      waiting.delete(key);
      running.set(key, run(key));
    }
  }

  /** Of the namespace with the fewest passes under way, the key that came first: many keys of one namespace hold up no other. */
  function nextKey(): string | undefined {
    const underWay = new Map<string, number>();
    for (const key of running.keys())
      underWay.set(namespaceOf(key), (underWay.get(namespaceOf(key)) ?? 0) + 1);
    let next: string | undefined;
    let fewest = perNamespace;
    for (const key of waiting) {
      const inUse = underWay.get(namespaceOf(key)) ?? 0;
      if (inUse >= fewest) continue;
      next = key;
      fewest = inUse;
      if (inUse === 0) break;
    }
    return next;
  }

  async function run(key: string): Promise<void> {
    // The pass starts on its own turn, so that `running` knows it before it can end.
    await Promise.resolve();
    const againAfterMs = await attempt(key);
    running.delete(key);
    if (wantedAgain.delete(key)) add(key);
    else if (againAfterMs !== undefined && !stopped) appointments.make(key, againAfterMs);
    startMore();
  }

  async function attempt(key: string): Promise<number | undefined> {
    try {
      const { againAfterMs, failure } = await options.pass(key, () => {
        appointments.cancel(key);
        wantedAgain.delete(key);
      });
      if (failure !== undefined) return retry(key, failure, againAfterMs);
      failures.delete(key);
      return againAfterMs;
    } catch (error) {
      return retry(key, error);
    }
  }

  function retry(key: string, error: unknown, atMostMs = Number.POSITIVE_INFINITY): number {
    const count = (failures.get(key) ?? 0) + 1;
    failures.set(key, count);
    const retryAfterMs = Math.min(atMostMs, backoffDelayMs(count, options.backoff, options.random));
    options.onError(key, error, retryAfterMs);
    return retryAfterMs;
  }

  return {
    add,
    addAfter(key, delayMs) {
      if (!stopped && !waiting.has(key)) appointments.make(key, delayMs);
    },
    async stop() {
      stopped = true;
      appointments.cancelAll();
      waiting.clear();
      await Promise.all(running.values());
    },
    depth: () => waiting.size,
  };
}

const namespaceOf = (key: string) => key.slice(0, Math.max(0, key.indexOf('/')));

/** At most one point in time per key; the earliest one asked for counts. */
interface Appointments {
  make(key: string, delayMs: number): void;
  cancel(key: string): void;
  cancelAll(): void;
}

/** Calls `due` with a key once its time has come. */
export function createAppointments(clock: Clock, due: (key: string) => void): Appointments {
  const made = new Map<string, { dueMs: number; cancel: () => void }>();

  function cancel(key: string): void {
    made.get(key)?.cancel();
    made.delete(key);
  }

  return {
    make(key, delayMs) {
      const dueMs = clock.nowMs() + delayMs;
      const before = made.get(key);
      if (before && before.dueMs <= dueMs) return;
      cancel(key);
      const stop = clock.after(delayMs, () => {
        made.delete(key);
        due(key);
      });
      made.set(key, { dueMs, cancel: stop });
    },
    cancel,
    cancelAll() {
      for (const key of [...made.keys()]) cancel(key);
    },
  };
}
