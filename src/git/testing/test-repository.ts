import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** A working copy and the bare repository the server offers, both driven by the real git. */
export interface TestRepository {
  /** Writes files (null removes), commits and pushes to `branch` (default main); returns the commit id. */
  commit(files: Readonly<Record<string, string | Buffer | null>>, message?: string, branch?: string): string;
  /** Runs git in the working copy and returns its trimmed output. */
  git(...args: string[]): string;
  /** Runs git in the served bare repository. */
  bare(...args: string[]): string;
  /** Pushes with force. */
  forcePush(branch?: string): void;
}

/** What git makes of an empty folder; it may have been made where a test has removed it since. */
let empty = '';

/**
 * Makes `<root>/<name>.git` and a working copy `<root>/<name>`. A start of git is dearer than most of what is tested: a process of many files is
 * large, and is copied for it. So none is started here, one for a commit, and that is pushed by its ref alone: both have the same objects.
 */
export function createTestRepository(root: string, name: string): TestRepository {
  const work = join(root, name);
  const served = join(root, `${name}.git`);
  if (!existsSync(empty)) {
    empty = mkdtempSync(join(tmpdir(), 'holdfast-empty-repository-'));
    git(empty, ['init', '-q', '--bare', '-b', 'main', '--template=']);
  }
  cpSync(empty, served, { recursive: true });
  mkdirSync(join(served, 'hooks'));
  cpSync(served, join(work, '.git'), { recursive: true });
  rmSync(join(served, 'objects'), { recursive: true });
  symlinkSync(join(work, '.git', 'objects'), join(served, 'objects'));
  writeFileSync(
    join(work, '.git', 'config'),
    `[core]\n\trepositoryformatversion = 0\n\tbare = false\n[maintenance]\n\tauto = false\n[remote "origin"]\n\turl = ${served}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n`,
  );
  return {
    git: (...args) => git(work, args),
    bare: (...args) => git(served, args),
    commit(files, message = 'Change', branch = 'main') {
      for (const [path, content] of Object.entries(files)) put(join(work, path), content);
      run(work, 'sh', ['-c', 'git add -A && git commit -q --allow-empty -m "$1"', 'sh', message]);
      const commit = headOf(join(work, '.git'));
      point(join(served, 'refs', 'heads', branch), commit);
      point(join(work, '.git', 'refs', 'remotes', 'origin', branch), commit);
      return commit;
    },
    forcePush: (branch = 'main') => {
      git(work, ['push', '-q', '--force', 'origin', `HEAD:refs/heads/${branch}`]);
    },
  };
}

/** The commit that was just made. */
function headOf(gitDir: string): string {
  const [, ref] = /^ref: (.+)$/m.exec(readFileSync(join(gitDir, 'HEAD'), 'utf8')) ?? [];
  return readFileSync(join(gitDir, ref ?? 'HEAD'), 'utf8').trim();
}

/** At once for those who read it meanwhile. */
function point(ref: string, commit: string): void {
  mkdirSync(dirname(ref), { recursive: true });
  writeFileSync(`${ref}.lock`, `${commit}\n`);
  renameSync(`${ref}.lock`, ref);
}

function put(file: string, content: string | Buffer | null): void {
  if (content === null) return rmSync(file, { recursive: true, force: true });
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}

const git = (cwd: string, args: readonly string[]) => run(cwd, 'git', args);

function run(cwd: string, program: string, args: readonly string[]): string {
  const identity = { NAME: 'Ada Tester', EMAIL: 'ada@example.com' };
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: cwd,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: identity.NAME,
    GIT_AUTHOR_EMAIL: identity.EMAIL,
    GIT_COMMITTER_NAME: identity.NAME,
    GIT_COMMITTER_EMAIL: identity.EMAIL,
    GIT_COMMITTER_DATE: '2026-11-01T10:00:00Z',
    GIT_AUTHOR_DATE: '2026-11-01T10:00:00Z',
  };
  return execFileSync(program, args, {
    cwd,
    env,
    encoding: 'utf8',
    maxBuffer: 64 * 1_048_576,
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim();
}

/** Bytes that compression cannot shrink, so that a snapshot is visible in the traffic. */
export function noise(seed: number, length: number): string {
  let state = seed + 1;
  let text = '';
  while (text.length < length) {
    state = (state * 48_271) % 2_147_483_647;
    text += state.toString(36);
  }
  return text;
}
