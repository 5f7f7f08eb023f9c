import type { RouteView } from '../../src/api/observed.ts';

/** A data plane that has not taken over what was written. Plain data, so that a model can be copied. */
export interface Gateway {
  /** What requests follow until then. */
  serves: RouteView;
  untilMs: number;
}

/** The gateway after a write; undefined: it took it over at once. */
export function afterWrite(
  gateway: Gateway | undefined,
  { before, after, untilMs }: { before: RouteView | undefined; after: RouteView; untilMs: number },
): Gateway | undefined {
  if (!before || JSON.stringify(before) === JSON.stringify(after)) return gateway;
  return { serves: gateway?.serves ?? before, untilMs: Math.max(untilMs, gateway?.untilMs ?? 0) };
}
