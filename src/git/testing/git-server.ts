import { execFileSync, spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { testCertificate, testKey } from '../../http/testing/servers.ts';

/** One request as the server saw it. */
interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly protocol: string;
  readonly authorization: string | undefined;
  sentBytes: number;
}

/** What a fault may do with a request; returning true means that it was answered. */
type Fault = (request: IncomingMessage, response: ServerResponse) => boolean;

/** A real Git server over HTTP: git's own http-backend behind Node's HTTP server, with faults on request. */
export interface GitServer {
  readonly url: string;
  readonly requests: SeenRequest[];
  /** Answers requests instead of Git until it is set to undefined. */
  fault: Fault | undefined;
  /** Changes the bytes of Git's answer body; `undefined` leaves them. */
  transform: ((body: Buffer, request: IncomingMessage) => Buffer) | undefined;
  /** Behaves like a server that knows protocol v0 only. */
  isOld: boolean;
  close(): Promise<void>;
}

/** Asked of git once: each start of a process costs more than most tests. */
let backend: string | undefined;

/**
 * Serves the bare repositories below `root` on a free port of 127.0.0.1; `isSecure` by the test certificate. With `clientAuthority` (PEM)
 * nobody gets in without a certificate of its.
 */
export async function startGitServer(
  root: string,
  isSecure = false,
  clientAuthority?: string,
): Promise<GitServer> {
  backend ??= join(execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim(), 'git-http-backend');
  const program = backend;
  const requests: SeenRequest[] = [];
  const listener: RequestListener = (request, response) => {
    const seen: SeenRequest = {
      method: request.method ?? '',
      url: request.url ?? '',
      protocol: String(request.headers['git-protocol'] ?? ''),
      authorization: request.headers.authorization,
      sentBytes: 0,
    };
    requests.push(seen);
    if (server.fault?.(request, response)) return;
    runBackend({ backend: program, root, isOld: server.isOld }, request, (answer) => {
      const body = server.transform ? server.transform(answer.body, request) : answer.body;
      seen.sentBytes = body.length;
      response.writeHead(answer.status, answer.headers).end(body);
    });
  };
  const mutual = clientAuthority ? { ca: clientAuthority, requestCert: true } : {};
  const http = isSecure
    ? createSecureServer({ cert: testCertificate, key: testKey, ...mutual }, listener)
    : createServer(listener);
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const { port } = http.address() as AddressInfo;
  const server: GitServer = {
    url: `${isSecure ? 'https' : 'http'}://127.0.0.1:${port}`,
    requests,
    fault: undefined,
    transform: undefined,
    isOld: false,
    close() {
      http.closeAllConnections();
      return new Promise((resolve) => http.close(() => resolve()));
    },
  };
  return server;
}

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

function runBackend(
  { backend, root, isOld }: { backend: string; root: string; isOld: boolean },
  request: IncomingMessage,
  answer: (answer: Answer) => void,
): void {
  const url = new URL(request.url ?? '/', 'http://server');
  const child = spawn(backend, {
    env: {
      PATH: process.env.PATH ?? '',
      HOME: root,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      REQUEST_METHOD: request.method ?? 'GET',
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      GIT_PROTOCOL: isOld ? '' : String(request.headers['git-protocol'] ?? ''),
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  // Git may end before it read the whole request.
  child.stdin.on('error', () => undefined);
  request.pipe(child.stdin);
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.on('close', () => answer(parseCgi(Buffer.concat(chunks))));
}

function parseCgi(output: Buffer): Answer {
  const end = output.indexOf('\r\n\r\n');
  if (end < 0) return { status: 500, headers: {}, body: Buffer.alloc(0) };
  const headers: Record<string, string> = {};
  for (const line of output.toString('latin1', 0, end).split('\r\n')) {
    const [name = '', ...value] = line.split(':');
    headers[name.toLowerCase()] = value.join(':').trim();
  }
  const { status, ...rest } = headers;
  return { status: Number.parseInt(status ?? '200', 10), headers: rest, body: output.subarray(end + 4) };
}
