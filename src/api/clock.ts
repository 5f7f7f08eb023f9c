import { setImmediate } from 'node:timers/promises';

/** Time as a port, so that tests and the sandbox can run on virtual time (S30). */
export interface Clock {
  /** Wall clock in milliseconds since the epoch; for stamps that people and status read. */
  nowMs(): number;
  /** What the machine's clock shows, if `nowMs` does not follow it when it is set: for windows, freezes and schedules, which name times of day. */
  calendarMs?(): number;
  /** Calls back once after `delayMs`; the returned function cancels. */
  after(delayMs: number, callback: () => void): () => void;
}

/** The machine's own clock. Timers do not keep the process alive by themselves. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, Math.min(delayMs, 2 ** 31 - 1));
    return () => clearTimeout(timer);
  },
};

/** The time that windows, freezes and schedules are compared with. */
export function calendarOf(clock: Pick<Clock, 'nowMs' | 'calendarMs'>): number {
  return clock.calendarMs?.() ?? clock.nowMs();
}

/** Resolves after `delayMs`, or at once when the signal aborts. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const cancel = clock.after(delayMs, done);
    signal?.addEventListener('abort', done, { once: true });
    function done(): void {
      cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    }
  });
}

/** Other work runs after this time; a single file takes longer only if it is hostile (see the tests of hostile files). */
const longestTurnMs = 10;

/** A pause that costs nothing until some milliseconds of work have passed since the last one. It throws the reason of a signal. */
export function createPause(signal?: AbortSignal): () => Promise<void> {
  let pausedMs = performance.now();
  return async () => {
    if (performance.now() - pausedMs <= longestTurnMs) return;
    await setImmediate();
    signal?.throwIfAborted();
    pausedMs = performance.now();
  };
}

/** Bounds of the pauses between tries, in milliseconds. */
export interface BackoffBounds {
  readonly firstMs: number;
  readonly maximumMs: number;
}

/** The pause before try number `attempt` (1 = first retry): between half of and all of `firstMs * 2^(attempt-1)`, capped, so that many do not come back in step. */
export function backoffDelayMs(attempt: number, bounds: BackoffBounds, random: () => number): number {
  const ceiling = Math.min(bounds.maximumMs, bounds.firstMs * 2 ** Math.min(attempt - 1, 30));
  return Math.round(ceiling * (0.5 + random() / 2));
}
