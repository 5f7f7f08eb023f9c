/** Durations as Flagger and Go write them (`30s`, `1m30s`, `500ms`), read into milliseconds. */

const unitMs: Record<string, number> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

/** Go's longest duration (about 292 years); longer text is an error there, so it is here. */
const longestMs = 9_223_372_036_854;

/** Each part can be read in one way only, so that no text makes the match slow. */
const whole = /^(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|ms|s|m|h))+$/;
const part = /([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|ms|s|m|h)/g;

/**
 * Milliseconds of a duration text, or undefined when Go's time.ParseDuration would refuse it. Signs are refused too:
 * none of our fields has a use for a negative time.
 */
export function parseDurationMs(text: string): number | undefined {
  if (text === '0') return 0;
  if (text.length > 64 || !whole.test(text)) return undefined;
  let totalMs = 0;
  for (const [, amount, unit] of text.matchAll(part)) {
    totalMs += Number(amount) * (unitMs[unit ?? ''] ?? Number.NaN);
  }
  return totalMs <= longestMs ? totalMs : undefined;
}

/** Milliseconds of a duration text; absent or unreadable text gives the default, as in Flagger. */
export function durationOr(text: string | undefined, defaultMs: number): number {
  return (text === undefined ? undefined : parseDurationMs(text)) ?? defaultMs;
}

/** A duration for people: `45s`, `1m30s`, `2h`, `250ms`. Rounded to whole seconds from one second on. */
export function formatDurationMs(durationMs: number): string {
  if (durationMs < 1_000) return `${Math.max(0, Math.round(durationMs))}ms`;
  const seconds = Math.round(durationMs / 1_000);
  const parts = [
    [Math.floor(seconds / 3_600), 'h'],
    [Math.floor((seconds % 3_600) / 60), 'm'],
    [seconds % 60, 's'],
  ] as const;
  return parts.flatMap(([amount, unit]) => (amount > 0 ? [`${amount}${unit}`] : [])).join('');
}

/** An interval as Canaries have it, rounded up to whole seconds: `60m`, `90s`. Flagger's schema knows no hours. */
export function formatIntervalMs(durationMs: number): string {
  const seconds = Math.ceil(durationMs / 1_000);
  return seconds % 60 === 0 ? `${seconds / 60}m` : `${seconds}s`;
}

/** RFC 3339 with milliseconds, as status stamps are written. */
export function stamp(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

/**
 * Milliseconds since the epoch of a date that people write, as `2026-12-27T08:00:00Z`; undefined for anything else. By itself, the
 * JavaScript engine takes `end of 2026` for the first of January, and `27 December` for one of the year 2001.
 */
export function parseTimeMs(text: string): number | undefined {
  const timeMs = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(timeMs) ? undefined : timeMs;
}

/** Milliseconds since a stamp; never negative, so a clock that went back fires no deadline (S30). Absent: 0; ahead of now, by another clock: `aheadMs`. */
export function sinceMs(nowMs: number, time: string | undefined, aheadMs = 0): number {
  const thenMs = time === undefined ? Number.NaN : Date.parse(time);
  if (thenMs > nowMs) return aheadMs;
  return Number.isNaN(thenMs) ? 0 : nowMs - thenMs;
}

/** The shortest of these times; undefined: there is none. */
export function soonest(...timesMs: ReadonlyArray<number | undefined>): number | undefined {
  const known = timesMs.filter((ms) => ms !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}

/** Milliseconds that a `Retry-After` header asks to wait: a number of seconds, or a date; undefined when it says neither. */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  const waitMs = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - nowMs;
  return Number.isNaN(waitMs) ? undefined : Math.max(0, waitMs);
}
