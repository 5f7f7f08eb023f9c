import { isLfsPointer, lfsPointer } from './lfs.ts';
import { type ObjectReader, requireObject } from './objects.ts';
import { entryKind, isUnsafeName, readTree, type TreeEntry } from './tree.ts';
import type { CommitEntry } from './types.ts';

/** What one look-up of many paths needs. */
export interface EntryLookup {
  readonly reader: ObjectReader;
  readonly pause: () => Promise<void>;
  /** A larger file is refused. */
  readonly maxFileBytes: number;
}

/**
 * What a root tree holds at these paths (with `/`; the root itself is the empty path). A path that is not there, or that leads through a
 * file, has no entry; one that leads through a link or a submodule is refused. Each tree is read once. Throws GitError Corrupt.
 */
export async function entriesBelow(
  lookup: EntryLookup,
  root: string,
  paths: readonly string[],
): Promise<Map<string, CommitEntry>> {
  const trees = new Map<string, readonly TreeEntry[]>();
  const list = async (oid: string): Promise<readonly TreeEntry[]> => {
    const entries = trees.get(oid) ?? (await readTree(lookup.reader, oid));
    trees.set(oid, entries);
    return entries;
  };
  const found = new Map<string, CommitEntry>();
  for (const path of paths) {
    await lookup.pause();
    const entry = await entryAt(lookup, list, root, path);
    if (entry) found.set(path, entry);
  }
  return found;
}

async function entryAt(
  lookup: EntryLookup,
  list: (oid: string) => Promise<readonly TreeEntry[]>,
  root: string,
  path: string,
): Promise<CommitEntry | undefined> {
  const segments = path === '' ? [] : path.split('/');
  if (segments.some(isUnsafeName)) return refused('has a name that is not safe on every file system');
  let at: { readonly kind: 'folder' | 'file'; readonly oid: string } = { kind: 'folder', oid: root };
  for (const segment of segments) {
    const entry = at.kind === 'folder' && (await list(at.oid)).find(({ name }) => name === segment);
    if (!entry) return undefined;
    const kind = entryKind(entry);
    if (kind !== 'folder' && kind !== 'file') return refused(notFollowed[kind]);
    at = { kind, oid: entry.oid };
  }
  if (at.kind === 'file') return fileAt(lookup, at.oid);
  return { kind: 'folder', oid: at.oid, names: (await list(at.oid)).flatMap(({ name }) => name ?? []) };
}

const notFollowed = {
  symlink: 'is or leads through a symbolic link; links are not followed',
  submodule: 'is or leads into a submodule; submodules are not read',
  unknown: 'is neither a file nor a folder',
} as const;

async function fileAt({ reader, maxFileBytes }: EntryLookup, oid: string): Promise<CommitEntry> {
  const bytes = await requireObject(reader, oid, 'blob');
  if (isLfsPointer(bytes)) return refused(lfsPointer);
  if (bytes.length <= maxFileBytes) return { kind: 'file', oid, bytes };
  return refused(`has ${bytes.length} bytes; at most ${maxFileBytes} are read`);
}

function refused(message: string): CommitEntry {
  return { kind: 'refused', message };
}
