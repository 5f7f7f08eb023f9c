import { setImmediate } from 'node:timers/promises';

/** Other work gets its turn after this time; a single file takes longer only if it is odd (see the tests of hostile files). */
const longestTurnMs = 10;

/** A pause that costs nothing until some milliseconds of work have passed since the last one. It throws the signal's reason. */
export function createPause(signal: AbortSignal): () => Promise<void> {
  let pausedMs = performance.now();
  return async () => {
    if (performance.now() - pausedMs <= longestTurnMs) return;
    await setImmediate();
    signal.throwIfAborted();
    pausedMs = performance.now();
  };
}
