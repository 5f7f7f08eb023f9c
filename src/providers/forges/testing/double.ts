import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { startTestServer } from '../../../http/testing/servers.ts';

/** A pull request inside a double. */
interface DoublePull {
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
interface DoubleModel {
  /** Address of the API, for the pages that pull requests name. */
  readonly web: string;
  readonly branches: Map<string, string>;
  readonly pulls: DoublePull[];
  readonly comments: Array<{ readonly number: number; readonly body: string }>;
  readonly statuses: DoubleStatus[];
  /** `rowsPerPage`: rows of a page at most, whatever was asked for. */
  readonly options: { refusesDrafts: boolean; rowsPerPage?: number };
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
interface DoubleRoute {
  readonly method: string;
  readonly path: RegExp;
  readonly handle: (request: DoubleRequest, model: DoubleModel) => DoubleAnswer;
}

/** A request about one pull request, which exists. */
interface PullRoute {
  readonly method: string;
  readonly path: RegExp;
  readonly handle: (
    pull: DoublePull,
    json: Readonly<Record<string, unknown>>,
    model: DoubleModel,
  ) => DoubleAnswer | undefined;
}

/** One forge's API on the wire: paths, shapes and refusals. Its effect on the model is the same for all. */
export interface DoubleWire {
  /** The Authorization header that is accepted. */
  readonly authorization: string;
  readonly unauthorized: unknown;
  /** The answer for a pull request, or a branch, that does not exist. */
  readonly missing: DoubleAnswer;
  /** Each captures the number, or the commit, that it is about. */
  readonly paths: Readonly<Record<'repository' | 'pulls' | 'pull' | 'comments' | 'statuses', RegExp>>;
  /** What the repository's own page says. */
  readonly repository: unknown;
  /** Name of the parameter with the size of a page. */
  readonly pageSize: string;
  /** The pull requests that a list is about, oldest first, or why it is refused. */
  list(query: URLSearchParams, model: DoubleModel): readonly DoublePull[] | DoubleAnswer;
  /** A page as it is sent. Default: the rows alone. */
  page?(rows: readonly unknown[]): unknown;
  shown(pull: DoublePull, model: DoubleModel): unknown;
  opened(json: Readonly<Record<string, unknown>>): Pick<DoublePull, 'branch' | 'base' | 'title' | 'body'> & {
    readonly draft?: boolean;
  };
  readonly noBranch: DoubleAnswer;
  /** There is an open pull request of that branch already. */
  exists(pull: DoublePull): DoubleAnswer;
  /** Further refusals of a new pull request. */
  refusesPull?(pull: { readonly draft?: boolean }, model: DoubleModel): DoubleAnswer | undefined;
  comment(json: Readonly<Record<string, unknown>>): string;
  /** The status in a request, or why it is refused. */
  status(
    json: Readonly<Record<string, string>>,
    statuses: readonly DoubleStatus[],
  ): Omit<DoubleStatus, 'commit'> | DoubleAnswer;
  /** How a pull request is closed; without another answer the pull request is shown as it is then. */
  readonly changes: readonly PullRoute[];
  /** What the forge calls a failure. */
  readonly failedState: string;
  isDraft(pull: DoublePull): boolean;
}

/** A running double. */
export interface ForgeDouble {
  readonly url: string;
  readonly model: DoubleModel;
  /** The next request gets this answer. */
  failNext(answer: DoubleAnswer): void;
  /** Opens a pull request of another user. */
  addPull(pull: Partial<DoublePull> & { readonly branch: string }): DoublePull;
  close(): Promise<void>;
}

/** Starts a double that checks method, path, sign-in and content type of whatever it is asked. */
export async function startForgeDouble(wire: DoubleWire): Promise<ForgeDouble> {
  const failures: DoubleAnswer[] = [];
  let model: DoubleModel;
  const server = await startTestServer((request, response) => {
    answer(wire, model, failures, request)
      .catch((error: unknown): DoubleAnswer => ({ status: 500, json: { message: String(error) } }))
      .then(({ status, json, headers }) => {
        response.writeHead(status, { 'content-type': 'application/json', ...headers });
        response.end(json === undefined ? '' : typeof json === 'string' ? json : JSON.stringify(json));
      });
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
function addPull(model: DoubleModel, pull: Partial<DoublePull> & { readonly branch: string }): DoublePull {
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

/** The requests that every forge answers alike. */
function routesOf(wire: DoubleWire): DoubleRoute[] {
  const { paths } = wire;
  const ofPull = ({ method, path, handle }: PullRoute): DoubleRoute => ({
    method,
    path,
    handle({ parts, json }, model) {
      const pull = model.pulls.find(({ number }) => String(number) === parts[0]);
      if (!pull) return wire.missing;
      return handle(pull, json, model) ?? { status: 200, json: wire.shown(pull, model) };
    },
  });
  return [
    {
      method: 'GET',
      path: paths.pulls,
      handle({ query }, model) {
        const listed = wire.list(query, model);
        if ('status' in listed) return listed;
        const most = model.options.rowsPerPage;
        const rows = page(listed, query, wire.pageSize, most).map((pull) => wire.shown(pull, model));
        return { status: 200, json: wire.page?.(rows) ?? rows };
      },
    },
    {
      method: 'POST',
      path: paths.pulls,
      handle({ json }, model) {
        const fields = wire.opened(json);
        if (!model.branches.has(fields.branch)) return wire.noBranch;
        const isOpen = ({ branch, isFork, state }: DoublePull) =>
          branch === fields.branch && !isFork && state === 'open';
        const there = model.pulls.find(isOpen);
        if (there) return wire.exists(there);
        const refusal = wire.refusesPull?.(fields, model);
        return refusal ?? { status: 201, json: wire.shown(addPull(model, fields), model) };
      },
    },
    ofPull({ method: 'GET', path: paths.pull, handle: () => undefined }),
    ...wire.changes.map(ofPull),
    {
      method: 'POST',
      path: paths.comments,
      handle({ parts, json }, model) {
        model.comments.push({ number: Number(parts[0]), body: wire.comment(json) });
        return { status: 201, json: {} };
      },
    },
    {
      method: 'POST',
      path: paths.statuses,
      handle({ parts: [commit = ''], json }, model) {
        const ofCommit = model.statuses.filter((one) => one.commit === commit);
        const status = wire.status(json as Record<string, string>, ofCommit);
        if ('status' in status) return status;
        model.statuses.push({ commit, ...status });
        return { status: 201, json: {} };
      },
    },
    { method: 'GET', path: paths.repository, handle: () => ({ status: 200, json: wire.repository }) },
  ];
}

/** A page of rows, newest first. */
function page<T>(rows: readonly T[], query: URLSearchParams, sizeName: string, most = 100): T[] {
  const size = Math.min(Number(query.get(sizeName)), most);
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
  const body = await text(request);
  const failure = failures.shift();
  if (failure) return failure;
  if (request.headers.authorization !== wire.authorization) return { status: 401, json: wire.unauthorized };
  const url = new URL(request.url ?? '/', 'http://double');
  for (const route of routesOf(wire)) {
    const match = route.method === request.method ? route.path.exec(url.pathname) : undefined;
    if (!match) continue;
    if (body && request.headers['content-type'] !== 'application/json') return { status: 415 };
    const json = body ? (JSON.parse(body) as Record<string, unknown>) : {};
    return route.handle({ parts: match.slice(1), query: url.searchParams, json }, model);
  }
  return { status: 404, json: { message: 'Not Found' } };
}
