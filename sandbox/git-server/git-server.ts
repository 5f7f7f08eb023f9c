import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { listen } from '../listening.ts';
import { answerRequest } from './upload-pack.ts';

const MAX_HEAD_BYTES = 16 * 1024;
/** Longer bodies are those of pushes. */
const MAX_QUESTION_BYTES = 64 * 1024;

/** Where to serve from. */
interface GitServerOptions {
  /** Folder of bare repositories; `shop.git` in it is served at `/shop.git`. */
  readonly root: string;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default: any free port. */
  readonly port?: number;
}

/** A running Git server. */
export interface GitServer {
  /** `http://HOST:PORT`; a repository's URL is `${url}/name.git`. */
  readonly url: string;
  /** Requests answered so far. */
  requests(): number;
  close(): Promise<void>;
}

/**
 * Serves Git over smart HTTP. What Holdfast reads is answered in this process, since a start of git costs more than most tests; all else,
 * pushes among it, by git's own `http-backend`, with 501 where there is no git. Rejects when the port is taken.
 */
export async function startGitServer(options: GitServerOptions): Promise<GitServer> {
  let count = 0;
  const server = createServer((request, response) => {
    count += 1;
    serve(options.root, request, response).catch(() => response.destroy());
  });
  return { ...(await listen(server, options)), requests: () => count };
}

async function serve(root: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://git');
  const body = isShort(request) ? await buffer(request) : undefined;
  const repository = join(root, url.pathname.split('.git/', 1)[0] ?? '').concat('.git');
  const asked = body && { url, headers: request.headers, body };
  // What cannot be read here may be what only git understands: alternates, a shallow repository, a damaged one.
  const answer = asked && (await answerRequest(repository, asked).catch(() => undefined));
  if (answer) return void response.writeHead(200, { 'content-type': answer.type }).end(answer.body);
  try {
    await passThrough(startBackend(environment(root, url, request), body ?? request), response);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    response
      .writeHead(501, { 'content-type': 'text/plain' })
      .end('this request needs git, which is not in PATH\n');
  }
}

/** Whether a request may be answered here: it has no body, or a short one. */
function isShort({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' || Number(headers['content-length'] ?? Number.NaN) <= MAX_QUESTION_BYTES;
}

type Backend = ChildProcessByStdio<Writable, Readable, null>;

/** One CGI call. `git http-backend` is found by git itself in its exec path, on Linux and macOS alike. */
function startBackend(env: NodeJS.ProcessEnv, body: Buffer | Readable): Backend {
  const backend = spawn('git', ['http-backend'], { env, stdio: ['pipe', 'pipe', 'ignore'] });
  backend.on('error', (error) => backend.stdout.destroy(error));
  backend.stdin.on('error', () => backend.kill());
  if (Buffer.isBuffer(body)) backend.stdin.end(body);
  else body.pipe(backend.stdin);
  return backend;
}

/** Passes an answer on while git writes it. */
async function passThrough(backend: Backend, response: ServerResponse): Promise<void> {
  response.on('close', () => backend.kill());
  const { head, rest } = await readHead(backend.stdout);
  writeHead(response, head);
  response.write(rest);
  backend.stdout.pipe(response);
}

function environment(root: string, url: URL, { method, headers }: IncomingMessage): NodeJS.ProcessEnv {
  const length = headers['content-length'];
  return {
    PATH: process.env.PATH,
    HOME: root,
    GIT_PROJECT_ROOT: root,
    GIT_HTTP_EXPORT_ALL: '1',
    GIT_CONFIG_COUNT: '2',
    GIT_CONFIG_KEY_0: 'safe.directory',
    GIT_CONFIG_VALUE_0: '*',
    GIT_CONFIG_KEY_1: 'http.receivepack',
    GIT_CONFIG_VALUE_1: 'true',
    PATH_INFO: decodeURIComponent(url.pathname),
    QUERY_STRING: url.search.slice(1),
    REQUEST_METHOD: method,
    REMOTE_ADDR: '127.0.0.1',
    CONTENT_TYPE: headers['content-type'] ?? '',
    ...(length === undefined ? {} : { CONTENT_LENGTH: length }),
    HTTP_CONTENT_ENCODING: headers['content-encoding'] ?? '',
    GIT_PROTOCOL: String(headers['git-protocol'] ?? ''),
  };
}

/** Reads up to the empty line that ends a CGI head. Rejects when the program ends before, or writes too long a head. */
function readHead(output: Readable): Promise<{ head: string; rest: Buffer }> {
  return new Promise((resolve, reject) => {
    let seen = Buffer.alloc(0);
    const onData = (chunk: Buffer): void => {
      seen = Buffer.concat([seen, chunk]);
      const end = seen.indexOf('\r\n\r\n');
      if (end < 0 && seen.length <= MAX_HEAD_BYTES) return;
      output.pause();
      output.off('data', onData);
      if (end < 0) reject(new Error('git http-backend wrote no head'));
      else resolve({ head: seen.subarray(0, end).toString('latin1'), rest: seen.subarray(end + 4) });
    };
    output.on('data', onData);
    output.once('end', () => reject(new Error('git http-backend ended without an answer')));
    output.once('error', reject);
  });
}

function writeHead(response: ServerResponse, head: string): void {
  let code = 200;
  for (const line of head.split('\r\n')) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).trim();
    const value = line.slice(colon + 1).trim();
    if (name.toLowerCase() === 'status') code = Number.parseInt(value, 10);
    else response.setHeader(name, value);
  }
  response.writeHead(code);
}
