import fs from 'node:fs';
import git from 'isomorphic-git';
import type { CommitInfo } from '../api/observed.ts';
import { GitError } from './errors.ts';

/**
 * Where objects are read. `cache` is isomorphic-git's: it holds whole packs in memory, so there is one per operation,
 * dropped afterwards; without it each read loads and hashes the pack again.
 */
export interface ObjectReader {
  readonly gitdir: string;
  readonly cache: object;
}

/** A reader with a cache of its own. */
export function createReader(gitdir: string): ObjectReader {
  return { gitdir, cache: {} };
}

/** What Holdfast reads of a commit. */
export interface Commit {
  readonly oid: string;
  readonly tree: string;
  readonly parents: readonly string[];
  readonly info: CommitInfo;
}

/** Reads a commit; undefined when the store does not hold it or the id names something else. Throws GitError Corrupt. */
export async function readCommitObject(reader: ObjectReader, oid: string): Promise<Commit | undefined> {
  const object = await readObject(reader, oid);
  if (object?.type !== 'commit') return undefined;
  const { commit } = await unlessCorrupt(reader, () => git.readCommit({ fs, ...reader, oid }));
  const seconds = commit.committer.timestamp;
  const time = new Date(Number.isFinite(seconds) && Math.abs(seconds) < 8.64e12 ? seconds * 1000 : 0);
  const info = {
    commit: oid,
    subject: oneLine(commit.message.split('\n').find((line) => line.trim()) ?? ''),
    author: oneLine(commit.author.name || commit.author.email),
    time: time.toISOString().replace('.000Z', 'Z'),
  };
  return { oid, tree: commit.tree, parents: commit.parent, info };
}

/** Whether the commit and its root tree are there: a fetch may report success without sending anything. */
export async function hasWholeCommit(reader: ObjectReader, oid: string): Promise<boolean> {
  const commit = await readCommitObject(reader, oid);
  return commit !== undefined && (await readObject(reader, commit.tree))?.type === 'tree';
}

/** The bytes and type of any object; undefined when the store does not hold it. Throws GitError Corrupt. */
export async function readObject(
  reader: ObjectReader,
  oid: string,
): Promise<{ type: string; bytes: Uint8Array } | undefined> {
  // Ids inside a commit are text from outside, and the library makes file names of them.
  if (!/^[0-9a-f]{40}$/.test(oid)) return undefined;
  try {
    const { type, object } = await git.readObject({ fs, ...reader, oid, format: 'content' });
    return { type: type ?? '', bytes: object as Uint8Array };
  } catch (error) {
    if (error instanceof git.Errors.NotFoundError) return undefined;
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
  if (object?.type !== type) throw corrupt(reader, new Error(`${type} ${oid} is missing`));
  return object.bytes;
}

async function unlessCorrupt<T>(reader: ObjectReader, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw corrupt(reader, error);
  }
}

function corrupt({ gitdir }: ObjectReader, cause: unknown): GitError {
  return new GitError('Corrupt', `the local Git store ${gitdir} is damaged and will be fetched anew`, cause);
}

function oneLine(text: string): string {
  return text
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, 200);
}
