import { waitFor } from '../bed/client.ts';
import type { Load, LoadResult } from '../bed/load.ts';

const ANSWERS_IN_A_ROW = 25;

/**
 * Until Envoy has heard of what the route says already, which takes it longer the busier the machine is: this count has stood still over 25
 * answers. Returns what was seen up to then.
 */
export function untilStandsStill(
  load: Load,
  what: string,
  count: (seen: LoadResult) => number,
): Promise<LoadResult> {
  let last: { readonly value: number; readonly requests: number } | undefined;
  const look = async () => {
    const seen = await load.current();
    const value = count(seen);
    if (last?.value !== value) last = { value, requests: seen.requests };
    return seen.requests - last.requests >= ANSWERS_IN_A_ROW && seen;
  };
  return waitFor(look, { timeoutMs: 120_000, intervalMs: 20, what });
}
