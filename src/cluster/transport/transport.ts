import { createHash } from 'node:crypto';
import { checkServerIdentity, createSecureContext, type PeerCertificate, rootCertificates } from 'node:tls';
import { Agent, type Dispatcher, ProxyAgent } from 'undici';
import { type BackoffBounds, backoffDelayMs, type Clock, sleep, systemClock } from '../../api/clock.ts';
import { limits } from '../../api/limits.ts';
import { systemWords } from '../../api/system-words.ts';
import { createTurns } from '../../api/turns.ts';
import { serverNameOf, tunnelPool } from '../../http/dispatchers.ts';
import type { Authentication, ClusterAccess, TlsMaterial } from '../access/credentials.ts';
import type { ClusterProxy } from '../access/proxy-url.ts';
import { isApiError, localError } from '../errors.ts';
import { type LinkedSignal, linkSignals, type Random } from '../timing.ts';
import { type ExchangeSettings, exchange, networkError, openExchange, unsent } from './exchange.ts';
import { type ApiRequest, isRead, type Verb } from './request.ts';

/** Settings of the transport; the defaults suit one of several controllers in a cluster. */
export interface TransportOptions {
  readonly access: ClusterAccess;
  /** `holdfast/<version>` and what else identifies us in the server's audit log. */
  readonly userAgent: string;
  /** For deadlines and pauses. Sockets live in real time: a virtual one must not run ahead of them. */
  readonly clock?: Clock;
  readonly random?: Random;
  /** Default 100 requests a second with bursts of 250; watches are not counted. */
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

/** Sends all requests to the API server. */
export interface Transport {
  /** Sends, and returns the JSON of an answer with status < 300. Reads are tried up to 4 times; writes once, except after 401 with renewed credentials. Throws ApiError. */
  request(request: ApiRequest): Promise<unknown>;
  /** Opens a watch; the signal of the request ends it. Throws ApiError. */
  stream(request: ApiRequest): Promise<ApiStream>;
  /** Requests sent so far by verb, retries included. */
  counts(): Readonly<Record<Verb, number>>;
  /** Milliseconds since the epoch by the clock of the API server, as its last answer said it; by our own where that is less than 10 s off. */
  serverNowMs(): number;
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
  readonly rateLimit: RateLimiter;
  readonly pool: ConnectionPool;
  readonly watchPool: ConnectionPool;
  readonly counts: Record<Verb, number>;
  /** How far the API server's clock is ahead of ours. */
  aheadMs: number;
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
    aheadMs: 0,
  };
  return {
    request: async (request) => {
      // The deadline starts after the wait for a turn, and for a person whom a plug-in asks to sign in.
      await parts.rateLimit(request, request.signal);
      await options.access.authenticate();
      const deadlineMs = request.deadlineMs ?? options.deadlineMs ?? 30_000;
      return withDeadline(parts, request, deadlineMs, (signal) => requestWithRetries(parts, request, signal));
    },
    stream: (request) => openStream(parts, request),
    counts: () => ({ ...parts.counts }),
    serverNowMs: () => parts.clock.nowMs() + (Math.abs(parts.aheadMs) < 10_000 ? 0 : parts.aheadMs),
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
    // A try before that failed says more, as that there is no connection, and to which server.
    const isTold = kind === 'timeout' && systemWords(failure.reason) !== undefined;
    const message = isTold ? failure.message : `${request.verb} ${request.object}: ${why}`;
    throw localError(kind, message, { effectUnknown });
  } finally {
    cancel();
    link.release();
  }
}

async function requestWithRetries(parts: Parts, request: ApiRequest, signal: AbortSignal): Promise<unknown> {
  let before: unknown;
  for (let attempt = 1; ; attempt += 1) {
    if (attempt > 1) await parts.rateLimit(request, signal);
    try {
      return await requestOnce(parts, request, signal);
    } catch (error) {
      if (signal.aborted) throw before ?? error;
      const pauseMs = pauseBeforeRetry(parts, request, error, attempt);
      if (pauseMs === undefined) throw error;
      await sleep(parts.clock, pauseMs, signal);
      if (signal.aborted) throw error;
      before = error;
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
async function requestOnce(parts: Parts, request: ApiRequest, signal: AbortSignal): Promise<unknown> {
  return withFreshCredentials(parts, async (authentication) => {
    const settings = settingsFor(parts, parts.pool, { authentication, signal });
    refuseUnsent(request, signal);
    parts.counts[request.verb] += 1;
    return exchange(request, settings);
  });
}

/** The opening has a deadline; once open, only the caller's signal ends the stream. */
async function openStream(parts: Parts, request: ApiRequest): Promise<ApiStream> {
  await parts.options.access.authenticate();
  const lifetime = linkSignals(request.signal);
  try {
    return await withDeadline(parts, request, streamOpenMs, async (opening) => {
      const abandon = () => lifetime.abort();
      opening.addEventListener('abort', abandon, { once: true });
      const answer = await withFreshCredentials(parts, async (authentication) => {
        const settings = settingsFor(parts, parts.watchPool, { authentication, signal: lifetime.signal });
        refuseUnsent(request, lifetime.signal);
        parts.counts[request.verb] += 1;
        return openExchange(request, settings);
      });
      opening.removeEventListener('abort', abandon);
      return { body: readToEnd(request, answer.body, lifetime) };
    });
  } catch (error) {
    lifetime.release();
    throw error;
  }
}

async function* readToEnd(
  request: ApiRequest,
  body: AsyncIterable<Uint8Array>,
  lifetime: LinkedSignal,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw lifetime.signal.aborted ? error : networkError(request, error);
  } finally {
    lifetime.release();
  }
}

/** For a request that waited too long for its turn or its credentials. */
function refuseUnsent(request: ApiRequest, signal: AbortSignal): void {
  if (signal.aborted) throw unsent(request);
}

async function withFreshCredentials<T>(
  { options: { access } }: Parts,
  attempt: (authentication: Authentication) => Promise<T>,
): Promise<T> {
  const authentication = await access.authenticate();
  try {
    return await attempt(authentication);
  } catch (error) {
    if (!isApiError(error, 'unauthorized')) throw error;
    access.refresh(authentication);
    return attempt(await access.authenticate());
  }
}

function settingsFor(
  parts: Parts,
  pool: ConnectionPool,
  { authentication, signal }: Pick<ExchangeSettings, 'authentication' | 'signal'>,
): ExchangeSettings {
  const { server, proxy } = parts.options.access;
  return {
    server,
    ...(proxy ? { proxy: proxy.origin } : {}),
    userAgent: parts.options.userAgent,
    dispatcher: pool.dispatcher(authentication.tls),
    authentication,
    signal,
    maximumBytes: parts.options.maximumBytes ?? limits.listPageBytes,
    onDate: (date) => {
      parts.aheadMs = (Date.parse(String(date)) || parts.clock.nowMs()) - parts.clock.nowMs();
    },
  };
}

/** Requests a second over time, and the size of a burst after a pause. */
export interface RateBounds {
  readonly perSecond: number;
  readonly burst: number;
  /** How many requests may wait for their turn; one more fails immediately (`tooManyRequests`). Default: no limit. */
  readonly waiting?: number;
}

/** Waits until one more request may be sent; returns early when the signal aborts. Throws `tooManyRequests`. */
type RateLimiter = (request: ApiRequest, signal?: AbortSignal) => Promise<void>;

/** The namespace whose work it is: that of the account that it is made as, else that of the object. */
function tenantOf({ impersonate = '', path }: ApiRequest): string {
  const found =
    /^system:serviceaccount:([^:]+):/.exec(impersonate) ?? /\/namespaces\/([^/]+)/.exec(path) ?? [];
  return found[1] ?? '';
}

/** A token bucket whose turns namespaces take one after the other. A wall clock that jumps back only delays by one refill. */
function createRateLimiter(bounds: RateBounds, clock: Clock): RateLimiter {
  let tokens = bounds.burst;
  let refilledAtMs = clock.nowMs();
  const inTurn = createTurns(1);
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

  return async (request, signal) => {
    if (waiting >= (bounds.waiting ?? Number.POSITIVE_INFINITY))
      throw localError('tooManyRequests', `more than ${bounds.waiting} requests wait for their turn`);
    waiting += 1;
    await inTurn(tenantOf(request), () => takeTurn(signal));
    waiting -= 1;
  };
}

/** Connections by TLS material, so that a rotated client certificate or authority gets fresh ones. */
interface ConnectionPool {
  dispatcher(tls: TlsMaterial): Dispatcher;
  /** Breaks every connection, watches included. */
  close(): Promise<void>;
}

/** At most this many sets of TLS material have connections; the oldest is closed when its running requests have ended. */
const maximumAgents = 2;

/** A pool of at most `connections` sockets to this server; null: no bound (watches hold one each). */
function createConnectionPool(
  connections: number | null,
  { server, proxy }: Pick<ClusterAccess, 'server' | 'proxy'>,
): ConnectionPool {
  const agents = new Map<string, Dispatcher>();
  // close() of an agent waits for its running requests; until then close() of the pool must be able to destroy it.
  const leaving = new Set<Dispatcher>();
  /** Credentials are read every few seconds, and each request asks. */
  const keys = new WeakMap<TlsMaterial, string>();

  function keyOf(tls: TlsMaterial): string {
    const key = keys.get(tls) ?? createHash('sha256').update(JSON.stringify(tls)).digest('base64');
    keys.set(tls, key);
    return key;
  }

  function retireOldest(): void {
    const [oldest] = agents.entries();
    if (!oldest) return;
    const [key, agent] = oldest;
    agents.delete(key);
    leaving.add(agent);
    const forget = () => leaving.delete(agent);
    agent.close().then(forget, forget);
  }

  return {
    dispatcher(tls) {
      const key = keyOf(tls);
      const known = agents.get(key);
      if (known) return known;
      if (agents.size >= maximumAgents) retireOldest();
      const agent = proxy ? createTunnels(tls, connections, server, proxy) : createAgent(tls, connections);
      agents.set(key, agent);
      return agent;
    },
    async close() {
      // One for all: each has its stack described when it ends a connection.
      const reason = new Error('the connections are closed');
      await Promise.all([...agents.values(), ...leaving].map((agent) => agent.destroy(reason)));
      agents.clear();
    },
  };
}

function createAgent(tls: TlsMaterial, connections: number | null): Agent {
  const { serverName } = tls;
  return new Agent({
    ...settings(connections),
    connect: { ...socketSettings, ...trust(tls), ...(serverName ? expecting(serverName) : {}) },
  });
}

/**
 * Tunnels (CONNECT) through a proxy, for plain HTTP as well. TLS to the API server ends at the API server. As for kubectl, an HTTPS proxy may
 * have its certificate from the cluster's authority, but it is never shown the client's certificate, and it is always verified.
 */
function createTunnels(
  tls: TlsMaterial,
  connections: number | null,
  server: string,
  { origin, authorization }: ClusterProxy,
): ProxyAgent {
  const { hostname } = new URL(server);
  return new ProxyAgent({
    ...settings(connections),
    uri: origin,
    ...(authorization ? { token: authorization } : {}),
    // A proxy that does not answer CONNECT would hold one of the connections for undici's 300 s.
    clientFactory: (proxy, options) => tunnelPool(proxy, options, connectTimeoutMs),
    proxyTls: { ...socketSettings, ...(tls.ca ? { ca: [...rootCertificates, tls.ca] } : {}) },
    requestTls: {
      timeout: connectTimeoutMs,
      ...trust(tls),
      ...expecting(tls.serverName ?? hostname),
    },
  });
}

const connectTimeoutMs = 10_000;
const socketSettings = { timeout: connectTimeoutMs, keepAlive: true, keepAliveInitialDelay: 30_000 };

function settings(connections: number | null) {
  return {
    connections,
    pipelining: 1,
    keepAliveTimeout: 20_000,
    keepAliveMaxTimeout: 60_000,
    // The transport sets the deadlines: those of undici would also end idle watches.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
}

/** The certificate must be for this host, whatever the address says (`tls-server-name`). */
function expecting(host: string) {
  const servername = serverNameOf(host);
  if (servername) return { servername };
  const address = host.replace(/^\[|\]$/g, '');
  return {
    servername,
    checkServerIdentity: (_: string, certificate: PeerCertificate) =>
      checkServerIdentity(address, certificate),
  };
}

/** One context for all connections: reading certificates and key costs more than the rest of opening one. */
function trust({ insecure, serverName: _, ...material }: TlsMaterial) {
  const rejectUnauthorized = !insecure;
  try {
    return { secureContext: createSecureContext(material), rejectUnauthorized };
  } catch {
    // Each connection reads it again, and fails with what is wrong.
    return { ...material, rejectUnauthorized };
  }
}
