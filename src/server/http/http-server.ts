import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a handler answers. */
export interface Answer {
  readonly status: number;
  readonly body: string;
  /** Default text/plain. */
  readonly contentType?: string;
}

/** One path (exact, or everything below it when it ends with `/`) and what it answers. */
export interface Route {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly handle: (request: IncomingMessage, rest: string) => Answer | Promise<Answer>;
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

const limits = {
  requestTimeout: 10_000,
  headersTimeout: 5_000,
  keepAliveTimeout: 30_000,
  maxHeaderSize: 16_384,
};

/** Starts to serve the routes. Rejects with the system's error when the address is taken. */
export async function startHttpServer(
  address: ListenAddress,
  routes: readonly Route[],
  onError: (error: unknown) => void,
): Promise<HttpServer> {
  const server = createServer(limits, (request, response) => {
    void answer(routes, request).then(
      (result) => send(response, result),
      (error: unknown) => {
        onError(error);
        send(response, { status: 500, body: 'internal error\n' });
      },
    );
  });
  server.maxConnections = 256;
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

async function answer(routes: readonly Route[], request: IncomingMessage): Promise<Answer> {
  const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
  const fitting = routes.filter((route) => fits(route, path));
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  const route = fitting.find((candidate) => candidate.method === method);
  if (route) return route.handle(request, path.slice(route.path.length));
  return fitting.length > 0
    ? { status: 405, body: 'method not allowed\n' }
    : { status: 404, body: 'not found\n' };
}

function fits({ path: own }: Route, path: string): boolean {
  return own.length > 1 && own.endsWith('/') ? path.startsWith(own) : path === own;
}

function send(response: ServerResponse, { status, body, contentType }: Answer): void {
  if (response.headersSent) return;
  response.writeHead(status, {
    'content-type': contentType ?? 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  });
  response.end(body);
}

function listen(server: Server, { host, port }: ListenAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** The raw bytes of a body, or undefined when there are more than `maximumBytes`. */
export async function readBody(request: IncomingMessage, maximumBytes: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maximumBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
