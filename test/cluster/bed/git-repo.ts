import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { RepositoryCounts, RepositorySettings } from './git-faults.ts';

const run = promisify(execFile);

/** A repository worked on with native git through a clone of its own. */
export interface GitClone {
  /** Where clients fetch it. */
  readonly url: string;
  /** Folder of the clone that the helpers commit in. */
  readonly folder: string;
  /** Writes the files (null removes one), commits and pushes; returns the commit's id. The server's faults do not touch it. */
  commit(files: Readonly<Record<string, string | null>>, message: string): Promise<string>;
  /** Reverts a commit, the newest one by default, and pushes; returns the new commit's id. */
  revert(commit?: string): Promise<string>;
  /** Makes `commit` the branch's head by force. */
  forcePush(commit: string): Promise<void>;
  /** Runs git in the clone and returns its output. */
  git(...args: readonly string[]): Promise<string>;
  /** Removes the clone. */
  remove(): void;
}

/** A repository on the bed's Git server. */
export interface GitRepo extends GitClone {
  /** Sets faults and authentication for this repository; `{}` takes all away. */
  configure(settings: RepositorySettings): Promise<void>;
  /** Deletes every object on the server that no ref leads to. */
  collectGarbage(): Promise<void>;
  /** What the server was asked for this repository since the last call with `reset`. */
  counts(options?: { readonly reset: boolean }): Promise<RepositoryCounts>;
}

const IDENTITY = {
  GIT_AUTHOR_NAME: 'Bed',
  GIT_AUTHOR_EMAIL: 'bed@example.com',
  GIT_COMMITTER_NAME: 'Bed',
  GIT_COMMITTER_EMAIL: 'bed@example.com',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
};

/** Creates a bare repository `<name>.git` below `gitRoot`, with an empty branch `main`, and a clone to work in. */
export async function createGitRepo(gitRoot: string, baseUrl: string, name: string): Promise<GitRepo> {
  const bare = join(gitRoot, `${name}.git`);
  mkdirSync(dirname(bare), { recursive: true });
  await run('git', ['init', '--quiet', '--bare', '--initial-branch=main', bare]);
  const settings = {
    'http.receivepack': 'true',
    'uploadpack.allowAnySHA1InWant': 'true',
    'uploadpack.allowFilter': 'true',
  };
  for (const [key, value] of Object.entries(settings)) await run('git', ['-C', bare, 'config', key, value]);
  const clone = await createGitClone(`${baseUrl}/${name}.git`, bare);
  const control = `${baseUrl}/_bed/${name}`;
  return {
    ...clone,
    configure: async (wanted) => {
      await fetch(control, { method: 'PUT', body: JSON.stringify(wanted) });
    },
    collectGarbage: async () => {
      await run('git', ['-C', bare, 'reflog', 'expire', '--expire=now', '--all']);
      await run('git', ['-C', bare, 'gc', '--quiet', '--prune=now']);
    },
    counts: async ({ reset } = { reset: false }) => {
      const response = await fetch(`${control}${reset ? '?reset' : ''}`);
      return (await response.json()) as RepositoryCounts;
    },
  };
}

/** A clone with an empty branch `main` that pushes to `remote`; clients fetch from `url`. */
export async function createGitClone(url: string, remote: string): Promise<GitClone> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-clone-'));
  const git = async (...args: readonly string[]) => {
    const { stdout } = await run('git', ['-C', folder, ...args], { env: { ...process.env, ...IDENTITY } });
    return stdout.trim();
  };
  await git('init', '--quiet', '--initial-branch=main');
  await git('remote', 'add', 'origin', remote);

  const push = async (...flags: readonly string[]) => {
    await git('push', '--quiet', ...flags, 'origin', 'HEAD:refs/heads/main');
    return git('rev-parse', 'HEAD');
  };
  const commit = async (files: Readonly<Record<string, string | null>>, message: string) => {
    for (const [path, content] of Object.entries(files)) {
      const target = join(folder, path);
      if (content === null) rmSync(target);
      else {
        mkdirSync(dirname(target), { recursive: true });
        writeFileSync(target, content);
      }
    }
    await git('add', '--all');
    await git('commit', '--quiet', '--allow-empty', '-m', message);
    return push();
  };
  const revert = async (which = 'HEAD') => {
    await git('revert', '--no-edit', which);
    return push();
  };
  const forcePush = async (which: string) => {
    await git('reset', '--quiet', '--hard', which);
    await push('--force');
  };
  return {
    url,
    folder,
    commit,
    revert,
    forcePush,
    git,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
