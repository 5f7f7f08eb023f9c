import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { CommitInfo } from '../../api/commit.ts';
import { beginningOf, oneLine } from '../../api/limits.ts';
import { GitError } from '../errors.ts';
import { createBaseCache, openPack, type PackFile, type StoredObject } from './pack/pack-file.ts';

/** Reads objects for one operation: only the requested parts of each pack, and without a cache afterwards. */
export interface ObjectReader {
  readonly gitdir: string;
  /** Its packs, and what else holds objects, as they were at the first use; a later fetch needs another reader. Throws RangeError and the system's errors. */
  packs(): Promise<readonly ObjectFile[]>;
  /** Closes what it opened, for good: a read that comes later throws RangeError. */
  close(): Promise<void>;
}

/** A file or folder with objects. `read` returns undefined for an object that it does not hold. */
export type ObjectFile = Pick<PackFile, 'read' | 'close'>;

/** Opens nothing yet. Our own stores hold packs and nothing else; `open` is for other repositories. */
export function createReader(
  gitdir: string,
  open: (objects: string) => Promise<readonly ObjectFile[]> = openPacks,
): ObjectReader {
  let opened: Promise<readonly ObjectFile[]> | undefined;
  let isClosed = false;
  return {
    gitdir,
    async packs() {
      if (isClosed) throw new RangeError(`${gitdir} is read after its reader was closed`);
      opened ??= open(join(gitdir, 'objects'));
      return opened;
    },
    async close() {
      isClosed = true;
      const packs = (await opened?.catch(() => [])) ?? [];
      await Promise.all(packs.map((pack) => pack.close()));
    },
  };
}

/** The packs of a folder of objects; none when there is no such folder. */
export async function openPacks(objects: string): Promise<readonly PackFile[]> {
  const folder = join(objects, 'pack');
  const names = await readdir(folder).catch(() => []);
  const bases = createBaseCache();
  const paths = names.filter((name) => name.endsWith('.idx')).map((name) => join(folder, name.slice(0, -4)));
  return Promise.all(paths.map((path) => openPack(path, bases)));
}

/** What Holdfast reads of a commit. */
export interface Commit {
  readonly oid: string;
  readonly tree: string;
  readonly parents: readonly string[];
  readonly info: CommitInfo;
}

/** Real messages have a few KiB; parsing one of several megabytes would block the process for seconds. */
const MAX_COMMIT_BYTES = 1_048_576;

/**
 * Reads a commit; undefined when the store does not hold it or the id names something else. Throws GitError Corrupt, and TooLarge for one
 * of more than 1 MiB.
 */
export async function readCommitObject(reader: ObjectReader, oid: string): Promise<Commit | undefined> {
  const object = await readObject(reader, oid);
  if (object?.type !== 'commit') return undefined;
  if (object.bytes.length > MAX_COMMIT_BYTES)
    throw new GitError(
      'TooLarge',
      `commit ${oid} has ${object.bytes.length} bytes, message and signature included; the limit is ${MAX_COMMIT_BYTES}`,
    );
  const commit = parseCommit(object.bytes);
  if (!commit) throw corrupt(reader, undefined, `, commit ${oid} cannot be read,`);
  const seconds = commit.time;
  const time = new Date(Number.isFinite(seconds) && Math.abs(seconds) < 8.64e12 ? seconds * 1000 : 0);
  const info = {
    commit: oid,
    subject: shown(commit.message.split('\n').find((line) => line.trim()) ?? ''),
    author: shown(commit.author),
    time: time.toISOString().replace('.000Z', 'Z'),
    ...(commit.parents.length > 1 ? { isMerge: true } : {}),
  };
  return { oid, tree: commit.tree, parents: commit.parents, info };
}

/** Whether the commit and its root tree are there: a fetch may report success without sending anything. */
export async function hasWholeCommit(reader: ObjectReader, oid: string): Promise<boolean> {
  const commit = await readCommitObject(reader, oid);
  return commit !== undefined && (await readObject(reader, commit.tree))?.type === 'tree';
}

/** The bytes and type of any object; undefined when the store does not hold it. Throws GitError Corrupt. */
export async function readObject(reader: ObjectReader, oid: string): Promise<StoredObject | undefined> {
  // Ids inside a commit are text from outside.
  if (!/^[0-9a-f]{40}$/.test(oid)) return undefined;
  try {
    for (const pack of await reader.packs()) {
      const object = await pack.read(oid);
      if (object) return object;
    }
    return undefined;
  } catch (error) {
    throw corrupt(reader, error);
  }
}

/** The object that must be there because something the store holds refers to it. Throws GitError Corrupt. */
export async function requireObject(
  reader: ObjectReader,
  oid: string,
  type: 'tree' | 'blob',
): Promise<Uint8Array> {
  const object = await readObject(reader, oid);
  if (object?.type !== type) throw corrupt(reader, undefined, `, ${type} ${oid} is missing,`);
  return object.bytes;
}

function corrupt({ gitdir }: ObjectReader, cause: unknown, what = ''): GitError {
  const message = `the local Git store ${gitdir} is damaged${what} and is fetched again`;
  return new GitError('Corrupt', message, cause);
}

function shown(text: string): string {
  return beginningOf(oneLine(text).trim(), 200);
}

/** What a commit's bytes say. */
interface ParsedCommit {
  readonly tree: string;
  readonly parents: readonly string[];
  /** Name, else address. */
  readonly author: string;
  /** Of the committer, in seconds since the epoch; NaN where it says none. */
  readonly time: number;
  readonly message: string;
}

/** Undefined when it names no tree. The other lines may contain anything. */
function parseCommit(bytes: Uint8Array): ParsedCommit | undefined {
  const text = new TextDecoder().decode(bytes);
  const end = text.indexOf('\n\n');
  const lines = (end < 0 ? text : text.slice(0, end)).split('\n');
  const valuesOf = (field: string) =>
    lines.filter((line) => line.startsWith(`${field} `)).map((line) => line.slice(field.length + 1));
  const [tree] = valuesOf('tree');
  if (!tree || !/^[0-9a-f]{40}$/.test(tree)) return undefined;
  const parents = valuesOf('parent').filter((oid) => /^[0-9a-f]{40}$/.test(oid));
  const author = personOf(valuesOf('author')[0]);
  const { time } = personOf(valuesOf('committer')[0]);
  return {
    tree,
    parents,
    author: author.name || author.address,
    time,
    message: end < 0 ? '' : text.slice(end + 2),
  };
}

/** Parses `Name <address> seconds zone` without a regular expression: a line may be a megabyte of brackets. */
function personOf(line = ''): { name: string; address: string; time: number } {
  const open = line.indexOf('<');
  const close = line.indexOf('>', open);
  if (open < 0 || close < 0) return { name: '', address: '', time: Number.NaN };
  const time = Number.parseInt(line.slice(close + 1, close + 32), 10);
  return { name: line.slice(0, open).trimEnd(), address: line.slice(open + 1, close), time };
}

/** A long loop yields to other work after this time. */
const LONGEST_TURN_MS = 10;

/**
 * A function to await in every round of a long loop: it lets timers and sockets run when some milliseconds have passed (the lease must be
 * renewed while a large pack is indexed) and throws GitError Aborted once the signal aborts.
 */
export function createPause(signal?: AbortSignal): () => Promise<void> {
  let pausedMs = performance.now();
  return async () => {
    if (signal?.aborted) throw new GitError('Aborted', 'the Git operation was cancelled');
    if (performance.now() - pausedMs < LONGEST_TURN_MS) return;
    await setImmediate();
    pausedMs = performance.now();
  };
}
