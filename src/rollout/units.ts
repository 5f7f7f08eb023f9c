const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Milliseconds of a duration such as `30s`, `1m30s` or `500ms`; the fallback when it is absent or not one. */
export function durationMs(text: string | undefined, fallbackMs: number): number {
  const parts = [...(text ?? '').matchAll(/([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)/g)];
  if (parts.length === 0) return fallbackMs;
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (UNIT_MS[unit ?? ''] ?? 0), 0);
}

/** RFC 3339 with milliseconds, as status stamps are written. */
export function stamp(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

/** Milliseconds since a stamp; never negative, so a clock that went back fires no deadline (S30). Absent: 0. */
export function sinceMs(nowMs: number, time: string | undefined): number {
  const thenMs = time === undefined ? Number.NaN : Date.parse(time);
  return Number.isNaN(thenMs) ? 0 : Math.max(0, nowMs - thenMs);
}

/** Text cut to a limit in characters, with a mark where it was cut. */
export function shorten(text: string, maxCharacters: number): string {
  return text.length <= maxCharacters ? text : `${text.slice(0, maxCharacters - 1)}…`;
}
