/** Pauses between tries: exponential, capped, with jitter so that many clients do not come back in step. */

/** Bounds of a back-off, in milliseconds. */
export interface BackoffBounds {
  readonly firstMs: number;
  readonly maximumMs: number;
}

/** A random number in [0, 1), as Math.random gives. */
export type Random = () => number;

/** The pause before try number `attempt` (1 = first retry): between half of and all of `firstMs * 2^(attempt-1)`, capped. */
export function backoffDelayMs(attempt: number, bounds: BackoffBounds, random: Random): number {
  const ceiling = Math.min(bounds.maximumMs, bounds.firstMs * 2 ** Math.min(attempt - 1, 30));
  return Math.round(ceiling * (0.5 + random() / 2));
}
