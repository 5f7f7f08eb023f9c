import { createHash } from 'node:crypto';
import fs, { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { deflateSync, inflateSync } from 'node:zlib';
import * as git from 'isomorphic-git';

/** An object of Git as it is stored. */
export interface GitObject {
  readonly type: 'commit' | 'tree' | 'blob' | 'tag';
  readonly content: Buffer;
}

/** Reads an object by its id; rejects when the repository does not hold it. */
export type ReadObject = (oid: string) => Promise<GitObject>;

/** Reads for one operation: the library keeps the packs that it opened, and git may replace them afterwards. */
export function createObjectReader(repository: string): ReadObject {
  const cache = {};
  return async (oid) => {
    const loose = readLoose(repository, oid);
    if (loose) return loose;
    const found = await git.readObject({ fs, gitdir: repository, oid, format: 'content', cache });
    return { type: found.type as GitObject['type'], content: Buffer.from(found.object as Uint8Array) };
  };
}

function readLoose(repository: string, oid: string): GitObject | undefined {
  const file = fileOf(repository, oid);
  if (!existsSync(file)) return undefined;
  const bytes = inflateSync(readFileSync(file));
  const type = bytes.toString('latin1', 0, bytes.indexOf(' ')) as GitObject['type'];
  return { type, content: bytes.subarray(bytes.indexOf(0) + 1) };
}

/** Stores an object; returns its id. */
export function writeObject(repository: string, { type, content }: GitObject): string {
  const bytes = Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content]);
  const oid = createHash('sha1').update(bytes).digest('hex');
  const file = fileOf(repository, oid);
  if (existsSync(file)) return oid;
  mkdirSync(dirname(file), { recursive: true });
  // In its place at once: nobody asks for it before a ref leads to it.
  writeFileSync(file, deflateSync(bytes, { level: 1 }));
  return oid;
}

function fileOf(repository: string, oid: string): string {
  return join(repository, 'objects', oid.slice(0, 2), oid.slice(2));
}

/** What the server follows of a commit. */
export interface Commit {
  readonly tree: string;
  readonly parents: readonly string[];
  readonly message: string;
}

/** Rejects when the id is not that of a commit. */
export async function readCommit(read: ReadObject, oid: string): Promise<Commit> {
  const { type, content } = await read(oid);
  if (type !== 'commit') throw new Error(`${oid} is a ${type}, not a commit`);
  const text = content.toString();
  const end = text.indexOf('\n\n');
  const values = (name: string) =>
    text
      .slice(0, end)
      .split('\n')
      .flatMap((line) => (line.startsWith(`${name} `) ? [line.slice(name.length + 1)] : []));
  return { tree: values('tree')[0] ?? '', parents: values('parent'), message: text.slice(end + 2) };
}

/** What a tag names in the end, and the tag objects on the way there. */
export async function peel(
  read: ReadObject,
  oid: string,
): Promise<{ readonly oid: string; readonly tags: ReadonlyMap<string, GitObject> }> {
  const tags = new Map<string, GitObject>();
  let id = oid;
  for (let object = await read(id); object.type === 'tag'; object = await read(id)) {
    tags.set(id, object);
    id = /^object ([0-9a-f]{40})\n/.exec(object.content.toString('latin1'))?.[1] ?? '';
  }
  return { oid: id, tags };
}

/** Something in a folder. Names are the bytes of their UTF-8 as latin1, since Git holds them to be bytes. */
export interface TreeEntry {
  readonly name: string;
  readonly mode: string;
  readonly oid: string;
}

/** Mode of a folder. */
export const FOLDER = '40000';
/** Mode of a commit of another repository. */
export const SUBMODULE = '160000';

const ID_BYTES = 20;

/** What is directly in a folder. Throws when the object is none. */
export function entriesOf({ type, content }: GitObject): TreeEntry[] {
  if (type !== 'tree') throw new Error(`a ${type} is no folder`);
  const entries: TreeEntry[] = [];
  for (let start = 0; start < content.length; ) {
    const space = content.indexOf(' ', start);
    const end = content.indexOf(0, space);
    const mode = content.toString('latin1', start, space);
    start = end + 1 + ID_BYTES;
    entries.push({
      mode,
      name: content.toString('latin1', space + 1, end),
      oid: content.toString('hex', end + 1, start),
    });
  }
  return entries;
}

/** Stores a folder; returns its id. */
export function writeTree(repository: string, entries: readonly TreeEntry[]): string {
  // Git sorts a folder as if its name ended in a slash.
  const key = ({ name, mode }: TreeEntry) => (mode === FOLDER ? `${name}/` : name);
  const sorted = [...entries].sort((left, right) => (key(left) < key(right) ? -1 : 1));
  const content = Buffer.concat(
    sorted.flatMap(({ mode, name, oid }) => [
      Buffer.from(`${mode} ${name}\0`, 'latin1'),
      Buffer.from(oid, 'hex'),
    ]),
  );
  return writeObject(repository, { type: 'tree', content });
}
