import { join } from 'node:path';
import { GitError } from '../errors.ts';
import {
  type Commit,
  createReader,
  hasWholeCommit,
  type ObjectReader,
  openPacks,
  readCommitObject,
} from './objects.ts';
import { copyObjects } from './pack/copy-objects.ts';
import { storage, writeShallow } from './store-directory.ts';
import { entryKind, readTree } from './tree.ts';

/**
 * Makes an empty store hold exactly these commits with their trees, each without its history, from what another store holds: one pack, and
 * nothing that a rewritten history left. No network. Commits that the other store does not hold whole are left out. Throws GitError
 * Corrupt where it is damaged, and Storage.
 */
export async function compactInto(
  fresh: string,
  old: ObjectReader,
  commits: Iterable<string>,
  pause: () => Promise<void>,
): Promise<readonly string[]> {
  const kept: Commit[] = [];
  const objects = new Set<string>();
  for (const oid of new Set(commits)) {
    const commit = (await hasWholeCommit(old, oid)) ? await readCommitObject(old, oid) : undefined;
    if (!commit) continue;
    kept.push(commit);
    objects.add(oid);
    await addTree(old, commit.tree, objects, pause);
  }
  if (kept.length === 0) return [];
  const path = join(fresh, 'objects', 'pack', `pack-${kept[0]?.oid}`);
  await readable(old, () => copyFrom(old.gitdir, objects, path, pause));
  const cut = kept.filter(({ parents }) => parents.some((parent) => !objects.has(parent)));
  await writeShallow(fresh, new Set(cut.map(({ oid }) => oid)));
  const whole = kept.map(({ oid }) => oid);
  await requireWhole(fresh, whole);
  return whole;
}

async function addTree(
  reader: ObjectReader,
  root: string,
  objects: Set<string>,
  pause: () => Promise<void>,
): Promise<void> {
  const folders = [root];
  for (let oid = folders.pop(); oid !== undefined; oid = folders.pop()) {
    if (objects.has(oid)) continue;
    objects.add(oid);
    await pause();
    for (const entry of await readTree(reader, oid)) {
      const kind = entryKind(entry);
      if (kind === 'folder') folders.push(entry.oid);
      // The commit of a submodule lives in another repository.
      else if (kind !== 'submodule') objects.add(entry.oid);
    }
  }
}

async function copyFrom(
  gitdir: string,
  objects: ReadonlySet<string>,
  path: string,
  pause: () => Promise<void>,
): Promise<void> {
  const packs = await openPacks(join(gitdir, 'objects'));
  try {
    await copyObjects(packs, objects, path, pause);
  } finally {
    await Promise.all(packs.map((pack) => pack.close()));
  }
}

/** Reads the new store back before it replaces the old one. */
async function requireWhole(fresh: string, commits: readonly string[]): Promise<void> {
  const reader = createReader(fresh);
  try {
    for (const oid of commits)
      if (!(await hasWholeCommit(reader, oid)))
        throw new GitError('Corrupt', `commit ${oid} is missing after compaction`);
  } finally {
    await reader.close();
  }
}

async function readable(old: ObjectReader, work: () => Promise<void>): Promise<void> {
  try {
    await storage(work);
  } catch (error) {
    const { cause } = error as { cause?: unknown };
    if (!(cause instanceof RangeError)) throw error;
    throw new GitError('Corrupt', `the local Git store ${old.gitdir} is damaged: ${cause.message}`, cause);
  }
}
