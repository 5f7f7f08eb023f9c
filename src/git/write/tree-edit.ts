import { GitError } from '../errors.ts';
import { type ObjectReader, requireObject } from '../store/objects.ts';
import type { Session } from '../store/session.ts';
import { entryKind, type RawEntry, rawEntries, readTree, type TreeEntry } from '../store/tree.ts';
import { type NewObject, newObject } from './new-objects.ts';

/** New content by path from the root of the repository; undefined takes the file out. */
type FileChanges = ReadonlyMap<string, Uint8Array | undefined>;

/** A root tree with the changes in it, and the objects that the tree before did not have. */
interface EditedTree {
  readonly oid: string;
  readonly objects: readonly NewObject[];
}

const FILE_MODE = '100644';
const FOLDER_MODE = '40000';

/**
 * Writes changed files into a tree; modes of files that exist stay. Throws GitError Refused when a path leads through
 * or onto something that is no file (a link, a submodule), and Corrupt.
 */
export async function editTree(
  reader: ObjectReader,
  rootOid: string,
  changes: FileChanges,
): Promise<EditedTree> {
  const objects: NewObject[] = [];
  const root = await edit(reader, rootOid, changes, objects);
  const oid = root ?? keep(objects, newObject('tree', Buffer.alloc(0)));
  return { oid, objects };
}

/** Id of the tree after the changes; undefined when nothing is left in it. */
async function edit(
  reader: ObjectReader,
  oid: string | undefined,
  changes: FileChanges,
  objects: NewObject[],
): Promise<string | undefined> {
  const before = oid === undefined ? [] : [...rawEntries(oid, await requireObject(reader, oid, 'tree'))];
  const entries = new Map(before.map((entry) => [entry.name.toString('latin1'), entry]));
  for (const [segment, below] of byFirstSegment(changes)) {
    const name = Buffer.from(segment, 'utf8');
    const key = name.toString('latin1');
    const next = await editEntry(reader, { name, before: entries.get(key) }, below, objects);
    if (next) entries.set(key, next);
    else entries.delete(key);
  }
  if (entries.size === 0) return undefined;
  const tree = newObject('tree', encodeTree([...entries.values()]));
  return tree.oid === oid ? oid : keep(objects, tree);
}

async function editEntry(
  reader: ObjectReader,
  { name, before }: { name: Buffer; before: RawEntry | undefined },
  below: Below,
  objects: NewObject[],
): Promise<RawEntry | undefined> {
  const folder = before?.mode === FOLDER_MODE ? before : undefined;
  const file = before?.mode.startsWith('100') ? before : undefined;
  if (before && !folder && !file) throw notAFile(name);
  const { own, changes } = below;
  const left = changes.size > 0 ? await edit(reader, folder?.oid, changes, objects) : folder?.oid;
  if (own?.bytes !== undefined) {
    // The new file would replace a folder that is not empty.
    if (left !== undefined) throw notAFile(name);
    return fileEntry(name, own.bytes, file, objects);
  }
  // The path needs a folder where a file stays, or a file is removed where there is a folder.
  if (own ? folder && changes.size === 0 : file) throw notAFile(name);
  return left !== undefined ? { mode: FOLDER_MODE, name, oid: left } : undefined;
}

function fileEntry(
  name: Buffer,
  bytes: Uint8Array,
  before: RawEntry | undefined,
  objects: NewObject[],
): RawEntry {
  const blob = newObject('blob', bytes);
  if (blob.oid !== before?.oid) keep(objects, blob);
  return { mode: before?.mode ?? FILE_MODE, name, oid: blob.oid };
}

/** What changes under one name: the file of that name, files of the folder of that name, or both where one becomes the other. */
interface Below {
  own?: { readonly bytes: Uint8Array | undefined };
  readonly changes: Map<string, Uint8Array | undefined>;
}

function byFirstSegment(changes: FileChanges): Map<string, Below> {
  const found = new Map<string, Below>();
  for (const [path, bytes] of changes) {
    const slash = path.indexOf('/');
    const segment = slash < 0 ? path : path.slice(0, slash);
    const below: Below = found.get(segment) ?? { changes: new Map() };
    if (slash < 0) below.own = { bytes };
    else below.changes.set(path.slice(slash + 1), bytes);
    found.set(segment, below);
  }
  return found;
}

function encodeTree(entries: readonly RawEntry[]): Buffer {
  const sorted = [...entries].sort((left, right) => Buffer.compare(sortKey(left), sortKey(right)));
  return Buffer.concat(
    sorted.flatMap(({ mode, name, oid }) => [
      Buffer.from(`${mode} `, 'latin1'),
      name,
      Buffer.from([0]),
      Buffer.from(oid, 'hex'),
    ]),
  );
}

/** Git sorts a folder as if its name ended in a slash. */
function sortKey({ mode, name }: RawEntry): Buffer {
  return mode === FOLDER_MODE ? Buffer.concat([name, Buffer.from('/')]) : name;
}

function keep(objects: NewObject[], object: NewObject): string {
  objects.push(object);
  return object.oid;
}

function notAFile(name: Buffer): GitError {
  const shown = JSON.stringify(name.toString('utf8').slice(0, 80));
  return new GitError('Refused', `${shown} is not a regular file or folder in Git and is not written`);
}

/** More changed paths than this are a move of the whole repository, not a release of one workload. */
const MAX_PATHS = 5_000;
/** A few bytes of nested folders can expand to many, and without a file in them the limit of paths has no effect. */
const MAX_FOLDERS = 50_000;

/** Paths of files whose content, kind or mode differs between two root trees. Throws GitError TooLarge above 5,000, or 50,000 folders, and Corrupt. */
export async function changedPaths(
  { reader, pause }: Pick<Session, 'reader' | 'pause'>,
  left: string,
  right: string,
): Promise<string[]> {
  const walk = { reader, pause, found: [], folders: 0 };
  await compare(walk, { left, right, folder: '' });
  return walk.found.sort();
}

interface Walk extends Pick<Session, 'reader' | 'pause'> {
  readonly found: string[];
  folders: number;
}

interface Pair {
  readonly left: string | undefined;
  readonly right: string | undefined;
  readonly folder: string;
}

async function compare(walk: Walk, { left, right, folder }: Pair): Promise<void> {
  const { reader, pause, found } = walk;
  await pause();
  walk.folders += 1;
  if (walk.folders > MAX_FOLDERS)
    throw new GitError('TooLarge', `more than ${MAX_FOLDERS} folders changed between the two commits`);
  const [before, after] = await Promise.all([entriesOf(reader, left), entriesOf(reader, right)]);
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    const [old, now] = [before.get(name), after.get(name)];
    if (old?.oid === now?.oid && old?.mode === now?.mode) continue;
    const path = folder ? `${folder}/${name}` : name;
    const folders = [old, now].map((entry) =>
      entry && entryKind(entry) === 'folder' ? entry.oid : undefined,
    );
    if (folders.some((oid) => oid !== undefined))
      await compare(walk, { left: folders[0], right: folders[1], folder: path });
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
