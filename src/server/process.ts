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

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

/** Levels that --log-level takes. */
export function isLogLevel(level: string): boolean {
  return levels.includes(level);
}

/** JSON lines on standard output, or readable ones on a terminal. Nothing is written by a worker, so that the last line is never lost. */
export async function createLog(level: string, stream: NodeJS.WriteStream = process.stdout): Promise<Logger> {
  const options = { level, base: null, serializers: { err: loggedError } };
  if (!stream.isTTY) return pino(options, pino.destination({ fd: 1, sync: true }));
  // Loaded here, since only a terminal needs it.
  const { default: pretty } = await import('pino-pretty');
  const format = { translateTime: 'SYS:HH:MM:ss', ignore: 'pid,hostname' };
  return pino(options, pretty({ ...format, destination: stream, sync: true }));
}

/** Type, message, kind and the first cause's message; a stack only for what nobody foresaw. */
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

/** So long nothing may have happened before memory is given back. */
const quietMs = 5_000;

/** So much may the heap grow between two collections, in percent. Left alone, V8 lets a small one become four times as large. */
const growthPercent = 30;

/** Keeps the heap of this process close to what is in use. For a program of its own, not for one that shares its process with tests. */
export function keepHeapSmall(): void {
  setFlagsFromString(`--heap-growing-percent=${growthPercent}`);
}

/**
 * Gives memory back to the machine when a busy time is over. Left alone, V8 keeps what a start or a large sync needed for hours, since an
 * idle program gives it no reason to collect. `busy` is called at each piece of work.
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

/** The machine's clock as it was at the start, and from then on a clock that nobody sets: a jump moves no deadline (S30). */
export function createSteadyClock(): Clock {
  const startMs = Date.now() - performance.now();
  return { nowMs: () => Math.round(startMs + performance.now()), after: systemClock.after };
}
