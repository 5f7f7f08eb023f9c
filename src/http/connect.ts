import type { ClientRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect as openSocket, type Socket } from 'node:net';
import {
  type AddressPolicy,
  guardedLookup,
  isAllowed,
  portOf,
  type Resolver,
  refuseHost,
} from './address-guard.ts';
import { type Deadline, startDeadline } from './deadline.ts';
import { HttpError, toHttpError, tunnelError } from './errors.ts';
import { request as httpRequest } from './node-http.ts';
import { acquireSlots, type SlotTable } from './slots.ts';
import { ciphers } from './tls.ts';
import type { Connection, ConnectRequest, HttpLimits } from './types.ts';

/** What connections are opened with. */
interface ConnectParts extends SlotTable {
  readonly policy: AddressPolicy;
  readonly connectTimeoutMs: number;
  readonly resolver: Resolver;
  readonly limits: HttpLimits;
}

/** Where a connection goes, as the rules for addresses read it, and how it is called in messages. */
interface Target {
  readonly url: URL;
  readonly name: string;
  readonly protocol: string;
  readonly proxy: URL | undefined;
}

/** A connection that obeys the address rules, deadlines, caps and slots of HTTP requests. Throws HttpError. */
export async function connect(parts: ConnectParts, request: ConnectRequest): Promise<Connection> {
  const target = targetOf(request);
  refuseHost(target.url, parts.policy, request.protocol);
  if (target.proxy) refuseHost(target.proxy, parts.policy, request.protocol);
  const limits = { ...parts.limits, ...request.limits };
  const deadline = startDeadline({ method: request.protocol, host: target.name }, limits, request.signal);
  let release = () => {};
  try {
    release = await acquireSlots(parts, request.tenant, target.name, deadline.signal);
    deadline.alive();
    const socket = await dial(parts, target, deadline.signal);
    deadline.alive();
    return watched(socket, { target, limits, deadline, release, maySend: request.maySend });
  } catch (error) {
    deadline.end();
    release();
    const cause = deadline.signal.aborted ? deadline.signal.reason : error;
    throw toHttpError(request.protocol, target.name, cause);
  }
}

/** Read as a URL of HTTP, so that an address has one spelling only. Throws HttpError InvalidUrl. */
function targetOf({ host, port, protocol, proxy }: ConnectRequest): Target {
  const name = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  if (!URL.canParse(`http://${name}`) || !/^[^\s/@?#\\]+$/.test(host))
    throw new HttpError('InvalidUrl', '', `${protocol}: the host or port is not valid`);
  return {
    url: new URL(`http://${name}`),
    name,
    protocol,
    proxy: proxy === undefined ? undefined : parseProxyUrl(proxy),
  };
}

/** Reads the address of a proxy, which may hold credentials. Throws HttpError InvalidUrl. */
export function parseProxyUrl(url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol === 'http:' || parsed?.protocol === 'https:') return parsed;
  throw new HttpError(
    'InvalidUrl',
    parsed?.host ?? '',
    'the address of the proxy must be http(s)://host:port',
  );
}

/** A connected socket that is paused. */
function dial(parts: ConnectParts, target: Target, signal: AbortSignal): Promise<Socket> {
  const { url, proxy, protocol, name } = target;
  return new Promise((resolve, reject) => {
    let opened: Socket | ClientRequest | undefined;
    const fail = (error: unknown) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', aborted);
      opened?.destroy();
      reject(error);
    };
    const done = (socket: Socket) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', aborted);
      socket.removeListener('error', fail);
      socket.on('error', () => undefined);
      socket.pause();
      resolve(socket);
    };
    const aborted = () => fail(signal.reason);
    const timer = setTimeout(
      () => fail(new HttpError('Timeout', name, `${protocol} ${name}: timed out while connecting`)),
      parts.connectTimeoutMs,
    );
    signal.addEventListener('abort', aborted, { once: true });
    opened = proxy ? tunnel(parts, { ...target, proxy }, done, fail) : direct(parts, url, done);
    opened.on('error', fail);
  });
}

/** Connects to the host itself; names are resolved under the rules for addresses. */
function direct({ policy, resolver }: ConnectParts, url: URL, done: (socket: Socket) => void) {
  const port = portOf(url);
  const socket = openSocket({
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(port),
    ...(isAllowed(url, policy) ? {} : { lookup: guardedLookup(policy, port, resolver) }),
  });
  socket.once('connect', () => done(socket));
  return socket;
}

/** Asks the proxy for a tunnel. The proxy resolves the name, so the rules hold for its own address and for literal ones. */
function tunnel(
  { policy, resolver }: ConnectParts,
  { proxy, protocol, name }: Target & { readonly proxy: URL },
  done: (socket: Socket) => void,
  fail: (error: unknown) => void,
) {
  const port = portOf(proxy);
  const open = proxy.protocol === 'https:' ? httpsRequest : httpRequest;
  const user = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  const asked = open({
    host: proxy.hostname.replace(/^\[|\]$/g, ''),
    port: Number(port),
    method: 'CONNECT',
    path: name,
    agent: false,
    ciphers,
    headers: {
      host: name,
      ...(proxy.username ? { 'proxy-authorization': `Basic ${Buffer.from(user).toString('base64')}` } : {}),
    },
    ...(isAllowed(proxy, policy) ? {} : { lookup: guardedLookup(policy, port, resolver) }),
  });
  asked.once('connect', ({ statusCode = 0 }, socket: Socket, head: Buffer) => {
    if (statusCode !== 200) return fail(tunnelError(`${protocol} ${name}`, name, statusCode));
    if (head.length > 0) socket.unshift(head);
    done(socket);
  });
  asked.end();
  return asked;
}

/** What a connection holds and gives back when it is gone. */
interface Held {
  readonly target: Target;
  readonly limits: HttpLimits;
  readonly deadline: Deadline;
  readonly release: () => void;
  readonly maySend: (() => boolean) | undefined;
}

function watched(socket: Socket, { target, limits, deadline, release, maySend }: Held): Connection {
  const { protocol, name } = target;
  const ended = new AbortController();
  let received = 0;
  const end = (reason?: unknown) => {
    if (reason !== undefined) ended.abort(reason);
    deadline.end();
    release();
    socket.destroy();
  };
  deadline.signal.addEventListener('abort', () => end(deadline.signal.reason), { once: true });
  // The socket is paused, so that this listener alone starts nothing.
  socket.on('data', (chunk: Buffer) => {
    deadline.alive();
    received += chunk.length;
    if (received <= limits.maxBytes) return;
    const problem = `the answer is larger than ${limits.maxBytes} bytes`;
    end(new HttpError('TooLarge', name, `${protocol} ${name}: ${problem}`));
  });
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.once('close', () => end());
  return { socket, signal: ended.signal, maySend: maySend ?? (() => true), closed, end: () => end() };
}
