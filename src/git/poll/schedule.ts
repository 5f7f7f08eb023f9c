import { startAfterMs } from '../../api/zoned-schedule.ts';

/** When a Source is polled by itself. */
export type PollSchedule =
  | {
      readonly kind: 'interval';
      readonly intervalMs: number;
    }
  | {
      readonly kind: 'cron';
      /** 5 or 6 fields. */
      readonly schedule: string;
      /** IANA name; default UTC. */
      readonly timeZone?: string;
    };

/** Share of the interval by which polls are spread, so that many Sources do not ask at the same moment. */
const JITTER = 0.1;

/** Milliseconds until the next poll. `random` is in [0, 1). Throws like `scheduleProblem` reports. */
export function nextDelayMs(schedule: PollSchedule, nowMs: number, random: number): number {
  if (schedule.kind === 'interval') return Math.round(schedule.intervalMs * (1 + JITTER * (2 * random - 1)));
  return startAfterMs(schedule, nowMs) - nowMs;
}

/**
 * What is wrong with a cron expression or time zone, or undefined. The next date is computed as well, since the
 * library's own check lets dates pass that never come, such as 31 February.
 */
export function scheduleProblem(
  expression: string,
  timeZone: string | undefined,
  nowMs: number,
): string | undefined {
  if (expression.trim().length === 0) return 'the schedule is empty';
  try {
    startAfterMs({ schedule: expression, timeZone }, nowMs);
    return undefined;
  } catch (error) {
    const why = error instanceof Error ? error.message.split('\n')[0] : 'it cannot be read';
    return `schedule ${JSON.stringify(expression)}${timeZone ? ` in ${timeZone}` : ''}: ${why}`;
  }
}
