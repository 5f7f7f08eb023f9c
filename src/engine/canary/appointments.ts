import type { Clock } from '../../api/clock.ts';

/** At most one point in time per key; the earliest one asked for counts. */
export interface Appointments {
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
