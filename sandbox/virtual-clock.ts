import type { Clock } from '../src/api/clock.ts';

/** A clock that only moves by `advance`. */
export interface VirtualClock extends Clock {
  /** Moves time forward and runs every timer that falls due, in order; including timers that are set in between. */
  advance(durationMs: number): void;
  /** Milliseconds until the next timer falls due; undefined: none is set. */
  nextInMs(): number | undefined;
  /** How many timers are set. */
  timers(): number;
}

interface Timer {
  readonly dueMs: number;
  readonly callback: () => void;
}

/** A virtual clock that starts at `startMs` (default 2026-01-01T00:00:00Z). */
export function createVirtualClock(startMs = Date.UTC(2026, 0, 1)): VirtualClock {
  let now = startMs;
  const timers = new Set<Timer>();

  function nextDue(untilMs: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of timers)
      if (timer.dueMs <= untilMs && (!first || timer.dueMs < first.dueMs)) first = timer;
    return first;
  }

  return {
    nowMs: () => now,
    after(delayMs, callback) {
      const timer: Timer = { dueMs: now + Math.max(0, delayMs), callback };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    advance(durationMs) {
      const end = now + durationMs;
      for (let timer = nextDue(end); timer; timer = nextDue(end)) {
        timers.delete(timer);
        now = timer.dueMs;
        timer.callback();
      }
      now = end;
    },
    timers: () => timers.size,
    nextInMs() {
      const first = nextDue(Number.POSITIVE_INFINITY);
      return first && Math.max(0, first.dueMs - now);
    },
  };
}
