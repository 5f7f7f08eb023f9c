import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Logger, pino } from 'pino';
import { type Clock, systemClock } from '../api/clock.ts';

/** What an error shows in the log: never the objects that hang on it, since they may hold credentials (S31). */
interface LoggedError {
  readonly type: string;
  readonly message: string;
  readonly kind?: string;
  readonly cause?: string;
  readonly stack?: string;
}

/** Levels that --log-level takes. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

/** JSON lines on standard output, or readable ones on a terminal. Nothing is written by a worker, so that the last line is never lost. */
export async function createLog(level: string, stream: NodeJS.WriteStream = process.stdout): Promise<Logger> {
  const options = { level, base: null, serializers: { err: loggedError } };
  if (!stream.isTTY) return pino(options, pino.destination({ fd: 1, sync: true }));
  // Loaded here, since only a terminal needs it.
  const { default: pretty } = await import('pino-pretty');
  const format = { translateTime: 'SYS:HH:MM:ss', ignore: 'pid,hostname' };
  return pino(options, pretty({ ...format, destination: stream, sync: true }));
}

/** Type, message, kind and the first cause's message; a stack only for unexpected errors. */
export function loggedError(error: unknown): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const kind = (error as { kind?: unknown; code?: unknown; reason?: unknown }).kind;
  const foreseen = error.name !== 'Error' && error.name !== 'TypeError' && error.name !== 'RangeError';
  const cause = error.cause instanceof Error ? error.cause.message : undefined;
  return {
    type: error.name,
    message: error.message,
    ...(typeof kind === 'string' ? { kind } : {}),
    ...(cause ? { cause } : {}),
    ...(foreseen || !error.stack ? {} : { stack: error.stack }),
  };
}

/** Memory is returned to the system after this long without work. */
const quietMs = 5_000;

/** How much the heap may grow between two collections, in percent. By default V8 lets a small heap become four times as large. */
const growthPercent = 30;

/** Limits the heap of this process to about what is in use. Not for a process that also runs tests. */
export function keepHeapSmall(): void {
  setFlagsFromString(`--heap-growing-percent=${growthPercent}`);
}

/**
 * Returns memory to the system after a busy time. By default V8 holds what a start or a large sync needed for hours, since an idle
 * program gives it no reason to collect. `busy` is called for each piece of work.
 */
export function createMemoryTrimmer(clock: Clock): { busy(): void; stop(): void } {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  let cancel: (() => void) | undefined;
  return {
    busy() {
      cancel?.();
      cancel = clock.after(quietMs, () => collect());
    },
    stop() {
      cancel?.();
    },
  };
}

/** The system time at the start plus a monotonic clock: setting the system time moves no deadline (S30), only calendars. */
export function createSteadyClock(): Clock {
  const startMs = Date.now() - performance.now();
  const nowMs = () => Math.round(startMs + performance.now());
  return { nowMs, calendarMs: systemClock.nowMs, after: systemClock.after };
}
