import { lookup as systemLookup } from 'node:dns';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, type Gunzip } from 'node:zlib';
import { limits as bounds } from '../api/limits.ts';
import { createSlots } from '../api/slots.ts';
import type { AddressPolicy, Resolver } from './address-guard.ts';
import { connect, parseProxyUrl } from './connect.ts';
import { type Deadline, startDeadline } from './deadline.ts';
import { createDispatchers, type Dispatchers } from './dispatchers.ts';
import { HttpError, toHttpError } from './errors.ts';
import { createLookups } from './lookups.ts';
import { onlyWhile } from './send-condition.ts';
import { acquireSlots, type SlotTable } from './slots.ts';
import type { Connection, HttpClient, HttpLimits, HttpRequest, HttpStream } from './types.ts';

/** Settings for the whole client. */
export interface HttpClientOptions extends AddressPolicy {
  /** Default 5 s. */
  readonly connectTimeoutMs?: number;
  /** Requests at a time of one tenant at one host. Default 16. */
  readonly maxConcurrentPerHost?: number;
  /** Requests at a time of one tenant. Default 64. */
  readonly maxConcurrentPerTenant?: number;
  readonly limits?: Partial<HttpLimits>;
  /** Sent with each request. Default `holdfast`. */
  readonly userAgent?: string;
  /** Name resolution; default the system's. */
  readonly resolver?: Resolver;
}

const DEFAULT_LIMITS: HttpLimits = {
  idleTimeoutMs: 10_000,
  totalTimeoutMs: bounds.httpTotalMs,
  maxBytes: bounds.httpResponseBytes,
};

interface Parts extends SlotTable {
  readonly dispatchers: Dispatchers;
  readonly lookups: ReturnType<typeof createLookups>;
  readonly limits: HttpLimits;
  readonly userAgent: string;
}

/** What an exchange holds and must give back exactly once. */
interface Exchange {
  readonly url: URL;
  readonly method: string;
  readonly limits: HttpLimits;
  readonly deadline: Deadline;
}

/** Makes the client. One per process, so that slots and connections are shared. */
export function createHttpClient(options: HttpClientOptions = {}): HttpClient {
  const { connectTimeoutMs = bounds.httpConnectMs } = options;
  const lookups = createLookups(options.resolver ?? systemLookup, connectTimeoutMs);
  const parts: Parts = {
    dispatchers: createDispatchers(options, connectTimeoutMs, lookups.shared),
    lookups,
    hostSlots: createSlots(options.maxConcurrentPerHost ?? 16),
    tenantSlots: createSlots(options.maxConcurrentPerTenant ?? 64),
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    userAgent: options.userAgent ?? 'holdfast',
  };
  const connecting = { ...parts, policy: options, connectTimeoutMs };
  const connections = new Set<Connection>();
  return {
    open: (request) => open(parts, request),
    async send(request) {
      const { status, headers, body } = await open(parts, request);
      const chunks: Uint8Array[] = [];
      for await (const chunk of body) chunks.push(chunk);
      return { status, headers, body: Buffer.concat(chunks) };
    },
    async connect(request) {
      const connection = await connect({ ...connecting, resolver: lookups.of(request.tenant) }, request);
      connections.add(connection);
      connection.closed.then(() => connections.delete(connection));
      return connection;
    },
    async close() {
      for (const connection of connections) connection.end();
      await parts.dispatchers.close();
    },
  };
}

/** The same client for requests of one tenant. */
export function forTenant(http: HttpClient, tenant: string): HttpClient {
  return {
    open: (request) => http.open({ ...request, tenant }),
    send: (request) => http.send({ ...request, tenant }),
    connect: (request) => http.connect({ ...request, tenant }),
    close: http.close,
  };
}

/** Reads a URL for an outbound request. Throws HttpError InvalidUrl; the message never shows user info. */
function parseHttpUrl(url: string | URL): URL {
  const parsed = URL.canParse(String(url)) ? new URL(url) : undefined;
  if (!parsed)
    throw new HttpError('InvalidUrl', '', 'the URL cannot be read; it must be http(s)://host/path');
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') {
    throw new HttpError(
      'InvalidUrl',
      parsed.host,
      `${parsed.protocol}//${parsed.host}: only http and https are supported`,
    );
  }
  if (parsed.username || parsed.password) {
    throw new HttpError(
      'InvalidUrl',
      parsed.host,
      `${parsed.host}: the URL holds credentials; move them to a Secret`,
    );
  }
  return parsed;
}

async function open(parts: Parts, request: HttpRequest): Promise<HttpStream> {
  const url = parseHttpUrl(request.url);
  const method = request.method ?? 'GET';
  const proxy = request.proxy === undefined ? undefined : parseProxyUrl(request.proxy);
  const dispatcher = parts.dispatchers.forUrl(url, method, request.tls ?? {}, proxy);
  const limits = { ...parts.limits, ...request.limits };
  const deadline = startDeadline({ method, host: url.host }, limits, request.signal);
  const unsent = () => new HttpError('Aborted', url.host, `${method} ${url.host}: not sent`);
  const exchange: Exchange = { url, method, limits, deadline };
  let release = () => {};
  let raw: Readable | undefined;
  try {
    release = await acquireSlots(parts, request.tenant, url.host, deadline.signal);
    deadline.alive();
    const sender = request.maySend ? dispatcher.compose(onlyWhile(request.maySend, unsent)) : dispatcher;
    const answer = await parts.lookups.as(request.tenant, () =>
      sender.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method,
        signal: deadline.signal,
        headers: requestHeaders(request, parts.userAgent),
        body: request.body ?? null,
      }),
    );
    raw = answer.body;
    // A body that is dropped unread must not bring the process down with an unhandled 'error'.
    raw.on('error', () => undefined);
    const headers = flatHeaders(answer.headers);
    if (request.redirect !== 'return') refuseRedirect(exchange, answer.statusCode, headers);
    deadline.alive();
    return stream(exchange, { status: answer.statusCode, headers, raw }, release);
  } catch (error) {
    deadline.end();
    release();
    raw?.destroy();
    throw toHttpError(method, url.host, deadline.signal.aborted ? deadline.signal.reason : error);
  }
}

/** The body as a generator that releases the slot and the timers when it ends in any way. */
function stream(
  exchange: Exchange,
  answer: { status: number; headers: Record<string, string>; raw: Readable },
  release: () => void,
): HttpStream {
  const { url, method, limits, deadline } = exchange;
  const reading = { method, host: url.host, maxBytes: limits.maxBytes };
  const content = decoded(answer.raw, answer.headers['content-encoding'], reading);
  const finish = () => {
    deadline.end();
    release();
    content.destroy();
    answer.raw.destroy();
  };
  // An unread body releases its slot at the deadline too.
  deadline.signal.addEventListener('abort', finish, { once: true });
  content.on('error', () => undefined);
  async function* body(): AsyncGenerator<Uint8Array> {
    try {
      yield* capped(content, reading, deadline.alive);
    } catch (error) {
      throw toHttpError(method, url.host, deadline.signal.aborted ? deadline.signal.reason : error);
    } finally {
      finish();
    }
  }
  return { status: answer.status, headers: answer.headers, body: body(), cancel: finish };
}

function requestHeaders(request: HttpRequest, userAgent: string): Record<string, string> {
  const headers: Record<string, string> = {
    'user-agent': userAgent,
    'accept-encoding': 'gzip, deflate, br',
    ...request.headers,
  };
  const { auth } = request;
  if (auth?.kind === 'bearer') headers.authorization = `Bearer ${auth.token}`;
  if (auth?.kind === 'basic') {
    const credentials = Buffer.from(`${auth.username}:${auth.password}`, 'utf8');
    headers.authorization = `Basic ${credentials.toString('base64')}`;
  }
  return headers;
}

function refuseRedirect({ url, method }: Exchange, status: number, headers: Record<string, string>): void {
  const location = headers.location;
  if (status < 300 || status > 399 || !location) return;
  const target = URL.canParse(location, url.href) ? new URL(location, url.href).origin : 'an invalid address';
  throw new HttpError(
    'Redirected',
    url.host,
    `${method} ${url.host}: redirected (${status}) to ${target}; not followed`,
  );
}

function flatHeaders(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return flat;
}

/** What a body is read for, for messages. */
interface Reading {
  readonly method: string;
  readonly host: string;
  readonly maxBytes: number;
}

const decoders: Readonly<Record<string, () => Gunzip>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** The content of an answer, unpacked by its content-encoding. Throws HttpError InvalidBody for an unknown one. */
function decoded(body: Readable, contentEncoding: string | undefined, { method, host }: Reading): Readable {
  const encoding = contentEncoding?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') return body;
  const decoder = Object.hasOwn(decoders, encoding) ? decoders[encoding] : undefined;
  if (!decoder) {
    const problem = `content-encoding "${encoding}" is not supported`;
    throw new HttpError('InvalidBody', host, `${method} ${host}: ${problem}`);
  }
  const content = decoder();
  body.on('error', (error) => content.destroy(error));
  content.on('close', () => body.destroy());
  return body.pipe(content);
}

/**
 * Passes the bytes on until more than `maxBytes` came (counted after unpacking, so that a
 * gzip bomb counts at its full size). Throws HttpError TooLarge then.
 */
async function* capped(body: Readable, reading: Reading, alive: () => void): AsyncGenerator<Uint8Array> {
  let total = 0;
  for await (const chunk of body) {
    alive();
    total += chunk.length;
    if (total > reading.maxBytes) {
      const { method, host, maxBytes } = reading;
      throw new HttpError('TooLarge', host, `${method} ${host}: the answer is larger than ${maxBytes} bytes`);
    }
    yield chunk;
  }
}
