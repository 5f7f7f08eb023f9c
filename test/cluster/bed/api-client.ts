import type { IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import type { KubernetesObject } from '../../../src/api/kubernetes.ts';

/** How to reach the bed's API server: its self-signed certificate is the authority itself. */
export interface ApiAccess {
  readonly server: string;
  readonly ca: string;
  readonly token: string;
  /** Shown in the audit log, so that a test can tell who asked. */
  readonly userAgent: string;
}

/** An answer outside 2xx; `status` 0 means that none came. */
export class ApiError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** One event of a watch. */
export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: KubernetesObject;
}

/** The little that the bed itself needs of the Kubernetes API: requests as JSON, and a watch that lasts. */
export interface ApiClient {
  request<T = KubernetesObject>(method: string, path: string, body?: unknown, headers?: Headers): Promise<T>;
  /** Lists `path`, then watches it until `signal` aborts; lists anew when the watch breaks. */
  follow(path: string, onEvent: (event: WatchEvent) => void, signal: AbortSignal): Promise<void>;
}

type Headers = Readonly<Record<string, string>>;
interface ObjectList {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly KubernetesObject[];
}

const RETRY_DELAY_MS = 200;

/** A client over kept-alive connections; `follow` uses one more connection per watch. */
export function createApiClient(access: ApiAccess): ApiClient {
  const agent = new Agent({ keepAlive: true, maxSockets: 32, ca: access.ca });
  const open = (method: string, path: string, body: unknown, extra: Headers, signal?: AbortSignal) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const payload = body === undefined ? undefined : JSON.stringify(body);
      const headers: Record<string, string> = {
        accept: 'application/json',
        authorization: `Bearer ${access.token}`,
        'user-agent': access.userAgent,
        ...(payload === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': byteLength(payload) }),
        ...extra,
      };
      const options = { method, headers, agent, ...(signal ? { signal } : {}) };
      const outgoing = httpsRequest(`${access.server}${path}`, options, resolve);
      outgoing.on('error', (error) => reject(new ApiError(0, `${method} ${path}: ${error.message}`)));
      outgoing.end(payload);
    });

  const request = async <T>(
    method: string,
    path: string,
    body?: unknown,
    headers: Headers = {},
  ): Promise<T> => {
    const response = await open(method, path, body, headers);
    const text = await readText(response);
    const status = response.statusCode ?? 0;
    if (status < 200 || status > 299) throw new ApiError(status, `${method} ${path}: ${status} ${text}`);
    return (text === '' ? undefined : parse(text)) as T;
  };

  const followOnce = async (path: string, onEvent: (event: WatchEvent) => void, signal: AbortSignal) => {
    const list = await request<ObjectList>('GET', path);
    for (const object of list.items) onEvent({ type: 'ADDED', object });
    const query = `watch=true&allowWatchBookmarks=true&resourceVersion=${list.metadata.resourceVersion}`;
    const response = await open(
      'GET',
      `${path}${path.includes('?') ? '&' : '?'}${query}`,
      undefined,
      {},
      signal,
    );
    for await (const line of linesOf(response)) {
      const event = JSON.parse(line) as WatchEvent;
      if (event.type === 'ERROR') return;
      if (event.type !== 'BOOKMARK') onEvent(event);
    }
  };

  const follow = async (path: string, onEvent: (event: WatchEvent) => void, signal: AbortSignal) => {
    while (!signal.aborted) {
      await followOnce(path, onEvent, signal).catch(() => undefined);
      if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, RETRY_DELAY_MS));
    }
  };
  return { request, follow };
}

/** Server-side apply of one object at its path. */
export function applyObject(client: ApiClient, path: string, object: unknown): Promise<KubernetesObject> {
  return client.request('PATCH', `${path}?fieldManager=holdfast-bed&force=true`, object, {
    'content-type': 'application/apply-patch+yaml',
  });
}

/** Node sends the body of a DELETE without framing unless its length is given. */
function byteLength(text: string): string {
  return String(Buffer.byteLength(text));
}

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

async function* linesOf(stream: IncomingMessage): AsyncGenerator<string> {
  let rest = '';
  stream.setEncoding('utf8');
  for await (const chunk of stream) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}
