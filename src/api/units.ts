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
