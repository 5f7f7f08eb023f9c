import { randomBytes } from 'node:crypto';
import { Agent } from 'undici';

/** Any JSON; tests assert on what they expect in it. */
// biome-ignore lint/suspicious/noExplicitAny: answers of an API are asserted field by field.
export type Json = any;

/** What a request may carry besides method and path. */
export interface RequestOptions {
  readonly body?: unknown;
  readonly contentType?: string;
  readonly accept?: string;
}

/** An answer with its parsed body. */
export interface Answer {
  readonly code: number;
  readonly body: Json;
}

/** One event of a watch. */
export interface WatchEvent {
  readonly type: string;
  readonly object: Json;
}

/** An open watch; events are read one by one. */
export interface WatchStream {
  /** The next event; rejects when none comes for a minute, resolves to undefined when the server has ended the stream. */
  next(): Promise<WatchEvent | undefined>;
  close(): void;
}

/** An API server under test. */
export interface Target {
  readonly baseUrl: string;
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>;
  watch(path: string, accept?: string): Promise<WatchStream>;
  close(): Promise<void>;
}

/** How to reach a server. */
export interface TargetOptions {
  readonly baseUrl: string;
  readonly token?: string;
  /** PEM. */
  readonly ca?: string;
}

const WATCH_WAIT_MS = 60_000;

/** A target over plain HTTP requests; nothing of the product is in between. */
export function httpTarget({ baseUrl, token, ca }: TargetOptions): Target {
  const dispatcher = new Agent(ca ? { connect: { ca } } : {});
  const headersFor = (options: RequestOptions): Record<string, string> => ({
    accept: options.accept ?? 'application/json',
    'user-agent': 'conformance/1.0',
    ...(options.body === undefined ? {} : { 'content-type': options.contentType ?? 'application/json' }),
    ...(token ? { authorization: `Bearer ${token}` } : {}),
  });
  return {
    baseUrl,
    async request(method, path, options = {}) {
      const answer = await dispatcher.request({
        origin: baseUrl,
        path,
        method: method as 'GET',
        headers: headersFor(options),
        ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
      });
      const text = await answer.body.text();
      return { code: answer.statusCode, body: text.startsWith('{') ? JSON.parse(text) : text };
    },
    async watch(path, accept) {
      const abort = new AbortController();
      const headers = headersFor(accept ? { accept } : {});
      const { signal } = abort;
      const answer = await dispatcher.request({ origin: baseUrl, path, method: 'GET', headers, signal });
      if (answer.statusCode !== 200)
        throw new Error(`watch answered ${answer.statusCode}: ${await answer.body.text()}`);
      return streamOf(answer.body, () => abort.abort());
    },
    close: () => dispatcher.destroy(),
  };
}

async function* lines(body: AsyncIterable<Buffer>): AsyncGenerator<WatchEvent> {
  let rest = '';
  for await (const chunk of body) {
    const parts = (rest + chunk.toString('utf8')).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) if (part) yield JSON.parse(part);
  }
}

function streamOf(body: AsyncIterable<Buffer>, close: () => void): WatchStream {
  const events = lines(body);
  // An event that nobody waited long enough for is given to whoever asks next.
  let asked: Promise<IteratorResult<WatchEvent>> | undefined;
  return {
    close,
    async next() {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error('no watch event within a minute')), WATCH_WAIT_MS);
      });
      try {
        asked ??= events.next();
        const { value, done } = await Promise.race([asked, late]);
        asked = undefined;
        return done ? undefined : value;
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

/** Creates a namespace with a name nobody else uses; returns the name. */
export async function freshNamespace(target: Target): Promise<string> {
  const name = `conformance-${randomBytes(4).toString('hex')}`;
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
  const { code } = await target.request('POST', '/api/v1/namespaces', { body });
  if (code !== 201) throw new Error(`creating namespace ${name} answered ${code}`);
  return name;
}

/** Reads until the answer satisfies the condition; rejects with the last answer after `timeoutMs`. */
export async function eventually(
  read: () => Promise<Answer>,
  condition: (answer: Answer) => boolean,
  timeoutMs = 60_000,
): Promise<Answer> {
  const end = Date.now() + timeoutMs;
  for (;;) {
    const answer = await read();
    if (condition(answer)) return answer;
    if (Date.now() > end)
      throw new Error(
        `not reached in ${timeoutMs} ms; last answer: ${JSON.stringify(answer).slice(0, 2000)}`,
      );
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
