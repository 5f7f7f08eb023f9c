import { limits } from '../../api/limits.ts';
import type { CommitEntry, GitFile, TreeLimits } from '../../contracts/git.ts';
import { GitError } from '../errors.ts';
import type { FileProblem, GitSource, ManifestFiles } from '../types.ts';
import { type ObjectReader, requireObject } from './objects.ts';
import {
  decodeUtf8,
  entryKind,
  findFolder,
  isUnsafeName,
  pathSegments,
  readTree,
  type TreeEntry,
} from './tree.ts';

/** Limits that apply unless a caller sets others. */
const DEFAULT_TREE_LIMITS: TreeLimits = {
  maxEntries: 50_000,
  maxFiles: 10_000,
  maxDepth: 64,
  maxFileBytes: limits.fileBytes,
  maxTotalBytes: 64 * 1_048_576,
};

/** What one walk needs. */
interface Walk {
  readonly reader: ObjectReader;
  readonly limits: TreeLimits;
  readonly pause: () => Promise<void>;
  readonly alsoRead: (path: string) => boolean;
  /** Files need not be UTF-8. */
  readonly anyBytes: boolean;
}

interface Found {
  readonly path: string;
  readonly oid: string;
}

interface Listing {
  readonly found: Found[];
  readonly problems: FileProblem[];
  entries: number;
}

/** Longer names are refused; messages show this many characters of them. */
const MAX_SHOWN = 255;

/** Runs work on the root tree of a commit. */
type AtTree = <T>(
  commit: string,
  signal: AbortSignal | undefined,
  work: (at: Pick<Walk, 'reader' | 'pause'>, tree: string) => Promise<T>,
) => Promise<T>;

/** The methods that read files of a commit. */
export function createFileReading(atTree: AtTree): Pick<GitSource, 'treeOidAt' | 'readFiles' | 'entriesAt'> {
  return {
    treeOidAt: (commit, path, signal) =>
      atTree(commit, signal, ({ reader }, tree) => findFolder(reader, tree, path)),
    readFiles: (commit, path, { limits, signal, alsoRead = () => false, anyBytes = false } = {}) =>
      atTree(commit, signal, (at, tree) => {
        const walk = { ...at, alsoRead, anyBytes, limits: { ...DEFAULT_TREE_LIMITS, ...limits } };
        return readFilesBelow(walk, tree, path);
      }),
    entriesAt: (commit, paths, { signal, maxFileBytes }) =>
      atTree(commit, signal, (at, tree) => entriesBelow({ ...at, maxFileBytes }, tree, paths)),
  };
}

/**
 * Reads the manifests below `path` of a root tree. A bad entry becomes a problem of its path; only a tree beyond
 * the limits fails as a whole (GitError TooLarge), since half a tree must never be taken for all of it.
 */
async function readFilesBelow(walk: Walk, rootOid: string, path: string): Promise<ManifestFiles> {
  const treeOid = await findFolder(walk.reader, rootOid, path);
  const listing: Listing = { found: [], problems: [], entries: 0 };
  await listFolder(walk, listing, { path: pathSegments(path).join('/'), oid: treeOid }, 0);
  const files = await readBlobs(walk, listing);
  return { files: sorted(files), problems: sorted(listing.problems) };
}

async function listFolder(walk: Walk, listing: Listing, folder: Found, depth: number): Promise<void> {
  const { limits } = walk;
  if (depth > limits.maxDepth)
    throw tooMuch(`folders nested deeper than ${limits.maxDepth} at ${folder.path}`);
  await walk.pause();
  for (const entry of await readTree(walk.reader, folder.oid)) {
    listing.entries += 1;
    if (listing.entries > limits.maxEntries)
      throw tooMuch(`more than ${limits.maxEntries} entries below the path`);
    const path = childPath(folder.path, entry);
    const problem = entryProblem(walk, entry, path);
    if (problem) listing.problems.push(problem);
    else if (entryKind(entry) === 'folder')
      await listFolder(walk, listing, { path, oid: entry.oid }, depth + 1);
    else if (entryKind(entry) === 'file' && isWanted(walk, path))
      listing.found.push({ path, oid: entry.oid });
    if (listing.found.length > limits.maxFiles)
      throw tooMuch(`more than ${limits.maxFiles} manifests below the path`);
  }
}

function childPath(folder: string, { name }: TreeEntry): string {
  const shown = name?.slice(0, MAX_SHOWN) ?? '(name that is not UTF-8)';
  return folder ? `${folder}/${shown}` : shown;
}

/** Links and submodules matter where a manifest or a folder of manifests might have been meant. */
function entryProblem(walk: Walk, entry: TreeEntry, path: string): FileProblem | undefined {
  const kind = entryKind(entry);
  if (entry.name === undefined || isUnsafeName(entry.name)) {
    return problem(path, 'UnsafeName', 'the name is not safe on every file system; rename it');
  }
  if (kind === 'submodule') {
    return problem(
      path,
      'Submodule',
      'submodules are not read; copy the manifests or create a Source for the submodule',
    );
  }
  if (kind === 'symlink' && (isWanted(walk, path) || !entry.name.includes('.'))) {
    return problem(path, 'Symlink', 'symbolic links are not followed; replace it with the file it points to');
  }
  return undefined;
}

function isWanted(walk: Walk, path: string): boolean {
  return /\.(ya?ml|json)$/i.test(path) || walk.alsoRead(path);
}

/** The content of a blob, or why it is refused. A blob may have many paths, and is read once. */
type Content = { readonly bytes: Uint8Array; readonly wrong?: never } | { readonly wrong: ContentProblem };
type ContentProblem = readonly [reason: FileProblem['reason'], message: string];

async function readBlobs(walk: Walk, listing: Listing): Promise<GitFile[]> {
  const { limits, pause, reader } = walk;
  const files: GitFile[] = [];
  const known = new Map<string, Content>();
  let total = 0;
  for (const { path, oid } of listing.found) {
    await pause();
    const content = known.get(oid) ?? contentOf(walk, await requireObject(reader, oid, 'blob'));
    known.set(oid, content);
    if (content.wrong) {
      listing.problems.push(problem(path, ...content.wrong));
      continue;
    }
    total += content.bytes.length;
    if (total > limits.maxTotalBytes)
      throw tooMuch(`more than ${limits.maxTotalBytes} bytes of manifests below the path`);
    files.push({ path, oid, bytes: content.bytes });
  }
  return files;
}

function contentOf({ limits, anyBytes }: Walk, bytes: Uint8Array): Content {
  if (bytes.length > limits.maxFileBytes) {
    const size = `${bytes.length} bytes are more than the limit of ${limits.maxFileBytes}`;
    return { wrong: ['TooLarge', `${size}; split the file or move it out of the Source's path`] };
  }
  if (isLfsPointer(bytes)) return { wrong: ['LfsPointer', lfsPointer] };
  if (!anyBytes && decodeUtf8(bytes) === undefined)
    return { wrong: ['NotUtf8', 'the file is not UTF-8; save it as UTF-8'] };
  return { bytes: withoutPool(bytes) };
}

/** In memory of its own: what was inflated is a slice of 64 KiB, all of which would stay with a manifest that is kept. */
function withoutPool(bytes: Uint8Array): Uint8Array {
  return Buffer.from(new Uint8Array(bytes).buffer);
}

function problem(path: string, reason: FileProblem['reason'], what: string): FileProblem {
  return { path, reason, message: `${path}: ${what}` };
}

function tooMuch(what: string): GitError {
  return new GitError(
    'TooLarge',
    `spec.path holds ${what}; choose a smaller path, or divide it between several Sources`,
  );
}

function sorted<T extends { readonly path: string }>(items: readonly T[]): T[] {
  return [...items].sort((left, right) => (left.path < right.path ? -1 : left.path > right.path ? 1 : 0));
}

/** What one look-up of many paths needs. */
interface EntryLookup {
  readonly reader: ObjectReader;
  readonly pause: () => Promise<void>;
  /** A larger file is refused. */
  readonly maxFileBytes: number;
}

/**
 * What a root tree holds at these paths (with `/`; the root itself is the empty path). A path that is not there, or that leads through a
 * file, has no entry; one that leads through a link or a submodule is refused. Each tree and each file is read once. Throws GitError Corrupt.
 */
async function entriesBelow(
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
  const files = new Map<string, CommitEntry>();
  const file = async (oid: string): Promise<CommitEntry> => {
    const entry = files.get(oid) ?? (await fileAt(lookup, oid));
    files.set(oid, entry);
    return entry;
  };
  const found = new Map<string, CommitEntry>();
  for (const path of paths) {
    await lookup.pause();
    const entry = await entryAt({ list, file }, root, path);
    if (entry) found.set(path, entry);
  }
  return found;
}

async function entryAt(
  {
    list,
    file,
  }: {
    list: (oid: string) => Promise<readonly TreeEntry[]>;
    file: (oid: string) => Promise<CommitEntry>;
  },
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
  if (at.kind === 'file') return file(at.oid);
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
  if (bytes.length <= maxFileBytes) return { kind: 'file', oid, bytes: withoutPool(bytes) };
  return refused(`has ${bytes.length} bytes; at most ${maxFileBytes} are read`);
}

function refused(message: string): CommitEntry {
  return { kind: 'refused', message };
}

/** Longest pointer that Git LFS itself takes for one. */
const MAX_POINTER_BYTES = 1024;
const POINTER = /^version https:\/\/(git-lfs|hawser)\.github\.com\/spec\//;

/** The message about a pointer, after its path. */
const lfsPointer =
  'is a Git LFS pointer, and its content is not in the repository; store the file in Git itself';

/** Whether a file is a Git LFS pointer, whose own text is no manifest. */
function isLfsPointer(bytes: Uint8Array): boolean {
  if (bytes.length > MAX_POINTER_BYTES) return false;
  return POINTER.test(Buffer.from(bytes).toString('latin1'));
}
