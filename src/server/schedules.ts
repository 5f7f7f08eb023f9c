/** When Sources are polled, and when every last-known-good is drilled. */
import type { Clock } from '../api/clock.ts';
import { InputError } from '../api/problems.ts';
import { type Source, sourceIntervalMs, sourceRetryIntervalMs } from '../api/source/source.ts';
import type { OpenPoller } from '../contracts/git.ts';
import {
  createDrillSchedule,
  type DrillSchedule,
  type DrillScheduleParts,
} from '../engine/canary/drill/drill-schedule.ts';
import type { PollAges } from '../git/poll/context.ts';
import { nextDelayMs, type PollSchedule, scheduleProblem } from '../git/poll/schedule.ts';
import { createSourcePoller } from '../git/poll/source-poller.ts';

/** How old a shared answer may be. A Source that polls every 30 s takes one of up to 25 s: its own polls come up to a tenth early. */
export function agesOf(source: Source): PollAges {
  const { spec } = source;
  const intervalMs = spec.schedule === undefined ? sourceIntervalMs(source) : scheduledAgeMs;
  return { ...retriesOf(source), maxAgeMs: 0.85 * intervalMs };
}

/** With a cron schedule only Sources that poll at the same time share an answer. */
const scheduledAgeMs = 1_000;

/** Makes pollers on the clock. */
export function createOpenPoller(clock: Clock, random: () => number): OpenPoller {
  return (source, poll) => {
    const { schedule: expression, timeZone } = source.spec;
    const schedule: PollSchedule = expression
      ? { kind: 'cron', schedule: expression, ...(timeZone ? { timeZone } : {}) }
      : { kind: 'interval', intervalMs: sourceIntervalMs(source) };
    const problem =
      schedule.kind === 'cron'
        ? scheduleProblem(schedule.schedule, schedule.timeZone, clock.nowMs())
        : undefined;
    if (problem) throw new RangeError(problem);
    const { retryMs, maxRetryMs } = retriesOf(source);
    return createSourcePoller({
      clock,
      random,
      schedule,
      poll,
      retryMs,
      maxRetryMs,
    });
  };
}

/** A retryInterval is used as it is; without one the first retries come sooner than polls, and each later one after a longer wait. */
function retriesOf(source: Source): { retryMs: number; maxRetryMs: number } {
  const intervalMs = sourceRetryIntervalMs(source);
  if (source.spec.retryInterval !== undefined) return { retryMs: intervalMs, maxRetryMs: intervalMs };
  return { retryMs: Math.min(5_000, intervalMs), maxRetryMs: Math.max(60_000, intervalMs) };
}

/** Drills by a cron expression (5 or 6 fields, UTC); undefined without one. Throws InputError for one that cannot be read. */
export function openDrillSchedule(
  expression: string | undefined,
  parts: Omit<DrillScheduleParts, 'nextDelayMs'>,
): DrillSchedule | undefined {
  if (expression === undefined) return undefined;
  const problem = scheduleProblem(expression, undefined, parts.clock.nowMs());
  if (problem) throw new InputError(`--drill-schedule: ${problem}`);
  const next = (nowMs: number) => nextDelayMs({ kind: 'cron', schedule: expression }, nowMs, 0);
  return createDrillSchedule({ ...parts, nextDelayMs: next });
}
