import { CronTime } from 'cron';
import { durationOr } from '../../api/duration.ts';
import type { Problem } from '../../api/problems.ts';
import type { SourceWindow } from '../../api/source.ts';

/** Between these two moments nothing begins: asked for one of them, the answer is the second. */
interface Gap {
  readonly fromMs: number;
  readonly startMs: number;
}

/** The gap that was found last, since the same one is asked for at each look. */
const gaps = new WeakMap<SourceWindow, Gap>();

/** Length of a window in milliseconds of real time, whatever clocks are put forward or back meanwhile. */
export function lengthMs({ duration }: SourceWindow): number {
  return durationOr(duration, 0);
}

/**
 * When the window begins first after a moment; milliseconds since the epoch. A beginning in an hour that clocks skip is at the next moment
 * that exists; in one that comes twice it is the first. Throws for what `windowProblems` reports.
 */
export function startAfterMs(window: SourceWindow, afterMs: number): number {
  const known = gaps.get(window);
  if (known && known.fromMs <= afterMs && afterMs < known.startMs) return known.startMs;
  const start = nextDate(window, afterMs);
  const turnedBackMs = whenTurnedBackMs(start);
  // Asked from inside the hour that comes again, the library names its dates again; asked from before it, it does not.
  const onceMs = turnedBackMs === undefined ? 0 : nextDate(window, turnedBackMs - 1).toMillis();
  const startMs = Math.max(start.toMillis(), onceMs);
  gaps.set(window, { fromMs: afterMs, startMs });
  return startMs;
}

type ZonedDate = ReturnType<CronTime['getNextDateFrom']>;

function nextDate({ schedule, timeZone = 'UTC' }: SourceWindow, afterMs: number): ZonedDate {
  // The constructor's zone alone is not used for this computation; it must be given twice.
  return new CronTime(schedule, timeZone).getNextDateFrom(new Date(afterMs), timeZone);
}

/** By how much clocks are put back, in minutes: by half an hour on Lord Howe Island, by an hour elsewhere. */
const turns = [30, 60];

/** The moment at which clocks were put back, for a time of the clock that comes a second time. */
function whenTurnedBackMs(date: ZonedDate): number | undefined {
  const turn = turns.find((minutes) => date.minus({ minutes }).offset === date.offset + minutes);
  if (turn === undefined) return undefined;
  let [beforeMs, afterMs] = [date.toMillis() - turn * 60_000, date.toMillis()];
  while (afterMs - beforeMs > 1) {
    const middleMs = Math.floor((beforeMs + afterMs) / 2);
    const isBefore = date.minus({ milliseconds: date.toMillis() - middleMs }).offset !== date.offset;
    [beforeMs, afterMs] = isBefore ? [middleMs, afterMs] : [beforeMs, middleMs];
  }
  return afterMs;
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
