import { performance } from 'node:perf_hooks';
import { type Clock, systemClock } from '../api/clock.ts';

/** The machine's clock as it was at the start, and from then on a clock that nobody sets: a jump moves no deadline (S30). */
export function createSteadyClock(): Clock {
  const startMs = Date.now() - performance.now();
  return { nowMs: () => Math.round(startMs + performance.now()), after: systemClock.after };
}
