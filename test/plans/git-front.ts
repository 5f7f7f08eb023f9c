import { cp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { git } from '../../sandbox/git-server/git.test-support.ts';
import { commitFiles, createRepository } from '../../sandbox/git-server/git-repository.ts';
import { startGitServer } from '../../sandbox/git-server/git-server.ts';
import { createObjectReader, readCommit } from '../../sandbox/git-server/objects.ts';
import { moveRef, readRefs } from '../../sandbox/git-server/refs.ts';
import { createTestKeys } from '../../src/git/testing/signing.ts';

const main = 'refs/heads/main';

/** What a Git server does to a request instead of answering it; `cut`: after half of the answer. */
export type GitFault = { readonly code: number } | { readonly until: Promise<unknown> } | 'drop' | 'cut';

/** A history in which head can be set to any of its commits, told to many worlds one after another. */
export interface History {
  readonly name: string;
  /** Full SHAs, oldest first. */
  readonly commits: readonly string[];
  readonly changes: readonly Files[];
  /** Who signed some of them, as in `allowed_signers`. */
  readonly signer: string;
}

type Files = Readonly<Record<string, string | null>>;

/** What is asked of this host in a history is asked of the world that plays it. */
export const hooksUrl = 'http://hooks.invalid';

/** A server of webhooks as a world sees it: each path says yes (200) until it is told otherwise. */
interface Hooks {
  url(path: string): string;
  /** Paths with the phase or the reason of what was sent there, each once, of requests that were answered with yes. */
  told(): ReadonlySet<string>;
  answer(path: string, code: number): void;
  fault: (() => GitFault | undefined) | undefined;
}

/** One repository as a world sees it: a history, and where head is now. */
export interface GitView {
  readonly url: string;
  /** The index of the commit at head; in a repository that Holdfast writes its changes are committed on top. */
  setHead(commit: number): Promise<void>;
  /** Somebody commits to a repository that Holdfast writes. */
  commit(files: Files): Promise<void>;
  /** Commits by the full name of their ref, of a repository that Holdfast writes. */
  refs(): ReadonlyMap<string, string>;
  fault: ((isPush: boolean) => GitFault | undefined) | undefined;
  readonly hooks: Hooks;
  /** Requests that came and are neither answered nor held up by a fault. */
  underWay(): number;
  close(): Promise<void>;
}

/** The sandbox's Git server, whose answers are kept: worlds ask the same things by the thousand. */
export interface GitFront {
  /** `signed`: the indexes of commits that are signed. */
  history(name: string, commits: readonly Files[], signed?: readonly number[]): Promise<History>;
  /** `isWritten`: it has a repository of its own, which may be pushed to. */
  view(history: History, isWritten?: boolean): Promise<GitView>;
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: Buffer;
}

interface View {
  readonly history: string;
  /** Path of the repository of its own. */
  readonly own: string | undefined;
  readonly answers: Map<string, number>;
  readonly told: Set<string>;
  head: number;
  fault: GitView['fault'];
  hookFault: Hooks['fault'];
  underWay: number;
}

/** Starts it over an empty folder. */
export async function startGitFront(root: string): Promise<GitFront> {
  const backend = await startGitServer({ root });
  const kept = new Map<string, Promise<Answer>>();
  const views = new Map<string, View>();
  let count = 0;

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = incoming.url ?? '/';
    const [, id = '', rest = ''] = /^\/([^/]+)\/shop\.git(.*)$/.exec(url) ?? [];
    const [, hook] = /^\/hooks\/(.*)$/.exec(url) ?? [];
    // One world is played at a time.
    const view = hook === undefined ? views.get(id) : [...views.values()].at(-1);
    if (!view) return void response.writeHead(404).end();
    view.underWay += 1;
    try {
      const body = await buffer(incoming);
      const fault =
        hook === undefined ? view.fault?.(rest.endsWith('/git-receive-pack')) : view.hookFault?.();
      if (fault && typeof fault === 'object' && 'until' in fault) {
        view.underWay -= 1;
        await fault.until.finally(() => (view.underWay += 1));
      }
      const answer = async () =>
        hook === undefined
          ? ask(view, rest, incoming, body)
          : answerHook(view, hook, body, fault === undefined);
      await send(response, fault, answer);
    } catch {
      response.destroy();
    } finally {
      view.underWay -= 1;
    }
  }

  function ask(
    { own, history, head }: View,
    rest: string,
    { method = 'GET', headers }: IncomingMessage,
    body: Buffer,
  ): Promise<Answer> {
    if (own) return forward(`${backend.url}/${basename(own)}${rest}`, method, headers, body);
    const path = `/${history}-${head}.git${rest}`;
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
    async history(name, given, signed = []) {
      const keys = signed.length > 0 ? createTestKeys() : undefined;
      const signer = keys ? `ada@example.com ${keys.make('ada', 'ed25519')}` : '';
      const changes = given.map((files) => withHooks(files, `${origin}/hooks`));
      const commits: string[] = [];
      let previous: string | undefined;
      for (const [index, files] of changes.entries()) {
        const repository = await createRepository(root, `${name}-${index}`);
        if (previous !== undefined) await cp(previous, repository, { recursive: true });
        const commit = await commitFiles(repository, { subject: `commit ${index + 1}`, files });
        const isSigned = keys && signed.includes(index);
        commits.push(isSigned ? await sign(repository, commit, keys.path('ada')) : commit);
        previous = repository;
      }
      keys?.close();
      return { name, commits, changes, signer };
    },
    async view(history, isWritten = false) {
      count += 1;
      const id = String(count);
      const first = join(root, `${history.name}-0.git`);
      const own = isWritten ? join(root, `own-${id}.git`) : undefined;
      if (own) await cp(first, own, { recursive: true });
      const view: View = {
        ...{ history: history.name, own, head: 0, underWay: 0 },
        ...{ answers: new Map(), told: new Set<string>(), fault: undefined, hookFault: undefined },
      };
      views.set(id, view);
      return {
        // The same for all: what is written of it must not differ.
        url: `${origin}/${id}/shop.git`,
        async setHead(commit) {
          view.head = commit;
          if (own) await commitNext(root, own, history, commit);
        },
        async commit(files) {
          if (own) await commitFiles(own, { subject: 'meanwhile', files });
        },
        refs: () => (own ? readRefs(own) : new Map()),
        set fault(fault) {
          view.fault = fault;
        },
        get fault() {
          return view.fault;
        },
        hooks: {
          url: (path) => `${origin}/hooks/${path}`,
          told: () => view.told,
          answer: (path, code) => void view.answers.set(path, code),
          set fault(fault) {
            view.hookFault = fault;
          },
          get fault() {
            return view.hookFault;
          },
        },
        underWay: () => view.underWay,
        async close() {
          views.delete(id);
          if (own) await rm(own, { recursive: true, force: true });
        },
      };
    },
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await backend.close();
    },
  };
}

/** The very commit of the history, where nobody else has committed. */
async function commitNext(
  root: string,
  own: string,
  { name, commits, changes }: History,
  commit: number,
): Promise<void> {
  const [before, after, files] = [commits[commit - 1], commits[commit], changes[commit]];
  if (files === undefined || after === undefined) throw new Error(`${name} has no commit ${commit}`);
  if (readRefs(own).get(main) !== before)
    return void (await commitFiles(own, { subject: `commit ${commit + 1}`, files }));
  await cp(join(root, `${name}-${commit}.git/objects`), join(own, 'objects'), { recursive: true });
  await moveRef(own, main, async () => after);
}

function answerHook({ answers, told }: View, path: string, body: Buffer, arrives: boolean): Answer {
  const status = answers.get(path) ?? 200;
  const sent = JSON.parse(body.toString()) as Partial<Record<'phase' | 'outcome' | 'reason', string>>;
  const what = [path, sent.phase, sent.outcome, sent.reason].filter((word) => word !== undefined);
  if (status < 300 && arrives) told.add(what.join(' '));
  return { status, type: 'text/plain', body: Buffer.from('as asked') };
}

/** Puts a signed commit in the place of this one, at the head of main. */
async function sign(repository: string, commit: string, key: string): Promise<string> {
  const by = ['gpg.format=ssh', `user.signingkey=${key}`, 'user.name=Ada', 'user.email=ada@example.com'];
  const { parents } = await readCommit(createObjectReader(repository), commit);
  const signed = await git(repository, [
    ...by.flatMap((one) => ['-c', one]),
    ...['commit-tree', '-S', `${commit}^{tree}`, ...parents.flatMap((parent) => ['-p', parent])],
    ...['-m', 'signed'],
  ]);
  return moveRef(repository, main, async () => signed);
}

function withHooks(files: Files, url: string): Files {
  const all = Object.entries(files).map(([path, content]) => [
    path,
    content?.replaceAll(hooksUrl, url) ?? null,
  ]);
  return Object.fromEntries(all);
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
