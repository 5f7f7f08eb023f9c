import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { contentOf } from './ref-answers.ts';

const BRANCH = 'main';

/** A commit to make on top of a branch. */
interface CommitOptions {
  readonly subject: string;
  /** Path to content. Null deletes the file; files that are not named stay as they are. */
  readonly files: Readonly<Record<string, string | null>>;
  /** Default `main`. */
  readonly branch?: string;
  readonly author?: string;
}

/** Runs native git; resolves with its output, rejects with the end of its error output. */
export function git(
  repository: string,
  args: readonly string[],
  options: { input?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('git', ['--git-dir', repository, ...args], {
      env: { ...process.env, ...options.env },
    });
    let output = '';
    let errors = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve(output.trim());
      else
        reject(
          new Error(`git ${args[0]} in ${repository} failed with code ${code}: ${errors.trim().slice(-500)}`),
        );
    });
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.input ?? '');
  });
}

/** Creates an empty bare repository that may be pushed to; returns its path. */
export async function createRepository(root: string, name: string): Promise<string> {
  const path = join(root, `${name}.git`);
  await git(path, ['init', '--quiet', '--bare', `--initial-branch=${BRANCH}`, path]);
  return path;
}

/** Commits files on top of a branch without any checkout; returns the new commit's SHA. */
export async function commitFiles(repository: string, commit: CommitOptions): Promise<string> {
  const ref = `refs/heads/${commit.branch ?? BRANCH}`;
  const { name, email } = identityOf(commit.author ?? 'Demo');
  const commands = [
    `commit ${ref}`,
    'mark :1',
    `committer ${name} <${email}> now`,
    data(`${commit.subject}\n`),
    ...(hasRef(repository, ref) ? [`from ${ref}^0`] : []),
    ...Object.entries(commit.files).map(([path, content]) =>
      content === null ? `D ${path}` : `M 100644 inline ${path}\n${data(content)}`,
    ),
    '',
    'get-mark :1',
    'done',
  ];
  // One process for all of it: each start of git costs more than what it does here.
  const flags = ['--quiet', '--done', '--date-format=now'];
  return git(repository, ['fast-import', ...flags], { input: `${commands.join('\n')}\n` });
}

/** Read from files, since a start of git costs more. */
function hasRef(repository: string, ref: string): boolean {
  const packed = contentOf(join(repository, 'packed-refs'));
  return contentOf(join(repository, ref)) !== '' || packed.includes(` ${ref}\n`);
}

/** Text as `git fast-import` reads it: its length in bytes comes first. */
function data(text: string): string {
  return `data ${Buffer.byteLength(text)}\n${text}`;
}

/** Reverts the newest commit of a branch, as `git revert HEAD` does; returns the new commit's SHA. */
export async function revertHead(repository: string, branch = BRANCH, author = 'Demo'): Promise<string> {
  const ref = `refs/heads/${branch}`;
  const parent = await git(repository, ['rev-parse', '--verify', ref]);
  const tree = await git(repository, ['rev-parse', '--verify', `${ref}~1^{tree}`]);
  const subject = await git(repository, ['log', '-1', '--format=%s', ref]);
  return recordCommit(repository, {
    tree,
    parent,
    ref,
    author,
    subject: `Revert "${subject}"\n\nThis reverts commit ${parent}.`,
  });
}

interface NewCommit {
  readonly tree: string;
  readonly parent: string;
  readonly ref: string;
  readonly subject: string;
  readonly author: string;
}

async function recordCommit(
  repository: string,
  { tree, parent, ref, subject, author }: NewCommit,
): Promise<string> {
  const { name, email } = identityOf(author);
  const env = {
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
  };
  const parents = parent ? ['-p', parent] : [];
  const sha = await git(repository, ['commit-tree', tree, ...parents, '-F', '-'], {
    input: `${subject}\n`,
    env,
  });
  await git(repository, ['update-ref', ref, sha, ...(parent ? [parent] : [])]);
  return sha;
}

function identityOf(name: string): { readonly name: string; readonly email: string } {
  return { name, email: `${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '.')}@example.com` };
}
