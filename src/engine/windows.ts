import { CronTime } from 'cron';
import type { Problem } from '../api/problems.ts';
import type { SourceWindow } from '../api/source/source.ts';
import { durationOr } from '../api/time.ts';
import type { WindowView } from '../rollout/world.ts';

/** No window opens in this time; after it the windows are evaluated again. */
interface Closed {
  readonly fromMs: number;
  readonly untilMs: number;
}

const closed = new WeakMap<readonly SourceWindow[], Closed>();

/**
 * Windows that are looked at in search of the next opening, one after another at each of their changes: a schedule of every second, or fifty that
 * follow each other, must not stop the process. A look takes a millisecond or two.
 */
const mostLooks = 200;

/**
 * Whether rollouts may start now, and else when (design section 2.2): inside an allow window if there is one, and outside every deny window.
 * A window holds its beginning and not its end. Undefined without windows. Where deny windows follow each other too closely to see the end of
 * them, the time is when to look again. Throws for windows with `windowProblems`.
 */
export function windowAt(
  windows: readonly SourceWindow[] | undefined,
  nowMs: number,
): WindowView | undefined {
  if (!windows || windows.length === 0) return undefined;
  const known = closed.get(windows);
  if (known && known.fromMs <= nowMs && nowMs < known.untilMs)
    return { open: false, nextOpeningMs: known.untilMs };
  const untilMs = openingMs(windows, nowMs);
  if (untilMs === nowMs) return { open: true };
  closed.set(windows, { fromMs: nowMs, untilMs });
  return { open: false, nextOpeningMs: untilMs };
}

/** When windows that are open may close: a deny window begins, or an allow window ends. Infinity: never. Throws for windows with `windowProblems`. */
export function closingMs(windows: readonly SourceWindow[], nowMs: number): number {
  const changes = windows.map((window) =>
    window.kind === 'deny' ? startAfterMs(window, nowMs) : (endMs(window, nowMs) ?? Number.POSITIVE_INFINITY),
  );
  return Math.min(...changes);
}

function openingMs(windows: readonly SourceWindow[], nowMs: number): number {
  const allows = windows.filter(({ kind }) => kind === 'allow');
  const denies = windows.filter(({ kind }) => kind === 'deny');
  let atMs = nowMs;
  for (let looks = 0; looks < mostLooks; looks += windows.length) {
    const seenMs = atMs;
    const isInside = (window: SourceWindow) => endMs(window, seenMs) !== undefined;
    const denied = denies.filter(isInside);
    if (denied.length > 0) {
      // The deny windows of this moment end, as far as they have begun by then.
      atMs = Math.max(...denied.map((window) => endMs(window, seenMs) ?? seenMs));
    } else {
      if (allows.length === 0 || allows.some(isInside)) return atMs;
      atMs = Math.min(...allows.map((window) => startAfterMs(window, seenMs)));
    }
  }
  return atMs;
}

/** End of the window's oldest time that this moment is in; undefined outside. It lasts in real time, whatever clocks are put forward or back. */
function endMs(window: SourceWindow, atMs: number): number | undefined {
  const lengthMs = durationOr(window.duration, 0);
  const startMs = startAfterMs(window, atMs - lengthMs);
  return startMs <= atMs ? startMs + lengthMs : undefined;
}

/** Between these two moments nothing begins: asked for one of them, the answer is the second. */
interface Gap {
  readonly fromMs: number;
  readonly startMs: number;
}

/** The gap that was found last, since the same one is asked for at each look. */
const gaps = new WeakMap<SourceWindow, Gap>();

/**
 * When the window begins first after a moment; milliseconds since the epoch. A beginning in an hour that clocks skip is at the next moment
 * that exists; in one that comes twice it is the first, unless the window begins in every hour. Throws for what `windowProblems` reports.
 */
function startAfterMs(window: SourceWindow, afterMs: number): number {
  const known = gaps.get(window);
  if (known && known.fromMs <= afterMs && afterMs < known.startMs) return known.startMs;
  const zone = zones.get(window) ?? readZone(window);
  zones.set(window, zone);
  const { shownAfter, offsetMs, isHourly } = zone;
  const last = turnNear(zone, afterMs);
  const isTwice = !isHourly && last && last.atMs <= afterMs;
  // Clocks that were put back show nothing new until they are where they were.
  const shownMs = Math.max(afterMs + offsetMs(afterMs), isTwice ? last.atMs + last.beforeMs - 1 : 0);
  const startMs = momentAfterMs(zone, shownAfter(shownMs), afterMs);
  gaps.set(window, { fromMs: afterMs, startMs });
  return startMs;
}

/** The first moment after this one at which clocks show this time or a later one. */
function momentAfterMs(zone: Zone, shownMs: number, afterMs: number): number {
  const turn = turnNear(zone, shownMs);
  if (!turn) return shownMs - zone.offsetMs(shownMs);
  const { atMs, beforeMs, behindMs } = turn;
  const firstMs = shownMs - beforeMs;
  if (afterMs < firstMs && firstMs < atMs) return firstMs;
  const thenMs = Math.max(atMs, shownMs - behindMs);
  if (!zone.isHourly || atMs <= afterMs) return thenMs;
  return Math.min(thenMs, zone.shownAfter(atMs + behindMs - 1) - behindMs);
}

/** The clocks of a window. What they show is written as if it were UTC, in which the library knows no turn of clocks. */
interface Zone {
  /** The first time of the schedule that clocks show after this one. */
  shownAfter(shownMs: number): number;
  /** What clocks are ahead of UTC by. */
  offsetMs(atMs: number): number;
  readonly isHourly: boolean;
}

/** Reading an expression takes longer than most computations with it. */
const zones = new WeakMap<SourceWindow, Zone>();

function readZone({ schedule, timeZone = 'UTC' }: SourceWindow): Zone {
  const expression = new CronTime(schedule, timeZone);
  const anyDate = new CronTime('* * * * *', timeZone).getNextDateFrom(new Date(0), timeZone);
  return {
    shownAfter: (shownMs) => expression.getNextDateFrom(new Date(shownMs), 'UTC').toMillis(),
    offsetMs: (atMs) => anyDate.plus(atMs - anyDate.toMillis()).offset * 60_000,
    isHourly: schedule.trim() === '@hourly' || schedule.trim().split(/\s+/).at(-4) === '*',
  };
}

const dayMs = 86_400_000;

/** When clocks are put forward or back within a day of a moment, and what they are ahead of UTC by before and from then on. */
function turnNear({ offsetMs }: Zone, nearMs: number) {
  let [earlierMs, atMs] = [nearMs - dayMs, nearMs + dayMs];
  const [beforeMs, behindMs] = [offsetMs(earlierMs), offsetMs(atMs)];
  if (beforeMs === behindMs) return undefined;
  while (atMs - earlierMs > 1) {
    const middleMs = Math.floor((earlierMs + atMs) / 2);
    if (offsetMs(middleMs) === beforeMs) earlierMs = middleMs;
    else atMs = middleMs;
  }
  return { atMs, beforeMs, behindMs };
}

/** What is wrong with the cron expressions and zones of windows, dates that never come included; empty when they can be used. */
export function windowProblems(windows: readonly SourceWindow[] | undefined, nowMs: number): Problem[] {
  return (windows ?? []).flatMap((window, index) => {
    try {
      startAfterMs(window, nowMs);
      return [];
    } catch (error) {
      const why = error instanceof Error ? error.message.split('\n')[0] : 'cannot be read';
      const zone = window.timeZone === undefined ? '' : ` in ${window.timeZone}`;
      const path = `spec.windows[${index}].schedule`;
      return [{ path, message: `${JSON.stringify(window.schedule)}${zone}: ${why}` }];
    }
  });
}
