import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { listen } from '../../../sandbox/listening.ts';
import { type Load, type LoadOptions, type LoadResult, startLoad } from './load.ts';

/** Sends the loads of all tests. */
interface LoadServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** What travels: of a result everything, its set as a list. */
type Told = Omit<LoadResult, 'pods'> & { readonly pods: readonly string[] };

/**
 * One process sends the requests of every test: those that are sent together wake it, Envoy and the pods together, and to be woken is most of
 * what a request costs on a virtual machine. `POST /` starts a load and answers its path; `GET` of that reads what was seen, `DELETE` ends it.
 */
export async function startLoadServer(): Promise<LoadServer> {
  const loads = new Map<string, Load>();
  let started = 0;
  const answer = async ({ method, url = '' }: IncomingMessage, body: string): Promise<unknown> => {
    if (method === 'POST') {
      started += 1;
      const path = `/${started}`;
      loads.set(path, startLoad(JSON.parse(body) as LoadOptions));
      return path;
    }
    const load = loads.get(url);
    if (method === 'DELETE') loads.delete(url);
    const seen = await (method === 'DELETE' ? load?.stop() : load?.current());
    return seen && { ...seen, pods: [...seen.pods] };
  };
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    const told = await answer(request, await text(request));
    response.writeHead(told === undefined ? 404 : 200).end(JSON.stringify(told));
  };
  const server = createServer((request, response) => {
    respond(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  const { url, close } = await listen(server, {});
  return {
    url,
    stop: async () => {
      await close();
      await Promise.all([...loads.values()].map((load) => load.stop()));
    },
  };
}

/** A load that the server at `url` sends. */
export function askForLoad(url: string, options: LoadOptions): Load {
  const path = ask<string>(url, 'POST', JSON.stringify(options));
  // Whoever looks at it is told.
  path.catch(() => undefined);
  const look = async (method: 'GET' | 'DELETE') => {
    const { pods, ...seen } = await ask<Told>(`${url}${await path}`, method);
    return { ...seen, pods: new Set(pods) };
  };
  let stopped: Promise<LoadResult> | undefined;
  return {
    current: () => stopped ?? look('GET'),
    stop: () => {
      stopped ??= look('DELETE');
      return stopped;
    },
  };
}

async function ask<T>(url: string, method: string, body?: string): Promise<T> {
  const response = await fetch(url, body === undefined ? { method } : { method, body });
  if (!response.ok)
    throw new Error(`${method} ${url} was answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}
