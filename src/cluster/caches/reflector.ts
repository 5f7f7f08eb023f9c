import { type BackoffBounds, backoffDelayMs, sleep } from '../../api/clock.ts';
import type { Log } from '../../contracts/cluster.ts';
import { isApiError } from '../errors.ts';
import { createWatchdog, type LinkedSignal, linkSignals, type Watchdog } from '../timing.ts';
import { listAndWatch, type Position, type SessionOptions, type SessionTuning } from './watch-session.ts';

/** Times of a reflector. */
export interface ReflectorTuning extends SessionTuning {
  /**
   * A watch without a line for this long may be dead and is reopened (L9). Servers send a bookmark every 60 to 62 s, but none before the kind's
   * version is beyond the one at which the watch began: without etcd's frequent progress notifications that takes until the next event.
   */
  readonly silenceMs: number;
  /** A connection that lasted this long was healthy: the back-off starts from its first step again. */
  readonly healthyMs: number;
  readonly backoff: BackoffBounds;
  /** After this long the next watch starts with the whole state, which corrects a lost event. */
  readonly relistAfterMs: number;
}

/** The defaults of `ReflectorTuning`. */
export const defaultTuning: ReflectorTuning = {
  watchSeconds: { minimum: 240, maximum: 300 },
  initialSilenceMs: 5_000,
  silenceMs: 65_000,
  healthyMs: 10_000,
  backoff: { firstMs: 500, maximumMs: 30_000 },
  relistAfterMs: 30 * 60_000,
};

/** What a reflector works with. */
export interface ReflectorOptions
  extends Omit<SessionOptions, 'tuning' | 'onContact' | 'onState' | 'onWatch'> {
  readonly logger: Log;
  readonly tuning: ReflectorTuning;
}

/** The health of a reflector. */
export interface ReflectorHealth {
  /** The store held the server's whole state at least once. */
  readonly synced: boolean;
  /** Synced, and the server sent something within `silenceMs`. */
  readonly healthy: boolean;
  /** Wall clock of the last line or answer; 0 before the first. For display. */
  readonly lastContactMs: number;
  /** Whole states read, and watches opened, since the start. */
  readonly states: number;
  readonly watches: number;
  /** Connections that broke early in a row, and why the last one did (empty when it did not). */
  readonly failures: number;
  readonly lastError: string;
  /** The server's last answer was that it may not be read, or does not exist: other failures pass by themselves. */
  readonly refused: boolean;
}

/** Synchronizes a store with the server's state of one resource over any number of connections, until it is stopped. */
export interface Reflector {
  /** Resolves when the store holds the server's whole state for the first time. Never rejects. */
  synced(): Promise<void>;
  health(): ReflectorHealth;
  /**
   * Reads the server's whole state again, unless that was done less than `withinMs` ago; resolves with whether it was read. Does not resolve
   * while the server cannot be read.
   */
  refresh(withinMs: number): Promise<boolean>;
  stop(): Promise<void>;
}

interface Progress {
  readonly position: Position;
  readonly health: { -readonly [K in keyof ReflectorHealth]: ReflectorHealth[K] };
  connection: LinkedSignal;
  /** Consecutive connections that were opened and sent nothing. */
  silences: number;
  /** Why the server refused the last connection, which is in the log; undefined: it answered since. */
  toldRefusal: string | undefined;
  cancelRelist: () => void;
  /** When the whole state was read last, on the clock of the reflector. */
  stateMs: number;
  /** A request to read the whole state again. */
  refresh: { readonly done: Promise<void>; readonly resolve: () => void } | undefined;
}

const longestRetryAfterMs = 60_000;

/** Starts a reflector. It never gives up: every error is logged, counted and tried again with growing pauses. */
export function startReflector(options: ReflectorOptions): Reflector {
  const { clock, tuning } = options;
  const stopping = new AbortController();
  const progress = newProgress();
  const watchdog = createWatchdog(clock, tuning.silenceMs, () => progress.connection.abort());
  let announceSynced: () => void = () => undefined;
  const synced = new Promise<void>((resolve) => {
    announceSynced = resolve;
  });
  const session = sessionOptions(options, progress, watchdog, () => announceSynced());
  const running = run();

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const pauseMs = await connectOnce(options, session, progress, stopping.signal);
      await sleep(clock, pauseMs, stopping.signal);
    }
  }

  return {
    synced: () => synced,
    health: () => ({ ...progress.health, healthy: progress.health.synced && !watchdog.silent() }),
    async refresh(withinMs) {
      if (clock.nowMs() - progress.stateMs < withinMs) return false;
      if (progress.refresh === undefined) {
        let resolve: () => void = () => undefined;
        const done = new Promise<void>((done) => {
          resolve = done;
        });
        progress.refresh = { done, resolve };
        progress.position.stateDue = true;
        progress.connection.abort();
      }
      await progress.refresh.done;
      return true;
    },
    async stop() {
      stopping.abort();
      progress.refresh?.resolve();
      watchdog.stop();
      progress.cancelRelist();
      await running;
    },
  };
}

/** One connection from opening to end; returns the pause before the next. */
async function connectOnce(
  options: ReflectorOptions,
  session: SessionOptions,
  progress: Progress,
  stopping: AbortSignal,
): Promise<number> {
  const { clock, tuning, random } = options;
  const { health } = progress;
  const connection = linkSignals(stopping);
  progress.connection = connection;
  let held = false;
  const cancelHeld = clock.after(tuning.healthyMs, () => {
    held = true;
    health.failures = 0;
  });
  let askedPauseMs = 0;
  health.lastError = '';
  try {
    await listAndWatch(session, progress.position, connection.signal);
  } catch (error) {
    if (stopping.aborted || isRefreshed(progress)) return 0;
    askedPauseMs = Math.min(isApiError(error) ? (error.retryAfterMs ?? 0) : 0, longestRetryAfterMs);
    noteEnd(options, progress, error);
  } finally {
    cancelHeld();
    // Ignore what the server still sends on it.
    connection.abort();
    connection.release();
  }
  if (held && askedPauseMs === 0) return 0;
  // Also back off from a server that ends every watch immediately.
  health.failures += 1;
  return Math.max(askedPauseMs, backoffDelayMs(health.failures, tuning.backoff, random));
}

/** True when `refresh` ended the connection, which says nothing about the server. */
function isRefreshed({ refresh, connection, health }: Progress): boolean {
  return refresh !== undefined && connection.abortedHere() && health.failures === 0;
}

/** What the end of a connection says of the server, in its health and in the log. */
function noteEnd(options: ReflectorOptions, progress: Progress, error: unknown): void {
  const { health, toldRefusal } = progress;
  const isQuiet = progress.connection.abortedHere();
  if (isQuiet) progress.silences += 1;
  // One silence is a dead connection. After two the server waits for a version it never reaches: it was restored from a backup.
  if (isQuiet && progress.silences >= 2) progress.position.stateDue = true;
  const message = error instanceof Error ? error.message : 'unknown error';
  health.lastError = isQuiet ? `no data for ${options.tuning.silenceMs} ms` : message;
  health.refused = isApiError(error, 'forbidden', 'unknownKind');
  progress.toldRefusal = health.refused ? health.lastError : undefined;
  report(options, health.lastError, isQuiet || (health.refused && health.lastError === toldRefusal));
}

/**
 * At debug level: a quiet watch, since usually nothing happened and an error of the next one is logged anyway, and a refusal that was logged
 * before, as of a kind whose CRD is not installed.
 */
function report({ logger, selection }: ReflectorOptions, reason: string, isNoNews: boolean): void {
  const { apiVersion, kind, namespace } = selection;
  const fields = { apiVersion, kind, namespace, reason };
  if (isNoNews) logger.debug(fields, 'watch ended again; reopening it');
  else logger.warn(fields, 'watch ended; reconnecting');
}

function sessionOptions(
  options: ReflectorOptions,
  progress: Progress,
  watchdog: Watchdog,
  announceSynced: () => void,
): SessionOptions {
  const { clock, tuning, random } = options;
  const { health, position } = progress;
  return {
    ...options,
    onContact(what) {
      if (what === 'data') progress.silences = 0;
      health.refused = false;
      progress.toldRefusal = undefined;
      watchdog.contact();
      health.lastContactMs = clock.nowMs();
    },
    onState() {
      health.synced = true;
      health.states += 1;
      progress.stateMs = clock.nowMs();
      progress.refresh?.resolve();
      progress.refresh = undefined;
      announceSynced();
      progress.cancelRelist();
      progress.cancelRelist = clock.after(tuning.relistAfterMs * (0.8 + random() * 0.4), () => {
        position.stateDue = true;
      });
    },
    onWatch() {
      health.watches += 1;
    },
  };
}

function newProgress(): Progress {
  return {
    position: { resourceVersion: undefined, stateDue: false },
    health: {
      synced: false,
      healthy: false,
      lastContactMs: 0,
      states: 0,
      watches: 0,
      failures: 0,
      lastError: '',
      refused: false,
    },
    connection: linkSignals(),
    silences: 0,
    toldRefusal: undefined,
    cancelRelist: () => undefined,
    stateMs: Number.NEGATIVE_INFINITY,
    refresh: undefined,
  };
}
