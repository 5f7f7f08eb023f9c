import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { listen } from '../../../sandbox/listening.ts';
import {
  countRequest,
  type GitFault,
  kindOfRequest,
  noCounts,
  type RepositoryCounts,
  type RepositorySettings,
} from './git-faults.ts';
import { createRefAnswers, questionOfRefs, type RefAnswers } from './ref-answers.ts';

/** git's own `http-backend` behind HTTP, with faults that tests switch on. */
export interface GitServer {
  stop(): Promise<void>;
}

interface Repository {
  readonly folder: string;
  settings: RepositorySettings;
  counts: RepositoryCounts;
}

const CONTROL_PREFIX = '/_bed/';

/**
 * Serves the bare repositories of `root` at `/<name>.git`, push allowed. Tests drive it over HTTP:
 * `PUT /_bed/<name>` sets a repository's settings, `GET /_bed/<name>` reads its counts (`?reset` also zeroes them).
 */
export async function startGitServer(root: string, host: string, port: number): Promise<GitServer> {
  const repositories = new Map<string, Repository>();
  const backend = { root, answers: createRefAnswers() };
  const repositoryOf = (name: string): Repository => {
    const folder = join(root, `${name}.git`);
    const known = repositories.get(name) ?? { folder, settings: {}, counts: noCounts() };
    repositories.set(name, known);
    return known;
  };
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://bed');
    const answer = url.pathname.startsWith(CONTROL_PREFIX)
      ? control(repositoryOf(url.pathname.slice(CONTROL_PREFIX.length)), url, request, response)
      : serve(backend, repositoryOf(url.pathname.split('.git/')[0]?.slice(1) ?? ''), url, request, response);
    answer.catch(() => response.destroy());
  });
  const { close } = await listen(server, { host, port });
  return { stop: close };
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

async function control(repository: Repository, url: URL, request: IncomingMessage, response: ServerResponse) {
  if (request.method === 'PUT') {
    repository.settings = JSON.parse((await readBody(request)).toString('utf8')) as RepositorySettings;
  }
  response.setHeader('content-type', 'application/json').end(JSON.stringify(repository.counts));
  if (url.searchParams.has('reset')) repository.counts = noCounts();
}

interface Backend {
  readonly root: string;
  readonly answers: RefAnswers;
}

async function serve(
  backend: Backend,
  repository: Repository,
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
) {
  const { settings, counts } = repository;
  const body = await readBody(request);
  const kind = kindOfRequest(
    url.pathname,
    request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body,
  );
  if (kind) countRequest(counts, kind);
  if (!authorized(settings, request)) {
    counts.refused++;
    response.writeHead(401, { 'www-authenticate': 'Basic realm="bed"' }).end();
    return;
  }
  const struck = settings.faultOn === undefined || settings.faultOn === kind ? settings.fault : undefined;
  if (struck?.kind === 'hang') return;
  if (struck?.kind === 'status') response.writeHead(struck.status).end();
  else if (struck?.kind === 'redirect') {
    response.writeHead(301, { location: new URL(`${url.pathname}${url.search}`, struck.to).href }).end();
  } else {
    const start = () => startBackend(backendEnvironment(backend.root, url, request), body);
    const question = questionOfRefs({ url, headers: request.headers, body });
    const output =
      question === undefined
        ? endedWith(response, start())
        : new PassThrough().end(await backend.answers.answer(repository.folder, question, start));
    const head = await readHead(output);
    response.writeHead(head.status, head.headers);
    await pipeline(output, (source) => meter(source, counts, kind === 'fetch', struck), response);
  }
}

function authorized({ username, password }: RepositorySettings, request: IncomingMessage): boolean {
  if (username === undefined && password === undefined) return true;
  const expected = Buffer.from(`${username ?? ''}:${password ?? ''}`).toString('base64');
  return request.headers.authorization === `Basic ${expected}`;
}

/** By its path, which `git http-backend` would be one more process for. */
const backendPath = join(
  execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim(),
  'git-http-backend',
);

/** Runs git's CGI program for one request. */
function startBackend(env: NodeJS.ProcessEnv, body: Buffer): ChildProcessWithoutNullStreams {
  const child = spawn(backendPath, { env });
  child.stderr.resume();
  child.stdin.on('error', () => undefined);
  child.stdin.end(body);
  return child;
}

/** The output of a program that ends with the connection. */
function endedWith(response: ServerResponse, child: ChildProcessWithoutNullStreams): Readable {
  response.on('close', () => child.kill());
  return child.stdout;
}

function backendEnvironment(root: string, url: URL, request: IncomingMessage): NodeJS.ProcessEnv {
  const { headers } = request;
  return {
    PATH: process.env.PATH,
    GIT_PROJECT_ROOT: root,
    GIT_HTTP_EXPORT_ALL: '1',
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'safe.directory',
    GIT_CONFIG_VALUE_0: '*',
    PATH_INFO: decodeURIComponent(url.pathname),
    QUERY_STRING: url.search.slice(1),
    REQUEST_METHOD: request.method,
    REMOTE_USER: 'bed',
    REMOTE_ADDR: '127.0.0.1',
    CONTENT_TYPE: headers['content-type'] ?? '',
    CONTENT_LENGTH: headers['content-length'],
    HTTP_CONTENT_ENCODING: headers['content-encoding']?.toString() ?? '',
    GIT_PROTOCOL: headers['git-protocol']?.toString() ?? '',
  };
}

interface Head {
  readonly status: number;
  readonly headers: Record<string, string>;
}

async function readHead(output: Readable): Promise<Head> {
  let text = Buffer.alloc(0);
  while (text.indexOf('\r\n\r\n') < 0) {
    const chunk = (output.read() as Buffer | null) ?? undefined;
    if (chunk) text = Buffer.concat([text, chunk]);
    else if (output.readableEnded) throw new Error('git http-backend gave no answer');
    else await new Promise((resolve) => output.once('readable', resolve).once('end', resolve));
  }
  const end = text.indexOf('\r\n\r\n');
  output.unshift(text.subarray(end + 4));
  const lines = text.subarray(0, end).toString('latin1').split('\r\n');
  const headers = Object.fromEntries(lines.map((line) => line.split(/:\s*/, 2) as [string, string]));
  const status = Number.parseInt(headers.Status ?? '200', 10);
  delete headers.Status;
  return { status, headers };
}

/** Passes the body on, counts it and applies the faults that concern bodies. */
async function* meter(
  source: AsyncIterable<Buffer>,
  counts: RepositoryCounts,
  isPack: boolean,
  fault: GitFault | undefined,
): AsyncGenerator<Buffer> {
  let sent = 0;
  for await (const part of fault?.kind === 'trickle' ? trickle(source, fault.bytesPerSecond) : source) {
    const allowed =
      fault?.kind === 'truncate' ? part.subarray(0, Math.max(0, fault.afterBytes - sent)) : part;
    sent += allowed.length;
    counts.bytes += allowed.length;
    if (isPack) counts.packBytes += allowed.length;
    yield allowed;
    if (allowed.length < part.length) throw new Error('cut as told');
  }
}

/** Small pieces, ten a second or one byte each time when that is too fast. */
async function* trickle(source: AsyncIterable<Buffer>, bytesPerSecond: number): AsyncGenerator<Buffer> {
  const size = Math.max(1, Math.floor(bytesPerSecond / 10));
  for await (const chunk of source) {
    for (let start = 0; start < chunk.length; start += size) {
      await sleep((size / bytesPerSecond) * 1000);
      yield chunk.subarray(start, start + size);
    }
  }
}
