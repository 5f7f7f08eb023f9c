import { GitError } from './errors.ts';
import type { ObjectReader } from './objects.ts';
import { entryKind, readTree, type TreeEntry } from './tree.ts';

/** More changed paths than this are no release of one workload but a move of the whole repository. */
const MAX_PATHS = 5_000;

/** Paths of files whose content, kind or mode differs between two root trees. Throws GitError TooLarge above 5,000, Corrupt. */
export async function changedPaths(reader: ObjectReader, left: string, right: string): Promise<string[]> {
  const found: string[] = [];
  await compare(reader, { left, right, folder: '' }, found);
  return found.sort();
}

interface Pair {
  readonly left: string | undefined;
  readonly right: string | undefined;
  readonly folder: string;
}

async function compare(reader: ObjectReader, { left, right, folder }: Pair, found: string[]): Promise<void> {
  const [before, after] = await Promise.all([entriesOf(reader, left), entriesOf(reader, right)]);
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    const [old, now] = [before.get(name), after.get(name)];
    if (old?.oid === now?.oid && old?.mode === now?.mode) continue;
    const path = folder ? `${folder}/${name}` : name;
    const folders = [old, now].map((entry) =>
      entry && entryKind(entry) === 'folder' ? entry.oid : undefined,
    );
    if (folders.some((oid) => oid !== undefined))
      await compare(reader, { left: folders[0], right: folders[1], folder: path }, found);
    if ([old, now].some((entry) => entry && entryKind(entry) !== 'folder')) found.push(path);
    if (found.length > MAX_PATHS)
      throw new GitError('TooLarge', `more than ${MAX_PATHS} files changed between the two commits`);
  }
}

async function entriesOf(
  reader: ObjectReader,
  oid: string | undefined,
): Promise<ReadonlyMap<string, TreeEntry>> {
  const entries = oid === undefined ? [] : await readTree(reader, oid);
  return new Map(entries.flatMap((entry) => (entry.name === undefined ? [] : [[entry.name, entry]])));
}
