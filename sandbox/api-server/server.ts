import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { discover } from './discovery.ts';
import { ApiError, statusOf } from './errors.ts';
import type { JsonRecord } from './json.ts';
import type { Lister } from './list.ts';
import type { ApiWorld } from './object-writer.ts';
import { type ApiRequest, parseResourcePath, type ResourcePath } from './request.ts';
import { runVerb } from './resource-verbs.ts';
import { openWatch, type Watch } from './watch.ts';

const MAX_BODY_BYTES = 3 * 1024 * 1024;
const VERSION = { major: '1', minor: '36', gitVersion: 'v1.36.0-sandbox', platform: 'sandbox' };

/** What a fault rule may do to a request instead of answering it. */
type Fault = { readonly code: number; readonly reason?: string; readonly message?: string } | 'drop' | 'hang';

/** Decides about each request; undefined lets it through. */
export type FaultRule = (request: ApiRequest) => Fault | undefined;

/** What somebody wants to do, as an access review says it. */
interface Access {
  readonly user: string;
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace: string;
  /** Empty: any object of the resource. */
  readonly name: string;
}

/** Whether an impersonated user may do something; asked for writes and access reviews. */
export type AccessRule = (access: Access) => boolean;

/** What the HTTP side of the sandbox needs. */
interface ApiServerParts {
  readonly world: ApiWorld;
  readonly lister: Lister;
  readonly log: RequestLog;
  readonly watches: Set<Watch>;
  /** The fault rules in force. */
  faults(): readonly FaultRule[];
  /** Whether a user may do something. */
  mayAccess: AccessRule;
  /** Lets the controllers react. */
  settle(): void;
  /** Answers paths beside the Kubernetes API, such as metric queries. */
  extra(request: ApiRequest): { readonly code: number; readonly body: JsonRecord } | undefined;
}

/** An HTTP server that speaks the Kubernetes API; not listening yet. */
export function createApiServer(parts: ApiServerParts): Server {
  return createServer((incoming, response) => {
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
  parts.log.add(entry);
  response.on('finish', () => {
    entry.code = response.statusCode;
  });
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
    if (!injectFault(parts, request, response)) answer(parts, request, response);
  } catch (error) {
    fail(response, error);
  }
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new ApiError(413, 'RequestEntityTooLarge', `limit is ${MAX_BODY_BYTES}`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** True when the request was dealt with here. */
function injectFault(parts: ApiServerParts, request: ApiRequest, response: ServerResponse): boolean {
  const fault = parts
    .faults()
    .map((rule) => rule(request))
    .find((each) => each !== undefined);
  if (fault === undefined) return false;
  if (fault === 'drop') response.destroy();
  else if (fault !== 'hang')
    throw new ApiError(fault.code, fault.reason ?? 'InternalError', fault.message ?? 'injected fault');
  return true;
}

function answer(parts: ApiServerParts, request: ApiRequest, response: ServerResponse): void {
  if (['/healthz', '/readyz', '/livez'].includes(request.path)) return sendText(response, 'ok');
  if (request.path === '/version') return sendJson(response, 200, VERSION);
  const beside = parts.extra(request);
  if (beside) return sendJson(response, beside.code, beside.body);
  const discovery = discover(parts.world.kinds, request);
  if (discovery) return sendJson(response, 200, discovery.body, discovery.contentType);
  if (request.path === accessReviews) return sendJson(response, 201, reviewAccess(parts, request));
  const target = parseResourcePath(parts.world.kinds, request.path);
  refuseForbidden(parts, request, target);
  if (request.method === 'GET' && ['true', '1'].includes(request.query.get('watch') ?? '')) {
    return streamWatch(parts, request, response);
  }
  try {
    const { code, body } = runVerb({ world: parts.world, lister: parts.lister, request, target });
    sendJson(response, code, body);
  } finally {
    parts.settle();
  }
}

const accessReviews = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';

function reviewAccess({ mayAccess }: ApiServerParts, { body, impersonated }: ApiRequest): JsonRecord {
  const review = JSON.parse(body) as { spec: { resourceAttributes?: Partial<Access> } };
  const {
    verb = '',
    group = '',
    resource = '',
    namespace = '',
    name = '',
  } = review.spec.resourceAttributes ?? {};
  const allowed = mayAccess({ user: impersonated, verb, group, resource, namespace, name });
  return { ...review, status: { allowed } };
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
  const watch = openWatch(parts.world, { ...request, query: narrowed }, target, {
    send(event) {
      if (!response.headersSent) response.writeHead(200, { 'content-type': 'application/json' });
      response.write(`${JSON.stringify(event)}\n`);
    },
    end() {
      if (!response.headersSent) response.writeHead(200, { 'content-type': 'application/json' });
      response.end();
    },
    reset: () => void response.destroy(),
  });
  if (response.writableEnded) return;
  if (!response.headersSent) response.writeHead(200, { 'content-type': 'application/json' });
  response.flushHeaders();
  parts.watches.add(watch);
  response.on('close', () => {
    parts.watches.delete(watch);
    watch.stop();
  });
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
  response.writeHead(code, { 'content-type': contentType });
  response.end(JSON.stringify(body));
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
  /** Impersonate-User; empty: nobody. */
  readonly impersonated: string;
  /** HTTP status, 0 while the answer is still under way or when the connection was cut. */
  code: number;
}

/** The last requests, oldest first, for assertions such as "no write at all". */
export interface RequestLog {
  add(entry: LoggedRequest): void;
  all(): readonly LoggedRequest[];
  /** Requests that change something and are no dry run. */
  writes(): readonly LoggedRequest[];
  clear(): void;
}

/** A log of at most `limit` requests. */
export function createRequestLog(limit: number): RequestLog {
  const entries: LoggedRequest[] = [];
  return {
    add(entry) {
      entries.push(entry);
      if (entries.length > limit) entries.shift();
    },
    all: () => [...entries],
    writes: () => entries.filter((entry) => entry.method !== 'GET' && !entry.query.includes('dryRun=All')),
    clear: () => void entries.splice(0),
  };
}
