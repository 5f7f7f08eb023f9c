import { createHash } from 'node:crypto';
import { type FileHandle, open, readFile, stat } from 'node:fs/promises';
import {
  applyDelta,
  type EntryHeader,
  inflateEntry,
  MAX_HEADER_BYTES,
  packTypeOf,
  readEntryHeader,
} from './pack-format.ts';
import { type PackIndex, parsePackIndex } from './pack-index.ts';

/** An object as it is, without deltas. */
export interface StoredObject {
  readonly type: string;
  readonly bytes: Buffer;
}

/** One pack on disk; only the requested parts are read. */
export interface PackFile {
  readonly index: PackIndex;
  /** Undefined when it is not in this pack. Throws RangeError for a damaged pack, and the system's errors. */
  read(oid: string): Promise<StoredObject | undefined>;
  /** `length` bytes from `offset`, fewer at the end of the file. */
  readBytes(offset: number, length: number): Promise<Buffer>;
  /** Bytes of the file. */
  size(): Promise<number>;
  /** For good: a read that comes later throws RangeError. */
  close(): Promise<void>;
}

/** A cache of objects that many deltas are based on; bounded, since large files pass through it. */
interface BaseCache {
  get(key: string): StoredObject | undefined;
  set(key: string, object: StoredObject): void;
}

/** An entry whose content is not inflated yet: of a long chain of deltas, one is inflated at a time. */
interface Entry {
  readonly offset: number;
  readonly header: EntryHeader;
  /** Its first bytes; for most, all. */
  readonly first: Buffer;
}

/** An object that is whole, and the deltas that make another of it, the last one first. */
interface Chain {
  readonly base: StoredObject;
  readonly deltas: readonly Entry[];
}

const CACHED_BYTES = 16 * 1_048_576;
/** Most objects need no second read. */
const FIRST_READ_BYTES = 4_096;
/** Git makes chains of 50; longer ones than this are refused. */
const MAX_CHAIN = 4_096;

/** Holds the newest 16 MiB. */
export function createBaseCache(): BaseCache {
  const objects = new Map<string, StoredObject>();
  let bytes = 0;
  return {
    get: (key) => objects.get(key),
    set(key, object) {
      if (objects.has(key) || object.bytes.length > CACHED_BYTES / 4) return;
      objects.set(key, object);
      bytes += object.bytes.length;
      for (const [oldest, { bytes: old }] of objects) {
        if (bytes <= CACHED_BYTES) return;
        objects.delete(oldest);
        bytes -= old.length;
      }
    },
  };
}

/** Opens a pack by its path without the ending; `bases` may serve several packs. Reads the index, and nothing of the pack yet. */
export async function openPack(path: string, bases: BaseCache): Promise<PackFile> {
  const index = parsePackIndex(await readFile(`${path}.idx`));
  let handle: Promise<FileHandle> | undefined;

  let isClosed = false;

  async function readBytes(offset: number, length: number): Promise<Buffer> {
    // What still reads after the operation failed elsewhere would open the file again, and nobody would close it.
    if (isClosed) throw new RangeError(`${path}.pack is closed`);
    handle ??= open(`${path}.pack`, 'r');
    const buffer = Buffer.allocUnsafe(length);
    const { bytesRead } = await (await handle).read(buffer, 0, length, offset);
    return buffer.subarray(0, bytesRead);
  }

  async function entryAt(offset: number): Promise<Entry> {
    const first = await readBytes(offset, FIRST_READ_BYTES);
    return { offset, first, header: readEntryHeader(first, offset) };
  }

  async function contentOf({ offset, header, first }: Entry): Promise<Buffer> {
    // Deflate never makes more of what it cannot shrink than a few bytes for each block.
    const most = header.dataAt + header.size + Math.ceil(header.size / 1_000) + MAX_HEADER_BYTES;
    const bytes = most <= first.length ? first : await readBytes(offset, most);
    return inflateEntry(bytes.subarray(header.dataAt), header.size).content;
  }

  /** From the entry down to an object that is whole, or in the cache. */
  async function chainFrom(start: number): Promise<Chain> {
    const deltas: Entry[] = [];
    for (let offset = start; deltas.length < MAX_CHAIN; ) {
      const known = bases.get(`${path} ${offset}`);
      if (known) return { base: known, deltas };
      const entry = await entryAt(offset);
      if (entry.header.base === undefined) {
        const base = whole(entry.header.type, await contentOf(entry));
        if (deltas.length > 0) bases.set(`${path} ${offset}`, base);
        return { base, deltas };
      }
      deltas.push(entry);
      offset = offsetOfBase(index, entry.header.base);
    }
    throw new RangeError('a chain of deltas is too long');
  }

  async function readAt(start: number): Promise<StoredObject> {
    const { base, deltas } = await chainFrom(start);
    let object = base;
    for (const entry of [...deltas].reverse()) {
      object = { type: object.type, bytes: applyDelta(object.bytes, await contentOf(entry)) };
      bases.set(`${path} ${entry.offset}`, object);
    }
    return object;
  }

  return {
    index,
    readBytes,
    size: async () => (await stat(`${path}.pack`)).size,
    async read(oid) {
      const offset = index.offsetOf(oid);
      if (offset === undefined) return undefined;
      const object = await readAt(offset);
      if (objectId(object) !== oid) throw new RangeError(`object ${oid} is damaged`);
      return object;
    },
    async close() {
      isClosed = true;
      const opened = await handle?.catch(() => undefined);
      handle = undefined;
      await opened?.close();
    },
  };
}

/** The id of an object: the SHA-1 over type, length and content. */
export function objectId({ type, bytes }: { type: string; bytes: Uint8Array }): string {
  return createHash('sha1').update(`${type} ${bytes.length}\0`).update(bytes).digest('hex');
}

function offsetOfBase(index: PackIndex, base: number | string): number {
  const offset = typeof base === 'number' ? base : index.offsetOf(base);
  if (offset === undefined) throw new RangeError('a delta has its base outside the pack');
  return offset;
}

function whole(type: number, bytes: Buffer): StoredObject {
  const name = packTypeOf(type);
  if (name === undefined) throw new RangeError('an object has an unknown type');
  return { type: name, bytes };
}
