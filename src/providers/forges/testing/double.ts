import type { IncomingMessage, ServerResponse } from 'node:http';
import { startTestServer } from '../../../http/testing/servers.ts';

/** A pull request inside a double. */
export interface DoublePull {
  readonly number: number;
  readonly branch: string;
  readonly base: string;
  readonly head: string;
  readonly isFork: boolean;
  title: string;
  body: string;
  draft: boolean;
  state: 'open' | 'closed' | 'merged';
}

/** A status as it was sent. */
interface DoubleStatus {
  readonly commit: string;
  readonly state: string;
  readonly context: string;
  readonly description: string;
  readonly targetUrl: string | undefined;
}

/** What a double of a forge holds. */
export interface DoubleModel {
  /** Address of the API, for the pages that pull requests name. */
  readonly web: string;
  readonly branches: Map<string, string>;
  readonly pulls: DoublePull[];
  readonly comments: Array<{ readonly number: number; readonly body: string }>;
  readonly statuses: DoubleStatus[];
  readonly options: { refusesDrafts: boolean };
}

/** What is in a request. */
interface DoubleRequest {
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
  readonly json: Readonly<Record<string, unknown>>;
}

/** An answer to it. */
interface DoubleAnswer {
  readonly status: number;
  readonly json?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One kind of request: `POST /repos/acme/shop/pulls/(\d+)`. */
export interface DoubleRoute {
  readonly method: string;
  readonly path: RegExp;
  readonly handle: (request: DoubleRequest, model: DoubleModel) => DoubleAnswer;
}

/** One forge's API as a server speaks it. */
export interface DoubleWire {
  /** The Authorization header that is accepted. */
  readonly authorization: string;
  readonly unauthorized: unknown;
  readonly routes: readonly DoubleRoute[];
}

/** A running double. */
export interface ForgeDouble {
  readonly url: string;
  readonly model: DoubleModel;
  /** The next request gets this answer. */
  failNext(answer: DoubleAnswer): void;
  /** Opens a pull request as somebody else would. */
  addPull(pull: Partial<DoublePull> & { readonly branch: string }): DoublePull;
  close(): Promise<void>;
}

/** Starts a double that checks method, path, sign-in and content type of whatever it is asked. */
export async function startForgeDouble(wire: DoubleWire): Promise<ForgeDouble> {
  const failures: DoubleAnswer[] = [];
  let model: DoubleModel;
  const server = await startTestServer((request, response) => {
    answer(wire, model, failures, request)
      .then((found) => send(response, found))
      .catch((error: unknown) => send(response, { status: 500, json: { message: String(error) } }));
  });
  model = {
    web: server.url,
    branches: new Map([['main', 'a'.repeat(40)]]),
    pulls: [],
    comments: [],
    statuses: [],
    options: { refusesDrafts: false },
  };
  return {
    url: server.url,
    model,
    failNext: (failure) => failures.push(failure),
    addPull: (pull) => addPull(model, pull),
    close: server.close,
  };
}

/** Adds a pull request to the model; its number is the next one. */
export function addPull(
  model: DoubleModel,
  pull: Partial<DoublePull> & { readonly branch: string },
): DoublePull {
  const added: DoublePull = {
    number: model.pulls.length + 1,
    base: 'main',
    head: model.branches.get(pull.branch) ?? 'f'.repeat(40),
    isFork: false,
    title: 'a title',
    body: '',
    draft: false,
    state: 'open',
    ...pull,
  };
  model.pulls.push(added);
  return added;
}

/** The pull request of a route's first part. */
export function pullOf({ parts }: DoubleRequest, model: DoubleModel): DoublePull | undefined {
  return model.pulls.find(({ number }) => String(number) === parts[0]);
}

/** A page of rows, newest first. */
export function page<T>(rows: readonly T[], query: URLSearchParams, sizeName: string): T[] {
  const size = Number(query.get(sizeName));
  const start = (Number(query.get('page')) - 1) * size;
  if (!(size > 0 && size <= 100)) throw new Error(`no ${sizeName}`);
  return [...rows].reverse().slice(start, start + size);
}

async function answer(
  wire: DoubleWire,
  model: DoubleModel,
  failures: DoubleAnswer[],
  request: IncomingMessage,
): Promise<DoubleAnswer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString('utf8');
  const failure = failures.shift();
  if (failure) return failure;
  if (request.headers.authorization !== wire.authorization) return { status: 401, json: wire.unauthorized };
  const url = new URL(request.url ?? '/', 'http://double');
  for (const route of wire.routes) {
    const match = route.method === request.method ? route.path.exec(url.pathname) : undefined;
    if (!match) continue;
    if (text && request.headers['content-type'] !== 'application/json') return { status: 415 };
    const json = text ? (JSON.parse(text) as Record<string, unknown>) : {};
    return route.handle({ parts: match.slice(1), query: url.searchParams, json }, model);
  }
  return { status: 404, json: { message: 'Not Found' } };
}

function send(response: ServerResponse, { status, json, headers }: DoubleAnswer): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(json === undefined ? '' : typeof json === 'string' ? json : JSON.stringify(json));
}
