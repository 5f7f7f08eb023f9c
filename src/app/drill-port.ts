import type { Clock } from '../api/clock.ts';
import {
  createDrillSchedule,
  type DrillSchedule,
  type DrillScheduleParts,
} from '../engine/drill/drill-schedule.ts';
import { nextDelayMs, scheduleProblem } from '../git/schedule.ts';
import { InputError } from './options.ts';

/** Drills by a cron expression (5 or 6 fields, UTC); without one there are none. Throws InputError for one that cannot be read. */
export function openDrillSchedule(
  expression: string | undefined,
  clock: Clock,
  parts: Omit<DrillScheduleParts, 'clock' | 'nextDelayMs'>,
): DrillSchedule | undefined {
  if (expression === undefined) return undefined;
  const problem = scheduleProblem(expression, undefined, clock.nowMs());
  if (problem) throw new InputError(`--drill-schedule: ${problem}`);
  const next = (nowMs: number) => nextDelayMs({ kind: 'cron', expression }, nowMs, 0);
  return createDrillSchedule({ ...parts, clock, nextDelayMs: next });
}
