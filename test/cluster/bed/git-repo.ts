import { execFile } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { readRefs } from '../../../sandbox/git-server/refs.ts';
import type { RepositoryCounts, RepositorySettings } from './git-faults.ts';

const run = promisify(execFile);

/** A repository worked on with native git in a folder of its own. */
export interface GitClone {
  /** Where clients fetch it. */
  readonly url: string;
  /** The folder that the helpers commit in. */
  readonly folder: string;
  /** Writes the files (null removes one) and commits them, for clients to fetch; returns the commit's id. The server's faults do not touch it. */
  commit(files: Readonly<Record<string, string | null>>, message: string): Promise<string>;
  /** Reverts a commit, the newest one by default, in the same way; returns the new commit's id. */
  revert(commit?: string): Promise<string>;
  /** Makes `commit` the branch's head by force. */
  forcePush(commit: string): Promise<void>;
  /** Runs git in the folder and returns its output. */
  git(...args: readonly string[]): Promise<string>;
  /** Removes the folder. */
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

/** Pushes are taken, also of the branch that the working folder is at; nothing is packed by the way. */
const SERVED = `
[http]
	receivepack = true
[uploadpack]
	allowAnySHA1InWant = true
	allowFilter = true
[receive]
	denyCurrentBranch = ignore
	autogc = false
[maintenance]
	auto = false
`;

/**
 * Creates a repository `<name>.git` below `gitRoot`, with an empty branch `main`. What is committed in its folder is on the server at once: a push would be ten
 * processes of git for each commit.
 */
export async function createGitRepo(gitRoot: string, baseUrl: string, name: string): Promise<GitRepo> {
  const served = join(gitRoot, `${name}.git`);
  mkdirSync(dirname(served), { recursive: true });
  const clone = await cloneOf(`${baseUrl}/${name}.git`, [`--separate-git-dir=${served}`], async () => {
    const head = readRefs(served).get('refs/heads/main');
    if (head === undefined) throw new Error(`${served} has no branch main`);
    return head;
  });
  appendFileSync(join(served, 'config'), SERVED);
  const control = `${baseUrl}/_bed/${name}`;
  return {
    ...clone,
    configure: async (wanted) => {
      await fetch(control, { method: 'PUT', body: JSON.stringify(wanted) });
    },
    collectGarbage: async () => {
      await clone.git('reflog', 'expire', '--expire=now', '--all');
      await clone.git('gc', '--quiet', '--prune=now');
    },
    counts: async ({ reset } = { reset: false }) => {
      const response = await fetch(`${control}${reset ? '?reset' : ''}`);
      return (await response.json()) as RepositoryCounts;
    },
  };
}

/** A clone with an empty branch `main` that pushes to `remote`; clients fetch from `url`. */
export async function createGitClone(url: string, remote: string): Promise<GitClone> {
  const clone = await cloneOf(url, [], async (git, ...flags) => {
    await git('push', '--quiet', ...flags, 'origin', 'HEAD:refs/heads/main');
    return git('rev-parse', 'HEAD');
  });
  await clone.git('remote', 'add', 'origin', remote);
  return clone;
}

/** `publish` brings what was committed to where clients fetch it, and returns the id of the commit. */
async function cloneOf(
  url: string,
  initFlags: readonly string[],
  publish: (git: GitClone['git'], ...flags: readonly string[]) => Promise<string>,
): Promise<GitClone> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-clone-'));
  const git = async (...args: readonly string[]) => {
    const { stdout } = await run('git', ['-C', folder, ...args], { env: { ...process.env, ...IDENTITY } });
    return stdout.trim();
  };
  await git('init', '--quiet', '--initial-branch=main', '--template=', ...initFlags);

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
    return publish(git);
  };
  const revert = async (which = 'HEAD') => {
    await git('revert', '--no-edit', which);
    return publish(git);
  };
  const forcePush = async (which: string) => {
    await git('reset', '--quiet', '--hard', which);
    await publish(git, '--force');
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
