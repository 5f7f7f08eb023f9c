import { type Clock, sleep } from '../api/clock.ts';

/** Requests a second over time, and how many may come at once after a pause. */
export interface RateBounds {
  readonly perSecond: number;
  readonly burst: number;
}

/** Waits until one more request may be sent; rejects never, returns early when the signal aborts. */
export type RateLimiter = (signal?: AbortSignal) => Promise<void>;

/** A token bucket that hands out turns in the order of asking. A wall clock that jumps back only delays by one refill. */
export function createRateLimiter(bounds: RateBounds, clock: Clock): RateLimiter {
  let tokens = bounds.burst;
  let refilledAtMs = clock.nowMs();
  let queue: Promise<void> = Promise.resolve();

  function refill(): void {
    const nowMs = clock.nowMs();
    const elapsedMs = Math.max(0, nowMs - refilledAtMs);
    tokens = Math.min(bounds.burst, tokens + (elapsedMs * bounds.perSecond) / 1000);
    refilledAtMs = nowMs;
  }

  async function takeTurn(signal: AbortSignal | undefined): Promise<void> {
    refill();
    while (tokens < 1 && !signal?.aborted) {
      await sleep(clock, Math.ceil(((1 - tokens) * 1000) / bounds.perSecond), signal);
      refill();
    }
    if (!signal?.aborted) tokens -= 1;
  }

  return (signal) => {
    const turn = queue.then(() => takeTurn(signal));
    queue = turn;
    return turn;
  };
}
