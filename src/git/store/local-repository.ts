/** The repository of a working copy on this machine, read only. */
import fs from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { inflate } from 'node:zlib';
import * as git from 'isomorphic-git';
import { GitError } from '../errors.ts';
import type { GitSource } from '../types.ts';
import { createFileReading } from './files.ts';
import {
  type Commit,
  createPause,
  createReader,
  type ObjectFile,
  type ObjectReader,
  openPacks,
  readCommitObject,
} from './objects.ts';
import { objectId, type StoredObject } from './pack/pack-file.ts';
import { type GitFolders, resolveRevision } from './revision.ts';

/** The repository of a working copy. Files are read by commit id; methods throw GitError. */
export interface LocalRepository extends Pick<GitSource, 'treeOidAt' | 'readFiles' | 'entriesAt'> {
  /** Folder of the working tree; undefined: a bare repository, which has none. */
  readonly root: string | undefined;
  /** A commit by branch, tag, remote branch, id (also a short one) or HEAD, each with `~n` and `^`. Throws RefNotFound. */
  commitAt(revision: string): Promise<Commit>;
  /** Addresses of its remotes. */
  remotes(): Promise<string[]>;
  /** Commits of the refs below a prefix that ends in `/`, by full name. */
  refsBelow(prefix: string): Promise<ReadonlyMap<string, string>>;
  /** Closes the files that it has open. */
  close(): Promise<void>;
}

/** Opens the repository that a folder belongs to. Throws GitError NotFound where there is none. */
export async function openLocalRepository(folder: string): Promise<LocalRepository> {
  const { root, folders } = await findRepository(resolve(folder));
  const reader = createReader(folders.objects, openObjectFiles);
  const reading = createFileReading((commit, signal, work) =>
    whole(reader, commit, async () => {
      const found = await readCommitObject(reader, commit);
      if (!found) throw new GitError('NotFound', `commit ${commit} is not in ${reader.gitdir}`);
      return work({ reader, pause: createPause(signal) }, found.tree);
    }),
  );
  return {
    ...reading,
    root,
    commitAt: async (revision) => {
      const stores = await objectFolders(join(folders.objects, 'objects'));
      return resolveRevision({ ...folders, stores }, reader, revision).catch((error: unknown) =>
        explained(error, folders.objects, revision),
      );
    },
    remotes: async () => {
      const found = await git.listRemotes({ fs, gitdir: folders.objects }).catch(() => []);
      return found.map(({ url }) => url);
    },
    refsBelow: (prefix) => refsBelow(folders.objects, prefix),
    close: () => reader.close(),
  };
}

/** A name may be missing since its repository has a format that is not read; newer versions of Git make such ones. */
async function explained(error: unknown, gitdir: string, revision: string): Promise<never> {
  const setting = (path: string) => git.getConfig({ fs, gitdir, path }).catch(() => undefined);
  const [objects, refs] = await Promise.all(
    ['extensions.objectformat', 'extensions.refstorage'].map(setting),
  );
  const why =
    (objects === 'sha256' && 'its objects have SHA-256 ids, and only SHA-1 is supported') ||
    (refs === 'reftable' &&
      'its refs are in a reftable, which is not read; give full commit ids, or run git refs migrate --ref-format=files');
  if (!why || !(error instanceof GitError) || error.code !== 'RefNotFound') throw error;
  throw new GitError(
    error.code,
    `${JSON.stringify(revision)} cannot be looked up in ${gitdir}: ${why}`,
    error,
  );
}

async function findRepository(start: string): Promise<{ root: string | undefined; folders: GitFolders }> {
  for (let at = start; ; at = dirname(at)) {
    const folders = await foldersAt(join(at, '.git'));
    if (folders) return { root: (await saysBare(folders)) ? undefined : at, folders };
    if (await isBare(at)) return { root: undefined, folders: { objects: at, head: at } };
    if (dirname(at) === at) throw new GitError('NotFound', `${start} is not in a Git repository`);
  }
}

/** As Git recognizes a repository; inside of `.git` the working tree around it is meant. */
async function isBare(folder: string): Promise<boolean> {
  if (basename(folder) === '.git') return false;
  const parts = ['HEAD', 'objects', 'refs'].map((name) => stat(join(folder, name)).catch(() => undefined));
  const [head, ...folders] = await Promise.all(parts);
  return head?.isFile() === true && folders.every((found) => found?.isDirectory());
}

/** Whether `.git` is bare: all its working trees are linked ones in other folders. */
async function saysBare({ objects, head }: GitFolders): Promise<boolean> {
  if (objects !== head) return false;
  return (await git.getConfig({ fs, gitdir: objects, path: 'core.bare' }).catch(() => false)) === true;
}

/** `.git` is a folder, or in a linked working tree and a submodule a file that names one. */
async function foldersAt(path: string): Promise<GitFolders | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (!found) return undefined;
  if (found.isDirectory()) return { objects: path, head: path };
  const named = /^gitdir: (.+)$/m.exec(await readFile(path, 'utf8').catch(() => ''))?.[1];
  if (!named) return undefined;
  const head = resolve(dirname(path), named.trim());
  const common = (await readFile(join(head, 'commondir'), 'utf8').catch(() => '')).trim();
  return { objects: common ? resolve(head, common) : head, head };
}

/** A clone may be shallow or partial: missing objects are reported as missing, not as damage. */
async function whole<T>({ gitdir }: ObjectReader, commit: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof GitError) || error.code !== 'Corrupt') throw error;
    const why = error.cause instanceof Error ? `: ${error.cause.message}` : '';
    const what = `${gitdir} does not hold all of commit ${commit}${why}`;
    throw new GitError('NotFound', `${what}; clone it without --filter, or fetch it again`, error);
  }
}

async function refsBelow(gitdir: string, prefix: string): Promise<Map<string, string>> {
  const names = await git.listRefs({ fs, gitdir, filepath: prefix.replace(/\/$/, '') }).catch(() => []);
  const found = new Map<string, string>();
  for (const name of names) {
    const ref = prefix + name;
    const oid = await git.resolveRef({ fs, gitdir, ref }).catch(() => undefined);
    if (oid) found.set(ref, oid);
  }
  return found;
}

// Objects of working copies: packs, loose objects, and alternates (objects of other repositories).

/** Limit of one loose object; nothing that a Source reads is as large. */
const maxObjectBytes = 64 * 1024 * 1024;
/** Limit of alternates. */
const maxAlternates = 10;
const inflated = promisify(inflate);

/** A folder of objects, and its alternates. */
async function objectFolders(objects: string): Promise<readonly string[]> {
  const folders = [objects];
  for (const folder of folders) {
    const text = await readFile(join(folder, 'info', 'alternates'), 'utf8').catch(() => '');
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    for (const other of lines.map((line) => resolve(folder, line)))
      if (!folders.includes(other) && folders.length <= maxAlternates) folders.push(other);
  }
  return folders;
}

/** Everything that holds objects for a folder of them: its packs, its loose objects, and the same of its alternates. */
async function openObjectFiles(objects: string): Promise<readonly ObjectFile[]> {
  const folders = await objectFolders(objects);
  const packs = await Promise.all(folders.map(openPacks));
  return [...packs.flat(), ...folders.map(looseIn)];
}

function looseIn(folder: string): ObjectFile {
  return {
    async read(oid) {
      const path = join(folder, oid.slice(0, 2), oid.slice(2));
      const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
        throw error;
      });
      return bytes && parsed(await inflated(bytes, { maxOutputLength: maxObjectBytes }), oid);
    },
    close: async () => undefined,
  };
}

/** `commit 123`, a zero byte, and the content. Throws RangeError for anything else, and for content of another id. */
function parsed(whole: Buffer, oid: string): StoredObject {
  const end = whole.indexOf(0);
  const [type = '', size] = whole.toString('latin1', 0, Math.max(0, end)).split(' ');
  const object = { type, bytes: whole.subarray(end + 1) };
  if (end < 0 || Number(size) !== object.bytes.length || objectId(object) !== oid)
    throw new RangeError(`object ${oid} is damaged`);
  return object;
}
