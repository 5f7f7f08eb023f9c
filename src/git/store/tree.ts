import { GitError } from '../errors.ts';
import { type ObjectReader, requireObject } from './objects.ts';

/** One entry of a Git tree. `name` is undefined when its bytes are not UTF-8. */
export interface TreeEntry {
  readonly mode: string;
  readonly name: string | undefined;
  readonly oid: string;
}

const ENTRY_ID_BYTES = 20;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Entries of one folder; more would be a bomb in any walk. */
const MAX_ENTRIES = 100_000;

/**
 * Reads a tree's entries. The library's own parser refuses a whole tree for one bad name; here a bad name
 * concerns its own entry only. Throws GitError Corrupt, and TooLarge for more than 100,000 entries.
 */
export async function readTree(reader: ObjectReader, oid: string): Promise<TreeEntry[]> {
  const entries: TreeEntry[] = [];
  for (const entry of rawEntries(oid, await requireObject(reader, oid, 'tree'))) {
    if (entries.length === MAX_ENTRIES)
      throw new GitError('TooLarge', `the folder of tree ${oid} holds more than ${MAX_ENTRIES} entries`);
    entries.push({ mode: entry.mode.padStart(6, '0'), name: decodeUtf8(entry.name), oid: entry.oid });
  }
  return entries;
}

/** An entry as it is stored: mode and name are those of the tree byte for byte, so that an edit changes nothing else. */
export interface RawEntry {
  readonly mode: string;
  readonly name: Buffer;
  readonly oid: string;
}

/** The entries of a tree's content. Throws GitError Corrupt. */
export function* rawEntries(oid: string, content: Uint8Array): Generator<RawEntry> {
  const bytes = Buffer.from(content);
  for (let offset = 0; offset < bytes.length; ) {
    const space = bytes.indexOf(0x20, offset);
    const end = bytes.indexOf(0, space + 1);
    const next = end + 1 + ENTRY_ID_BYTES;
    if (space < 0 || end < 0 || next > bytes.length)
      throw new GitError('Corrupt', `tree ${oid} cannot be read`);
    yield {
      mode: bytes.toString('latin1', offset, space),
      name: bytes.subarray(space + 1, end),
      oid: bytes.toString('hex', end + 1, next),
    };
    offset = next;
  }
}

/** Text of UTF-8 bytes; undefined when they are not UTF-8 (Buffer.toString would silently replace them). */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** `folder`: 040000, `file`: 100644 and its relatives; a link or submodule is never followed. */
export function entryKind({ mode }: TreeEntry): 'folder' | 'file' | 'symlink' | 'submodule' | 'unknown' {
  if (mode === '040000') return 'folder';
  if (mode === '120000') return 'symlink';
  if (mode === '160000') return 'submodule';
  return mode.startsWith('100') ? 'file' : 'unknown';
}

/** As every usual file system has it. */
const MAX_NAME_BYTES = 255;

/**
 * Whether a name could lead out of its folder or into `.git` on some file system. Nothing is ever checked out, but
 * such a name has no legitimate use.
 */
export function isUnsafeName(name: string): boolean {
  // First: the patterns below are slow on long names.
  if (name.length > MAX_NAME_BYTES || Buffer.byteLength(name) > MAX_NAME_BYTES) return true;
  // HFS+ ignores these code points, NTFS trailing dots, spaces and streams.
  const plain = name
    .replace(/[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g, '')
    .replace(/(:.*|[. ]+)$/, '');
  return plain === '' || /[/\\\p{Cc}]/u.test(name) || /^(\.git|git~\d+)$/i.test(plain);
}

/**
 * The segments of a Source's path: `./a/b/`, `a/b` and `/a/b` are the same; the root has none.
 * Throws GitError Refused for `..`.
 */
export function pathSegments(path: string): string[] {
  const segments = path.split('/').filter((segment) => segment !== '' && segment !== '.');
  const bad = segments.find(isUnsafeName);
  if (bad !== undefined)
    throw new GitError('Refused', `spec.path must stay inside the repository: ${JSON.stringify(path)}`);
  return segments;
}

/** Object id of the folder at `path`, starting from the root tree. Throws GitError PathNotFound. */
export async function findFolder(reader: ObjectReader, rootOid: string, path: string): Promise<string> {
  let oid = rootOid;
  const walked: string[] = [];
  for (const segment of pathSegments(path)) {
    walked.push(segment);
    const entry = (await readTree(reader, oid)).find(({ name }) => name === segment);
    const kind = entry && entryKind(entry);
    if (!entry || kind !== 'folder') {
      const what = kind ? `is a ${kind}, not a folder` : 'does not exist';
      throw new GitError('PathNotFound', `spec.path: ${walked.join('/')} ${what} at this commit`);
    }
    oid = entry.oid;
  }
  return oid;
}
