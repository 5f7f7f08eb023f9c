import { cp } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { commitFiles, createRepository } from '../../sandbox/git-server/git-repository.ts';
import { startGitServer } from '../../sandbox/git-server/git-server.ts';

/** What a Git server does to a request instead of answering it; `cut`: after half of the answer. */
export type GitFault = { readonly code: number } | { readonly until: Promise<unknown> } | 'drop' | 'cut';

/** A history in which head can be set to any of its commits, told to many worlds one after another. */
export interface History {
  readonly name: string;
  /** Full SHAs, oldest first. */
  readonly commits: readonly string[];
}

/** One repository as a world sees it: a history, and where head is now. */
export interface GitView {
  readonly url: string;
  /** The index of the commit at head; undefined: the repository is empty. */
  setHead(commit: number): void;
  fault: (() => GitFault | undefined) | undefined;
  /** Requests that came and are neither answered nor held up by a fault. */
  underWay(): number;
  close(): void;
}

/** The sandbox's Git server, whose answers are kept: worlds ask the same things by the thousand. */
export interface GitFront {
  history(name: string, commits: ReadonlyArray<Readonly<Record<string, string | null>>>): Promise<History>;
  view(history: History): GitView;
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: Buffer;
}

interface View {
  readonly history: string;
  head: number;
  fault: GitView['fault'];
  underWay: number;
}

/** Starts it over an empty folder. */
export async function startGitFront(root: string): Promise<GitFront> {
  const backend = await startGitServer({ root });
  const kept = new Map<string, Promise<Answer>>();
  const views = new Map<string, View>();
  let count = 0;

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, id = '', rest = ''] = /^\/([^/]+)\/shop\.git(.*)$/.exec(incoming.url ?? '/') ?? [];
    const view = views.get(id);
    if (!view) return void response.destroy();
    view.underWay += 1;
    try {
      const body = await buffer(incoming);
      const fault = view.fault?.();
      if (fault && typeof fault === 'object' && 'until' in fault) {
        view.underWay -= 1;
        await fault.until.finally(() => (view.underWay += 1));
      }
      const answer = () => ask(`/${view.history}-${view.head}.git${rest}`, incoming, body);
      await send(response, fault, answer);
    } catch {
      response.destroy();
    } finally {
      view.underWay -= 1;
    }
  }

  function ask(path: string, { method = 'GET', headers }: IncomingMessage, body: Buffer): Promise<Answer> {
    const key = `${method} ${path} ${headers['git-protocol'] ?? ''}\n${body.toString('latin1')}`;
    const known = kept.get(key);
    if (known) return known;
    const sent = forward(`${backend.url}${path}`, method, headers, body);
    kept.set(key, sent);
    sent.catch(() => kept.delete(key));
    return sent;
  }

  const server = createServer((incoming, response) => void serve(incoming, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    async history(name, changes) {
      const commits: string[] = [];
      let previous: string | undefined;
      for (const [index, files] of changes.entries()) {
        const repository = await createRepository(root, `${name}-${index}`);
        if (previous !== undefined) await cp(previous, repository, { recursive: true });
        commits.push(await commitFiles(repository, { subject: `commit ${index + 1}`, files }));
        previous = repository;
      }
      return { name, commits };
    },
    view(history) {
      count += 1;
      const id = String(count);
      const view: View = { history: history.name, head: 0, fault: undefined, underWay: 0 };
      views.set(id, view);
      return {
        // The same for all: what is written of it must not differ.
        url: `${origin}/${id}/shop.git`,
        setHead(commit) {
          view.head = commit;
        },
        set fault(fault) {
          view.fault = fault;
        },
        get fault() {
          return view.fault;
        },
        underWay: () => view.underWay,
        close: () => void views.delete(id),
      };
    },
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await backend.close();
    },
  };
}

async function send(
  response: ServerResponse,
  fault: GitFault | undefined,
  ask: () => Promise<Answer>,
): Promise<void> {
  if (fault === 'drop') return void response.destroy();
  if (fault && typeof fault === 'object' && 'code' in fault) return void response.writeHead(fault.code).end();
  const { status, type, body } = await ask();
  response.writeHead(status, { 'content-type': type });
  if (fault !== 'cut') return void response.end(body);
  response.write(body.subarray(0, Math.floor(body.length / 2)), () => response.destroy());
}

async function forward(
  url: string,
  method: string,
  headers: IncomingMessage['headers'],
  body: Buffer,
): Promise<Answer> {
  const passed = ['content-type', 'git-protocol', 'accept', 'content-encoding'];
  const sent = Object.fromEntries(
    passed.flatMap((name) => (headers[name] ? [[name, String(headers[name])]] : [])),
  );
  const answer = await fetch(url, {
    method,
    headers: sent,
    ...(method === 'GET' ? {} : { body: new Uint8Array(body) }),
  });
  return {
    status: answer.status,
    type: answer.headers.get('content-type') ?? '',
    body: Buffer.from(await answer.arrayBuffer()),
  };
}
