/** From what metric systems answer to a reading: one finite and fresh number, anything else is not knowing (S29). */
import type { MetricReading } from '../../api/observed.ts';
import { failedReading, type MetricRequest } from './provider.ts';

/** Clocks of two machines may differ by this much before an answer counts as stale. */
const clockSkewMs = 30_000;
/** Characters of a value that messages show. */
const longestValue = 64;

/** A value at a time, or over the time that starts there. */
interface Point {
  readonly atMs: number;
  readonly value: unknown;
}

/** Flagger asks several systems for ten intervals, so that late points are found. The newest of them is judged by its age. */
export function askedMs({ intervalMs, windowMs }: Pick<MetricRequest, 'intervalMs' | 'windowMs'>): number {
  return Math.max(10 * intervalMs, windowMs);
}

/** A number, or a decimal number as text. */
export function valueReading(value: unknown): MetricReading {
  const isDecimal =
    typeof value === 'string' && /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/.test(value.trim());
  const number = typeof value === 'number' || isDecimal ? Number(value) : Number.NaN;
  if (Number.isFinite(number)) return { kind: 'value', value: number };
  const text = String(value);
  const isShown = (typeof value !== 'object' || value === null) && text.length <= longestValue;
  return { kind: 'noData', detail: `the value is ${isShown ? text : 'not a number'}` };
}

/** The only one of a list, else the reading that says what to do: `aggregate` is how a query of this system makes one of several. */
export function onlyOne<T>(
  series: readonly T[],
  aggregate: string,
  reading: (only: T) => MetricReading,
): MetricReading {
  const [first, ...others] = series;
  if (first === undefined) return { kind: 'noData', detail: 'the query returns no series' };
  if (others.length === 0) return reading(first);
  return failedReading(
    `the query returns ${series.length} series; aggregate them to one, as with ${aggregate}`,
  );
}

/** A value of a time; noData where that time is more than the window ago. */
export function freshReading({ atMs, value }: Point, { nowMs, windowMs }: MetricRequest): MetricReading {
  const ageMs = nowMs - atMs;
  if (Math.abs(ageMs) <= windowMs + clockSkewMs) return valueReading(value);
  if (Number.isNaN(ageMs)) return { kind: 'noData', detail: 'the time of the sample cannot be read' };
  const seconds = Math.round(Math.abs(ageMs) / 1_000);
  const detail =
    ageMs < 0
      ? `the sample is ${seconds} s ahead of now; a clock is wrong`
      : `the sample is ${seconds} s old; the data is stale or a clock is wrong`;
  return { kind: 'noData', detail };
}

/** A value with its time as text, if it has one: without, it counts as current, as for Flagger, unless its age is limited. */
export function timedReading(
  value: unknown,
  time: string | null | undefined,
  request: MetricRequest,
): MetricReading {
  if (time) return freshReading({ atMs: Date.parse(time), value }, request);
  if (request.maxSampleAgeMs === undefined) return valueReading(value);
  return { kind: 'noData', detail: 'the answer has no time of the value' };
}

/**
 * The newest value of a series. `bucketMs`: each point covers this time, from its own time on; one that still fills is left out, since its value
 * is too small (Flagger reads the oldest point for that reason). A system whose data comes late needs a metric with a longer interval.
 */
export function newestReading(points: readonly Point[], request: MetricRequest, bucketMs = 0): MetricReading {
  const isComplete = ({ atMs, value }: Point) =>
    value !== null &&
    value !== undefined &&
    atMs + bucketMs <= request.nowMs + (bucketMs > 0 ? 0 : clockSkewMs);
  const [newest] = points.filter(isComplete).toSorted((left, right) => right.atMs - left.atMs);
  if (!newest) {
    const none = points.length > 0 ? 'the query returns no complete point' : 'the query returns no points';
    return { kind: 'noData', detail: none };
  }
  // The newest bucket that is complete may have ended a whole bucket ago.
  const windowMs = Math.max(request.windowMs, bucketMs);
  return freshReading({ atMs: newest.atMs + bucketMs, value: newest.value }, { ...request, windowMs });
}

/** All finite values of a series, the newest as value: moments without requests have none. As stale as its newest point. */
export function pointsReading(points: readonly Point[], request: MetricRequest): MetricReading {
  const finite = points.flatMap(({ atMs, value }) => {
    const reading = valueReading(value);
    return reading.kind === 'value' ? [{ atMs, value: reading.value }] : [];
  });
  const newest = newestReading(finite, request);
  return newest.kind === 'value' ? { ...newest, points: finite.map(({ value }) => value) } : newest;
}

/** What belongs together, by a key. */
export function groupedBy<T>(items: readonly T[], keyOf: (item: T) => string): T[][] {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return [...groups.values()];
}
