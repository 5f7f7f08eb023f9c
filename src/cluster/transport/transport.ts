import { type Clock, sleep, systemClock } from '../../api/clock.ts';
import { limits } from '../../api/limits.ts';
import type { ClusterAccess } from '../access/credentials.ts';
import { isApiError, localError } from '../errors.ts';
import {
  type BackoffBounds,
  backoffDelayMs,
  type LinkedSignal,
  linkSignals,
  type Random,
} from '../timing.ts';
import { type ConnectionPool, createConnectionPool } from './connection-pool.ts';
import { type ExchangeSettings, exchange, networkError, openExchange, unsent } from './exchange.ts';
import { type ApiAnswer, type ApiRequest, isRead, type Verb } from './request.ts';

/** Settings of the transport; the defaults suit one controller beside others. */
export interface TransportOptions {
  readonly access: ClusterAccess;
  /** `holdfast/<version>` and what else identifies us in the server's audit log. */
  readonly userAgent: string;
  /** For deadlines and pauses. Sockets live in real time: a virtual one must not run ahead of them. */
  readonly clock?: Clock;
  readonly random?: Random;
  /** Default 100 requests a second, 250 at once; watches are not counted. */
  readonly rate?: RateBounds;
  /** Connections for everything but watches; default 16. */
  readonly connections?: number;
  /** Pauses before a read is sent again; default 200 ms to 5 s. */
  readonly retry?: BackoffBounds;
  /** From a request's turn on; default 30,000. */
  readonly deadlineMs?: number;
  /** Largest answer in bytes; default 64 MiB. */
  readonly maximumBytes?: number;
}

/** An open watch: bytes as they come. Reading throws `transient` when the connection breaks. */
interface ApiStream {
  readonly body: AsyncIterable<Uint8Array>;
}

/** The one door to the API server. */
export interface Transport {
  /** Sends, reads the JSON answer. Reads are tried up to 4 times; writes once, except after 401 with renewed credentials. Throws ApiError. */
  request(request: ApiRequest): Promise<ApiAnswer>;
  /** Opens a watch; the signal of the request ends it. Throws ApiError. */
  stream(request: ApiRequest): Promise<ApiStream>;
  /** Requests sent so far by verb, retries included. */
  counts(): Readonly<Record<Verb, number>>;
  /** Ends all connections. */
  close(): Promise<void>;
}

const readRetries = 3;
const defaultRetry: BackoffBounds = { firstMs: 200, maximumMs: 5_000 };
const longestRetryAfterMs = 10_000;
/** A watch must answer with a head within this time. */
const streamOpenMs = 30_000;

interface Parts {
  readonly options: TransportOptions;
  readonly clock: Clock;
  readonly random: Random;
  readonly rateLimit: (signal?: AbortSignal) => Promise<void>;
  readonly pool: ConnectionPool;
  readonly watchPool: ConnectionPool;
  readonly counts: Record<Verb, number>;
}

/** Creates the transport; it connects on the first request. */
export function createTransport(options: TransportOptions): Transport {
  const clock = options.clock ?? systemClock;
  const parts: Parts = {
    options,
    clock,
    random: options.random ?? Math.random,
    rateLimit: createRateLimiter(options.rate ?? { perSecond: 100, burst: 250 }, clock),
    pool: createConnectionPool(options.connections ?? 16, options.access),
    watchPool: createConnectionPool(null, options.access),
    counts: { get: 0, list: 0, watch: 0, create: 0, apply: 0, patch: 0, delete: 0 },
  };
  return {
    request: async (request) => {
      // Nobody is late because others came first.
      await parts.rateLimit(request.signal);
      const deadlineMs = request.deadlineMs ?? options.deadlineMs ?? 30_000;
      return withDeadline(parts, request, deadlineMs, (signal) => requestWithRetries(parts, request, signal));
    },
    stream: (request) => openStream(parts, request),
    counts: () => ({ ...parts.counts }),
    close: async () => {
      await Promise.all([parts.pool.close(), parts.watchPool.close()]);
    },
  };
}

/** Runs `work` under a signal that the caller or the deadline aborts, and names which of them it was. */
async function withDeadline<T>(
  parts: Parts,
  request: ApiRequest,
  deadlineMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const link = linkSignals(request.signal);
  const cancel = parts.clock.after(deadlineMs, () => link.abort());
  try {
    return await work(link.signal);
  } catch (error) {
    const failure = networkError(request, error);
    if (!link.signal.aborted) throw failure;
    const { effectUnknown } = failure;
    const [kind, why] = link.abortedHere()
      ? (['timeout', `timed out after ${deadlineMs} ms`] as const)
      : (['aborted', 'cancelled by Holdfast'] as const);
    throw localError(kind, `${request.verb} ${request.object}: ${why}`, { effectUnknown });
  } finally {
    cancel();
    link.release();
  }
}

async function requestWithRetries(
  parts: Parts,
  request: ApiRequest,
  signal: AbortSignal,
): Promise<ApiAnswer> {
  for (let attempt = 1; ; attempt += 1) {
    if (attempt > 1) await parts.rateLimit(signal);
    try {
      return await requestOnce(parts, request, signal);
    } catch (error) {
      const pauseMs = pauseBeforeRetry(parts, request, error, attempt);
      if (pauseMs === undefined || signal.aborted) throw error;
      await sleep(parts.clock, pauseMs, signal);
      if (signal.aborted) throw error;
    }
  }
}

/** How long to wait before sending again; undefined when it must not be sent again. */
function pauseBeforeRetry(
  parts: Parts,
  request: ApiRequest,
  error: unknown,
  attempt: number,
): number | undefined {
  if (!isRead(request.verb) || attempt > readRetries) return undefined;
  if (!isApiError(error, 'transient', 'tooManyRequests', 'badAnswer')) return undefined;
  const delayMs = backoffDelayMs(attempt, parts.options.retry ?? defaultRetry, parts.random);
  return Math.max(delayMs, Math.min(error.retryAfterMs ?? 0, longestRetryAfterMs));
}

/** One try, and a second one with fresh credentials after 401: a refused request was not carried out, so this is safe for writes. */
async function requestOnce(parts: Parts, request: ApiRequest, signal: AbortSignal): Promise<ApiAnswer> {
  return withFreshCredentials(parts, async () => {
    const settings = await settingsFor(parts, parts.pool, signal);
    refuseUnsent(request, signal);
    parts.counts[request.verb] += 1;
    return exchange(request, settings);
  });
}

/** The opening has a deadline; once open, only the caller's signal ends the stream. */
async function openStream(parts: Parts, request: ApiRequest): Promise<ApiStream> {
  const lifetime = linkSignals(request.signal);
  try {
    return await withDeadline(parts, request, streamOpenMs, async (opening) => {
      const abandon = () => lifetime.abort();
      opening.addEventListener('abort', abandon, { once: true });
      const answer = await withFreshCredentials(parts, async () => {
        const settings = await settingsFor(parts, parts.watchPool, lifetime.signal);
        refuseUnsent(request, lifetime.signal);
        parts.counts[request.verb] += 1;
        return openExchange(request, settings);
      });
      opening.removeEventListener('abort', abandon);
      return { body: releaseAtEnd(answer.body, lifetime) };
    });
  } catch (error) {
    lifetime.release();
    throw error;
  }
}

async function* releaseAtEnd(
  body: AsyncIterable<Uint8Array>,
  lifetime: LinkedSignal,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } finally {
    lifetime.release();
  }
}

/** For what waited too long for its turn or its credentials. */
function refuseUnsent(request: ApiRequest, signal: AbortSignal): void {
  if (signal.aborted) throw unsent(request);
}

async function withFreshCredentials<T>(parts: Parts, attempt: () => Promise<T>): Promise<T> {
  try {
    return await attempt();
  } catch (error) {
    if (!isApiError(error, 'unauthorized')) throw error;
    parts.options.access.refresh();
    return attempt();
  }
}

async function settingsFor(
  parts: Parts,
  pool: ConnectionPool,
  signal: AbortSignal,
): Promise<ExchangeSettings> {
  const authentication = await parts.options.access.authenticate();
  const { server, proxy } = parts.options.access;
  return {
    server,
    ...(proxy ? { proxy: proxy.origin } : {}),
    userAgent: parts.options.userAgent,
    dispatcher: pool.dispatcher(authentication.tls),
    authentication,
    signal,
    maximumBytes: parts.options.maximumBytes ?? limits.listPageBytes,
  };
}

/** Requests a second over time, and how many may come at once after a pause. */
export interface RateBounds {
  readonly perSecond: number;
  readonly burst: number;
  /** So many wait for their turn; one more fails at once (`tooManyRequests`). Default any number. */
  readonly waiting?: number;
}

/** Waits until one more request may be sent; returns early when the signal aborts. Throws `tooManyRequests`. */
type RateLimiter = (signal?: AbortSignal) => Promise<void>;

/** A token bucket that hands out turns in the order of asking. A wall clock that jumps back only delays by one refill. */
function createRateLimiter(bounds: RateBounds, clock: Clock): RateLimiter {
  let tokens = bounds.burst;
  let refilledAtMs = clock.nowMs();
  let queue: Promise<void> = Promise.resolve();
  let waiting = 0;

  function refill(): void {
    const nowMs = clock.nowMs();
    const elapsedMs = Math.max(0, nowMs - refilledAtMs);
    tokens = Math.min(bounds.burst, tokens + (elapsedMs * bounds.perSecond) / 1000);
    refilledAtMs = nowMs;
  }

  async function takeTurn(signal: AbortSignal | undefined): Promise<void> {
    refill();
    while (tokens < 1 && !signal?.aborted) {
      await sleep(clock, Math.ceil(((1 - tokens) * 1000) / bounds.perSecond), signal);
      refill();
    }
    if (!signal?.aborted) tokens -= 1;
  }

  return async (signal) => {
    if (waiting >= (bounds.waiting ?? Number.POSITIVE_INFINITY))
      throw localError('tooManyRequests', `more than ${bounds.waiting} requests wait for their turn`);
    waiting += 1;
    queue = queue.then(() => takeTurn(signal));
    await queue;
    waiting -= 1;
  };
}
