import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  createObjectReader,
  entriesOf,
  FOLDER,
  type ReadObject,
  readCommit,
  type TreeEntry,
  writeObject,
  writeTree,
} from './objects.ts';
import { moveRef } from './refs.ts';

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

/** Creates an empty bare repository that may be pushed to; returns its path. Its files are those that `git init` makes. */
export async function createRepository(root: string, name: string): Promise<string> {
  const path = join(root, `${name}.git`);
  for (const folder of ['hooks', 'objects/info', 'objects/pack', 'refs/heads', 'refs/tags'])
    mkdirSync(join(path, folder), { recursive: true });
  writeFileSync(join(path, 'HEAD'), `ref: refs/heads/${BRANCH}\n`);
  writeFileSync(
    join(path, 'config'),
    '[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n',
  );
  return path;
}

/** Commits files on top of a branch without any checkout; returns the new commit's SHA. In this process: a start of git costs more than most tests. */
export function commitFiles(
  repository: string,
  { subject, files, branch = BRANCH, author = 'Demo' }: CommitOptions,
): Promise<string> {
  return moveRef(repository, `refs/heads/${branch}`, async (parent) => {
    const read = createObjectReader(repository);
    const tree =
      parent === undefined ? new Map() : await readFiles(read, (await readCommit(read, parent)).tree);
    for (const [path, content] of Object.entries(files)) changeFile(repository, tree, path, content);
    return writeCommit(repository, {
      tree: writeFiles(repository, tree),
      parents: parent === undefined ? [] : [parent],
      message: subject,
      author,
    });
  });
}

/** Reverts the newest commit, as `git revert HEAD` does; returns the new commit's SHA. Rejects when it is the first one. */
export function revertHead(repository: string): Promise<string> {
  return moveRef(repository, `refs/heads/${BRANCH}`, async (head) => {
    if (head === undefined) throw new Error(`${repository} has no branch ${BRANCH}`);
    const read = createObjectReader(repository);
    const { message, parents } = await readCommit(read, head);
    if (parents[0] === undefined) throw new Error(`${head} is the first commit`);
    const { tree } = await readCommit(read, parents[0]);
    const [subject] = message.split('\n');
    const text = `Revert "${subject}"\n\nThis reverts commit ${head}.`;
    return writeCommit(repository, { tree, parents: [head], message: text, author: 'Demo' });
  });
}

interface NewCommit {
  readonly tree: string;
  readonly parents: readonly string[];
  readonly message: string;
  readonly author: string;
}

function writeCommit(repository: string, { tree, parents, message, author }: NewCommit): string {
  const email = `${author.toLowerCase().replaceAll(/[^a-z0-9]+/g, '.')}@example.com`;
  const identity = `${author} <${email}> ${Math.floor(Date.now() / 1000)} +0000`;
  const lines = [
    `tree ${tree}`,
    ...parents.map((parent) => `parent ${parent}`),
    `author ${identity}`,
    `committer ${identity}`,
  ];
  const content = Buffer.from(`${lines.join('\n')}\n\n${message}\n`);
  return writeObject(repository, { type: 'commit', content });
}

/** Everything that is no folder, by path. */
type Files = Map<string, Pick<TreeEntry, 'mode' | 'oid'>>;

async function readFiles(
  read: ReadObject,
  tree: string,
  folder = '',
  found: Files = new Map(),
): Promise<Files> {
  for (const { name, mode, oid } of entriesOf(await read(tree))) {
    if (mode === FOLDER) await readFiles(read, oid, `${folder}${name}/`, found);
    else found.set(`${folder}${name}`, { mode, oid });
  }
  return found;
}

/** As `git fast-import` does: a file takes the place of a folder, and a folder that of a file. */
function changeFile(repository: string, files: Files, name: string, content: string | null): void {
  const path = Buffer.from(name).toString('latin1');
  const isBelow = (below: string, folder: string) => below.startsWith(`${folder}/`);
  for (const other of [...files.keys()])
    if (other === path || isBelow(other, path) || (content !== null && isBelow(path, other)))
      files.delete(other);
  if (content === null) return;
  const oid = writeObject(repository, { type: 'blob', content: Buffer.from(content) });
  files.set(path, { mode: '100644', oid });
}

/** Stores the folder that holds the files; returns its id. */
function writeFiles(repository: string, files: Files): string {
  const folders = new Map<string, Files>();
  const entries: TreeEntry[] = [];
  for (const [path, file] of files) {
    const slash = path.indexOf('/');
    const name = path.slice(0, slash);
    if (slash < 0) entries.push({ name: path, ...file });
    else folders.set(name, (folders.get(name) ?? new Map()).set(path.slice(slash + 1), file));
  }
  for (const [name, below] of folders)
    entries.push({ name, mode: FOLDER, oid: writeFiles(repository, below) });
  return writeTree(repository, entries);
}
