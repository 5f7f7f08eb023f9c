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
