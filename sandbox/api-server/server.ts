import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { discover } from './discovery.ts';
import { ApiError, notFound, statusOf } from './errors.ts';
import type { JsonRecord } from './json.ts';
import type { Lister } from './list.ts';
import type { ApiWorld } from './object-writer.ts';
import { type ApiRequest, parseResourcePath, type ResourcePath } from './request.ts';
import { runVerb } from './resource-verbs.ts';
import { type AccessRule, reviewed, type TokenRule } from './reviews.ts';
import { openWatch, type Watch } from './watch.ts';

const MAX_BODY_BYTES = 3 * 1024 * 1024;
const VERSION = { major: '1', minor: '36', gitVersion: 'v1.36.0-sandbox', platform: 'sandbox' };

/**
 * What a fault rule may do to a request instead of answering it: refuse it, cut the connection before (`drop`) or after (`cut`) it was carried
 * out, never answer, or carry it out when `until` resolves.
 */
type Fault =
  | { readonly code: number; readonly reason?: string; readonly message?: string }
  | { readonly until: Promise<unknown> }
  | 'drop'
  | 'cut'
  | 'hang';

/** Decides about each request; undefined lets it through. */
export type FaultRule = (request: ApiRequest) => Fault | undefined;

/** One line of a watch, and who reads it. */
interface WatchLine {
  readonly type: string;
  readonly object: JsonRecord;
  readonly storageKey: string;
  readonly userAgent: string;
  /** Part of the whole state with which the watch begins, and no event. */
  readonly isState: boolean;
}

/** What becomes of a line of a watch: these instead of it (none: it is hidden), or it and all that follow wait. Undefined lets it through. */
export type WatchRule = (
  line: WatchLine,
) => ReadonlyArray<Pick<WatchLine, 'type' | 'object'>> | { readonly until: Promise<unknown> } | undefined;

/** An answer to a path besides the API. */
interface BesideAnswer {
  readonly code: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonRecord;
}

/** What the HTTP side of the sandbox needs. */
interface ApiServerParts {
  readonly world: ApiWorld;
  readonly lister: Lister;
  readonly log: RequestLog;
  readonly watches: Set<Watch>;
  /** The fault rules in force. */
  faults(): readonly FaultRule[];
  /** What becomes of a line of a watch; the first rule that says something. */
  watchRule: WatchRule;
  /** Whether a user may do something. */
  mayAccess: AccessRule;
  /** The user of a token. */
  whoSent: TokenRule;
  /** The log of a pod, as this query asks for it. Throws ApiError. */
  podLog(pod: KubernetesObject, query: URLSearchParams): string;
  /** Lets the controllers react. */
  settle(): void;
  /** Answers paths besides the Kubernetes API, such as metric queries. */
  extra(request: ApiRequest): BesideAnswer | undefined;
}

/** An HTTP server of the Kubernetes API; not listening yet. */
export function createApiServer(parts: ApiServerParts): Server {
  // Clients end connections that they do not use: one that the server ends may just have been given a request, on a busy machine.
  return createServer({ keepAliveTimeout: 0 }, (incoming, response) => {
    void serve(parts, incoming, response);
  });
}

async function serve(
  parts: ApiServerParts,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(incoming.url ?? '/', 'http://sandbox');
  const method = incoming.method ?? 'GET';
  const { headers } = incoming;
  const entry: LoggedRequest = {
    method,
    path: url.pathname,
    query: url.search,
    userAgent: headers['user-agent'] ?? '',
    impersonated: String(headers['impersonate-user'] ?? ''),
    code: 0,
  };
  const progress = parts.log.add(entry);
  response.on('finish', () => {
    entry.code = response.statusCode;
  });
  response.on('close', progress.end);
  try {
    const request: ApiRequest = {
      method,
      path: url.pathname,
      query: url.searchParams,
      accept: headers.accept ?? '',
      contentType: headers['content-type'] ?? '',
      userAgent: entry.userAgent,
      impersonated: entry.impersonated,
      body: await readBody(incoming),
    };
    const fault = faultOf(parts, request);
    if (fault === undefined) answer(parts, request, response);
    else await misbehave(fault, { response, progress, answer: () => answer(parts, request, response) });
    if (request.query.has('watch')) progress.end();
  } catch (error) {
    fail(response, error);
  }
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  if (incoming.method === 'GET') return '';
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new ApiError(413, 'RequestEntityTooLarge', `limit is ${MAX_BODY_BYTES}`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function faultOf(parts: ApiServerParts, request: ApiRequest): Fault | undefined {
  for (const rule of parts.faults()) {
    const fault = rule(request);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

interface Misbehaviour {
  readonly response: ServerResponse;
  readonly progress: RequestProgress;
  readonly answer: () => void;
}

async function misbehave(fault: Fault, { response, progress, answer }: Misbehaviour): Promise<void> {
  if (fault === 'drop') response.destroy();
  else if (fault === 'hang') progress.end();
  else if (fault === 'cut') {
    // The client hears nothing of what happened.
    response.end = () => response.destroy();
    answer();
  } else if ('until' in fault) {
    progress.end();
    await fault.until;
    if (!response.destroyed) answer();
  } else throw new ApiError(fault.code, fault.reason ?? 'InternalError', fault.message ?? 'injected fault');
}

function answer(parts: ApiServerParts, request: ApiRequest, response: ServerResponse): void {
  if (['/healthz', '/readyz', '/livez'].includes(request.path)) return sendText(response, 'ok');
  if (request.path === '/version') return sendJson(response, 200, VERSION);
  const extra = parts.extra(request);
  if (extra) {
    for (const [name, value] of Object.entries(extra.headers)) response.setHeader(name, value);
    return sendJson(response, extra.code, extra.body);
  }
  const discovery = discover(parts.world.kinds, request);
  if (discovery) return sendJson(response, 200, discovery.body, discovery.contentType);
  const review = reviewed(parts, request);
  if (review) return sendJson(response, 201, review);
  const target = parseResourcePath(parts.world.kinds, request.path);
  refuseForbidden(parts, request, target);
  if (request.method === 'GET' && ['true', '1'].includes(request.query.get('watch') ?? '')) {
    return streamWatch(parts, request, response);
  }
  if (target.kind.storageKey === '/pods' && target.subresource === 'log')
    return sendLog(parts, request, target, response);
  try {
    const { code, body } = runVerb({ world: parts.world, lister: parts.lister, request, target });
    sendJson(response, code, body);
  } finally {
    parts.settle();
  }
}

const writeVerbs: Readonly<Record<string, string>> = {
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** Throws 403 for a write that the impersonated user may not make. */
function refuseForbidden(
  { mayAccess }: ApiServerParts,
  { method, impersonated: user }: ApiRequest,
  { kind: { group, plural: resource }, namespace = '', name = '' }: ResourcePath,
): void {
  const verb = writeVerbs[method];
  if (user === '' || !verb || mayAccess({ user, verb, group, resource, namespace, name })) return;
  const what = `${resource}${name ? ` "${name}"` : ''} is forbidden`;
  throw new ApiError(
    403,
    'Forbidden',
    `${what}: User "${user}" cannot ${verb} resource "${resource}" in the namespace "${namespace}"`,
  );
}

function streamWatch(parts: ApiServerParts, request: ApiRequest, response: ServerResponse): void {
  const target = parseResourcePath(parts.world.kinds, request.path);
  const narrowed = target.name
    ? new URLSearchParams([...request.query, ['fieldSelector', `metadata.name=${target.name}`]])
    : request.query;
  const { storageKey } = target.kind;
  let isState = !Number(request.query.get('resourceVersion') ?? 0);
  /** Resolves when what waits has been sent; undefined: nothing waits. */
  let waiting: Promise<unknown> | undefined;
  function write(event: { type: string; object: JsonRecord }): void {
    if (!response.headersSent) response.writeHead(200, { 'content-type': 'application/json' });
    response.write(`${JSON.stringify(event)}\n`);
  }
  const watch = openWatch(parts.world, { ...request, query: narrowed }, target, {
    send(event) {
      const wanted = parts.watchRule({ ...event, storageKey, userAgent: request.userAgent, isState });
      if (wanted && 'until' in wanted) waiting = Promise.all([waiting, wanted.until]);
      const lines = wanted && !('until' in wanted) ? wanted : [event];
      if (waiting === undefined) return lines.forEach(write);
      const turn = waiting.then(() => {
        if (waiting === turn) waiting = undefined;
        if (!response.destroyed && !response.writableEnded) lines.forEach(write);
      });
      waiting = turn;
    },
    end() {
      if (!response.headersSent) response.writeHead(200, { 'content-type': 'application/json' });
      response.end();
    },
    reset: () => void response.destroy(),
  });
  isState = false;
  if (response.writableEnded) return;
  if (!response.headersSent) response.writeHead(200, { 'content-type': 'application/json' });
  response.flushHeaders();
  parts.watches.add(watch);
  response.on('close', () => {
    parts.watches.delete(watch);
    watch.stop();
  });
}

/** Followed, it stays open until the pod is gone or the reader. */
function sendLog(
  { world, podLog, watches }: ApiServerParts,
  { query }: ApiRequest,
  { kind, namespace, name = '' }: ResourcePath,
  response: ServerResponse,
): void {
  const pod = world.store.get(kind.storageKey, namespace, name);
  if (!pod) throw notFound(kind, name);
  const text = podLog(pod, query);
  if (query.get('follow') !== 'true') return sendText(response, text);
  response.writeHead(200, { 'content-type': 'text/plain' });
  response.write(text);
  const end = () => void response.end();
  const reset = () => void response.destroy();
  const open: Watch = { storageKey: kind.storageKey, bookmark: () => undefined, stop: end, reset };
  watches.add(open);
  response.on('close', () => watches.delete(open));
}

function sendText(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'text/plain' });
  response.end(text);
}

function sendJson(
  response: ServerResponse,
  code: number,
  body: JsonRecord,
  contentType = 'application/json',
): void {
  const text = JSON.stringify(body);
  // With its length it goes out in one piece.
  response.writeHead(code, { 'content-type': contentType, 'content-length': Buffer.byteLength(text) });
  response.end(text);
}

function fail(response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  const known =
    error instanceof ApiError
      ? error
      : new ApiError(500, 'InternalError', `Internal error occurred: ${String(error)}`);
  sendJson(response, known.code, statusOf(known));
}

/** One request the sandbox answered. */
export interface LoggedRequest {
  readonly method: string;
  /** Path without the query. */
  readonly path: string;
  readonly query: string;
  readonly userAgent: string;
  /** Impersonate-User; empty: no impersonation. */
  readonly impersonated: string;
  /** HTTP status, 0 without a complete answer. */
  code: number;
}

interface RequestProgress {
  /** It is answered, or held up by a fault. Calling it again does nothing. */
  end(): void;
}

/** The last requests, oldest first, for assertions such as "no write at all". */
export interface RequestLog {
  add(entry: LoggedRequest): RequestProgress;
  /** Requests that came and were neither answered nor held up by a fault; watches end when they are open. */
  underWay(): number;
  all(): readonly LoggedRequest[];
  /** Requests that change something and are no dry run. */
  writes(): readonly LoggedRequest[];
  clear(): void;
}

/** A log of at most `limit` requests. */
export function createRequestLog(limit: number): RequestLog {
  const entries: LoggedRequest[] = [];
  const underWay = new Set<LoggedRequest>();
  return {
    add(entry) {
      entries.push(entry);
      if (entries.length > limit) entries.shift();
      underWay.add(entry);
      return { end: () => void underWay.delete(entry) };
    },
    underWay: () => underWay.size,
    all: () => [...entries],
    writes: () => entries.filter((entry) => entry.method !== 'GET' && !entry.query.includes('dryRun=All')),
    clear: () => void entries.splice(0),
  };
}
