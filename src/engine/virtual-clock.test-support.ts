import type { Clock } from '../api/clock.ts';

/** Time that moves only when told to. */
interface VirtualClock extends Clock {
  /** Moves on, calling back in order; promises get their turn between timers. */
  advance(ms: number): Promise<void>;
}

/** A clock that starts at the time given. */
export function createVirtualClock(startMs = Date.UTC(2026, 0, 1)): VirtualClock {
  const timers = new Map<number, { dueMs: number; callback: () => void }>();
  let nowMs = startMs;
  let nextId = 0;

  function nextDue(limitMs: number): number | undefined {
    const due = [...timers.entries()].filter(([, timer]) => timer.dueMs <= limitMs);
    return due.sort(([a, left], [b, right]) => left.dueMs - right.dueMs || a - b)[0]?.[0];
  }

  return {
    nowMs: () => nowMs,
    after(delayMs, callback) {
      const id = nextId++;
      timers.set(id, { dueMs: nowMs + delayMs, callback });
      return () => timers.delete(id);
    },
    async advance(ms) {
      const endMs = nowMs + ms;
      await settle();
      for (let id = nextDue(endMs); id !== undefined; id = nextDue(endMs)) {
        const timer = timers.get(id);
        timers.delete(id);
        nowMs = Math.max(nowMs, timer?.dueMs ?? nowMs);
        timer?.callback();
        await settle();
      }
      nowMs = endMs;
    },
  };
}

/** Lets every promise that can go on do so. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
