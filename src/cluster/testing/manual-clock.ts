import type { Clock } from '../../api/clock.ts';

/** A clock that moves only when a test says so. */
export interface ManualClock extends Clock {
  /** Moves time on, running due timers in order. */
  advance(milliseconds: number): void;
  /** Sets the wall clock without any time passing. */
  setWall(nowMs: number): void;
  /** Time that passed, whatever the wall clock says. */
  elapsedMs(): number;
  pending(): number;
}

/** Starts at an arbitrary moment. */
export function createManualClock(): ManualClock {
  let elapsed = 0;
  let offset = Date.parse('2026-11-21T09:00:00Z');
  const timers = new Set<{ readonly dueMs: number; readonly callback: () => void }>();
  return {
    nowMs: () => offset + elapsed,
    elapsedMs: () => elapsed,
    pending: () => timers.size,
    setWall(nowMs) {
      offset = nowMs - elapsed;
    },
    after(delayMs, callback) {
      const timer = { dueMs: elapsed + delayMs, callback };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    advance(milliseconds) {
      const end = elapsed + milliseconds;
      for (;;) {
        const [next] = [...timers].filter((timer) => timer.dueMs <= end).sort((a, b) => a.dueMs - b.dueMs);
        if (!next) break;
        timers.delete(next);
        elapsed = next.dueMs;
        next.callback();
      }
      elapsed = end;
    },
  };
}

/** Waits until the condition holds, for things that real sockets do in their own time; at most 10 s, or longer on a busy machine: it counts looks. */
export async function eventually(condition: () => boolean, what: string): Promise<void> {
  for (let looks = 0; !condition(); looks += 1) {
    if (looks === 2_000) throw new Error(`never happened: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
