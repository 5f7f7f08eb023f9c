import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import type { ClusterAccess, TlsMaterial } from '../access/credentials.ts';

/** A request as a test sees it, its body already read. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown;
}

/** Decides one answer; it may also hang, or destroy `response.socket`. */
export type Script = (request: SeenRequest, response: ServerResponse) => void;

/** A real local server that plays a script. */
export interface ScriptedServer {
  readonly url: string;
  readonly seen: SeenRequest[];
  connections(): number;
  close(): Promise<void>;
}

/** Starts it on a free loopback port; HTTPS when TLS options are given. */
export async function startScriptedServer(script: Script, tls?: ServerOptions): Promise<ScriptedServer> {
  const seen: SeenRequest[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const listener = async (incoming: IncomingMessage, response: ServerResponse) => {
    const url = new URL(incoming.url ?? '/', 'http://local');
    const { method = '', headers } = incoming;
    const request = {
      method,
      headers,
      path: url.pathname,
      query: url.searchParams,
      body: await readBody(incoming),
    };
    seen.push(request);
    script(request, response);
  };
  const server: Server = tls ? createTlsServer(tls, listener) : createServer(listener);
  server.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    seen,
    connections: () => connections,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readBody(incoming: IncomingMessage): Promise<unknown> {
  const body = await text(incoming);
  return body ? JSON.parse(body) : undefined;
}

/** Answers with JSON. */
export function answer(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

/** A Kubernetes Status. */
export function failure(
  code: number,
  reason: string,
  message: string,
  details: Record<string, unknown> = {},
): unknown {
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message, details };
}

/** Access to such a server with fixed credentials. */
export function accessTo(
  url: string,
  tls: Partial<TlsMaterial> = {},
  headers: Record<string, string> = {},
): ClusterAccess {
  return {
    server: url,
    namespace: 'default',
    authenticate: async () => ({ headers, tls: { insecure: false, ...tls } }),
    refresh: () => undefined,
  };
}
