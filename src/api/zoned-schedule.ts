/** When a cron schedule of a time zone comes next, also where clocks are put forward or back. */
import { CronTime } from 'cron';

/** A window, or when something is to be done. */
interface ZonedSchedule {
  /** Cron expression of 5 or 6 fields. */
  readonly schedule: string;
  /** IANA name; default UTC. */
  readonly timeZone?: string | undefined;
}

/** Between these two moments nothing comes: asked for one of them, the answer is the second. */
interface Gap {
  readonly fromMs: number;
  readonly startMs: number;
}

/** The gap that was found last, since the same one is asked for at each look. */
const gaps = new WeakMap<ZonedSchedule, Gap>();

/**
 * The first time of a schedule after a moment; milliseconds since the epoch. A time in an hour that clocks skip is at the next moment that
 * exists; in one that comes twice it is the first, unless the schedule names every hour. Throws for an expression or a zone that cannot be
 * read, and for dates that never come.
 */
export function startAfterMs(schedule: ZonedSchedule, afterMs: number): number {
  const known = gaps.get(schedule);
  if (known && known.fromMs <= afterMs && afterMs < known.startMs) return known.startMs;
  const zone = zones.get(schedule) ?? readZone(schedule);
  zones.set(schedule, zone);
  const { shownAfter, offsetMs, isHourly } = zone;
  const last = turnNear(zone, afterMs);
  const isTwice = !isHourly && last && last.atMs <= afterMs;
  // Clocks that were put back show nothing new until they are where they were.
  const shownMs = Math.max(afterMs + offsetMs(afterMs), isTwice ? last.atMs + last.beforeMs - 1 : 0);
  const firstMs = momentAfterMs(zone, shownAfter(shownMs), afterMs);
  // What clocks show twice comes twice, though nothing else of the schedule may come for long after it.
  const isAhead = isHourly && last && afterMs < last.atMs;
  const againMs = isAhead ? shownAfter(last.atMs + last.behindMs - 1) - last.behindMs : firstMs;
  const startMs = Math.min(firstMs, againMs);
  gaps.set(schedule, { fromMs: afterMs, startMs });
  return startMs;
}

/** The first moment after this one at which clocks show this time or a later one. */
function momentAfterMs(zone: Zone, shownMs: number, afterMs: number): number {
  const turn = turnNear(zone, shownMs);
  if (!turn) return shownMs - zone.offsetMs(shownMs);
  const { atMs, beforeMs, behindMs } = turn;
  const firstMs = shownMs - beforeMs;
  return afterMs < firstMs && firstMs < atMs ? firstMs : Math.max(atMs, shownMs - behindMs);
}

/** The clocks of a schedule. What they show is written as if it were UTC, in which the library knows no turn of clocks. */
interface Zone {
  /** The first time of the schedule that clocks show after this one. */
  shownAfter(shownMs: number): number;
  /** What clocks are ahead of UTC by. */
  offsetMs(atMs: number): number;
  readonly isHourly: boolean;
}

/** Reading an expression takes longer than most computations with it. */
const zones = new WeakMap<ZonedSchedule, Zone>();

function readZone({ schedule, timeZone = 'UTC' }: ZonedSchedule): Zone {
  const expression = new CronTime(schedule, timeZone);
  const anyDate = new CronTime('* * * * *', timeZone).getNextDateFrom(new Date(0), timeZone);
  return {
    shownAfter(shownMs) {
      try {
        return expression.getNextDateFrom(new Date(shownMs), 'UTC').toMillis();
      } catch (cause) {
        // All else that can be wrong was found when it was read.
        throw new Error('no date within 8 years fits it', { cause });
      }
    },
    offsetMs: (atMs) => anyDate.plus(atMs - anyDate.toMillis()).offset * 60_000,
    isHourly: expression.toJSON()[2] === '*',
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
