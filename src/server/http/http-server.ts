import type { IncomingMessage, OutgoingHttpHeaders, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { objectName } from '../../api/kubernetes.ts';
import { InputError } from '../../api/problems.ts';
import { systemWords } from '../../api/system-words.ts';
import { createServer } from '../../http/node-http.ts';

/** What a handler answers. */
export interface Answer {
  readonly status: number;
  /** Bytes that several answers share are held once, however slowly they are read. */
  readonly body: string | Buffer;
  /** Default text/plain. */
  readonly contentType?: string;
  readonly retryAfterSeconds?: number;
  readonly headers?: OutgoingHttpHeaders;
  /** Writes what follows the head, and ends it, in place of the body. */
  readonly stream?: (response: ServerResponse) => void;
}

/** One path (exact, or everything below it when it ends with `/`) and what it answers. */
export interface Route {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly handle: (request: IncomingMessage, rest: string) => Answer | Promise<Answer>;
  /** All that a request needs a place in; default: any number at a time. */
  readonly slots?: (request: IncomingMessage) => readonly RequestSlots[];
}

/** How many requests those who share it have handled at a time; one more is refused before any work. */
export interface RequestSlots {
  readonly maximum: number;
  taken: number;
}

/** A server that listens. */
export interface HttpServer {
  /** `http://host:port` as bound. */
  readonly url: string;
  close(): Promise<void>;
}

/** Where to listen; port 0 takes any free one. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

const serverOptions = {
  requestTimeout: 10_000,
  headersTimeout: 5_000,
  // Node checks both timeouts only this often; its default is 30 s.
  connectionsCheckingInterval: 1_000,
  keepAliveTimeout: 10_000,
};
const requestsPerConnection = 1_000;
/** Of one connection, sent before the first one is answered. */
const pipelinedRequests = 4;
const ordinaryBounds: ConnectionBounds = {
  total: 512,
  perAddress: 64,
  stuckMs: 60_000,
  maxHeaderSize: 16_384,
};

/** How many connections may be open, and how long one without traffic in either direction. */
interface ConnectionBounds {
  readonly total: number;
  readonly perAddress: number;
  readonly stuckMs: number;
  /** Bytes of the headers of one request. */
  readonly maxHeaderSize: number;
}

/** Starts to serve the routes. Rejects with the system's error when the address is taken. */
export async function startHttpServer(
  address: ListenAddress,
  routes: readonly Route[],
  onError: (error: unknown) => void,
  given: Partial<ConnectionBounds> = {},
): Promise<HttpServer> {
  const bounds = { ...ordinaryBounds, ...given };
  const { maxHeaderSize } = bounds;
  const server = createServer({ ...serverOptions, maxHeaderSize }, (request, response) => {
    void answer(routes, request).then(
      (result) => send(request, response, result),
      (error: unknown) => {
        // That a client left in the middle of its request is no fault: whoever does it again and again would fill the log.
        if (error !== request.errored) onError(error);
        send(request, response, { status: 500, body: 'internal error\n' });
      },
    );
  });
  server.maxRequestsPerSocket = requestsPerConnection;
  // A client that does not read its answer is disconnected.
  server.timeout = bounds.stuckMs;
  boundConnections(server, bounds);
  await listen(server, address);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${address.host.includes(':') ? `[${address.host}]` : address.host}:${port}`,
    async close() {
      server.closeIdleConnections();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

/**
 * Limits the connections, in total and of one address. A further one replaces the connection that has been idle for longest, so that idle
 * connections block neither a probe nor a webhook; while all have a request under way, it is refused.
 */
function boundConnections(server: Server, bounds: ConnectionBounds): void {
  const open = new Set<Socket>();
  /** Without a whole head of a request, the longest one first. */
  const idle = new Set<Socket>();
  const underWay = new WeakMap<Socket, number>();

  function makeRoom(socket: Socket): boolean {
    const isNeighbour = ({ remoteAddress }: Socket) => remoteAddress === socket.remoteAddress;
    const share = [...open].filter(isNeighbour).length;
    if (open.size < bounds.total && share < bounds.perAddress) return true;
    const victim = [...idle].find((each) => share < bounds.perAddress || isNeighbour(each));
    if (victim) forget(victim);
    victim?.destroy();
    return victim !== undefined;
  }

  function forget(socket: Socket): void {
    open.delete(socket);
    idle.delete(socket);
  }

  server.on('connection', (socket: Socket) => {
    if (!makeRoom(socket)) return socket.destroy();
    open.add(socket);
    idle.add(socket);
    return socket.on('close', () => forget(socket));
  });
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    idle.delete(socket);
    const count = (underWay.get(socket) ?? 0) + 1;
    underWay.set(socket, count);
    if (count > pipelinedRequests) socket.destroy();
    response.on('close', () => {
      const left = (underWay.get(socket) ?? 1) - 1;
      underWay.set(socket, left);
      if (left === 0 && open.has(socket)) idle.add(socket);
    });
  });
}

/** There is no place for the request now. */
export const busy: Answer = { status: 503, body: 'too many requests at a time\n', retryAfterSeconds: 1 };

async function answer(routes: readonly Route[], request: IncomingMessage): Promise<Answer> {
  const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
  const fitting = routes.filter((route) =>
    route.path.length > 1 && route.path.endsWith('/') ? path.startsWith(route.path) : path === route.path,
  );
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  const route = fitting.find((candidate) => candidate.method === method);
  if (!route) {
    return fitting.length > 0
      ? { status: 405, body: 'method not allowed\n' }
      : { status: 404, body: 'not found\n' };
  }
  const rest = path.slice(route.path.length);
  const slots = route.slots?.(request) ?? [];
  if (slots.some(({ taken, maximum }) => taken >= maximum)) return busy;
  for (const one of slots) one.taken += 1;
  try {
    return await route.handle(request, rest);
  } finally {
    for (const one of slots) one.taken -= 1;
  }
}

function send(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  if (response.headersSent) return;
  const { status, body, contentType, retryAfterSeconds, stream } = answer;
  const headers: OutgoingHttpHeaders = {
    'content-type': contentType ?? 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    ...(retryAfterSeconds ? { 'retry-after': String(retryAfterSeconds) } : {}),
    // Do not wait for the rest of a body that is not read.
    ...(request.complete ? {} : { connection: 'close' }),
    ...answer.headers,
  };
  response.writeHead(status, headers);
  if (stream && request.method !== 'HEAD') stream(response);
  else response.end(body);
}

function listen(server: Server, { host, port }: ListenAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = ({ code, message }: NodeJS.ErrnoException) =>
      reject(new InputError(`cannot listen at ${host}:${port}: ${systemWords(code) ?? message}`));
    server.once('error', onError);
    server.listen(port, host, () => {
      server.off('error', onError);
      resolve();
    });
  });
}

/** Whether something in a request is a name of Kubernetes. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && objectName.test(value);
}

/** Bytes of a body that is too large that are read and dropped: a client that sends it to its end first gets no answer from a closed connection. */
const droppedBytes = 32 * 1_048_576;

/** The raw bytes of a body, or undefined when there are more than `maximumBytes`. */
export async function readBody(request: IncomingMessage, maximumBytes: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > droppedBytes) break;
    if (size <= maximumBytes) chunks.push(chunk);
    else chunks.length = 0;
  }
  return size > maximumBytes ? undefined : Buffer.concat(chunks);
}
