import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import type { PackFile } from './pack-file.ts';
import {
  type EntryHeader,
  entryHeader,
  MAX_HEADER_BYTES,
  packHeader,
  REF_DELTA,
  readEntryHeader,
} from './pack-format.ts';
import { createPackIndex, packEntries } from './pack-index.ts';

/** The checksum at the end of a pack. */
const TRAILER_BYTES = 20;
/** Bytes of one read ahead: objects are copied in the order of the pack. */
const WINDOW_BYTES = 1_048_576;

/** A pack that is read from front to back. */
interface OldPack {
  readonly pack: PackFile;
  readonly layout: Layout;
  readonly readBytes: PackFile['readBytes'];
}

interface Place {
  readonly from: OldPack;
  readonly offset: number;
}

/**
 * Writes these objects, and what their deltas start from, as one pack below `path` (without an ending). They are
 * copied as they are compressed; a delta whose base was named by its place names it by id. An object is taken from the first pack that holds it, so
 * that no two deltas ever start from each other. Throws RangeError for an object that is nowhere, or a damaged pack.
 */
export async function copyObjects(
  packs: readonly PackFile[],
  wanted: ReadonlySet<string>,
  path: string,
  pause: () => Promise<void>,
): Promise<void> {
  const old = packs.map((pack) => ({ pack, layout: layoutOf(pack), readBytes: readAhead(pack) }));
  const all = new Set(inPlaceOrder(old, wanted));
  // A set that grows while it is walked: bases, and theirs.
  for (const oid of all) {
    const { from, offset } = placeOf(old, oid);
    const header = readEntryHeader(await from.readBytes(offset, MAX_HEADER_BYTES), offset);
    const base = baseOf(from, header);
    if (base !== undefined) all.add(base);
    await pause();
  }
  await writePack(path, all.size, entriesOf(old, inPlaceOrder(old, all), pause));
}

/** Ids by offset, and where each entry ends. */
interface Layout {
  readonly oids: ReadonlyMap<number, string>;
  readonly ends: ReadonlyMap<number, number>;
}

function layoutOf({ index }: PackFile): Layout {
  const oids = new Map<number, string>();
  for (const [oid, offset] of index.entries()) oids.set(offset, oid);
  const offsets = [...oids.keys()].sort((left, right) => left - right);
  const ends = new Map(offsets.map((offset, position) => [offset, offsets[position + 1] ?? 0] as const));
  return { oids, ends };
}

function readAhead(pack: PackFile): PackFile['readBytes'] {
  let start = 0;
  let bytes: Buffer = Buffer.alloc(0);
  return async (offset, length) => {
    if (offset < start || offset + length > start + bytes.length) {
      bytes = await pack.readBytes(offset, Math.max(length, WINDOW_BYTES));
      start = offset;
    }
    return bytes.subarray(offset - start, offset - start + length);
  };
}

function placeOf(packs: readonly OldPack[], oid: string): Place {
  for (const from of packs) {
    const offset = from.pack.index.offsetOf(oid);
    if (offset !== undefined) return { from, offset };
  }
  throw new RangeError(`object ${oid} is missing`);
}

function inPlaceOrder(packs: readonly OldPack[], oids: ReadonlySet<string>): string[] {
  const placed = [...oids].map((oid) => ({ oid, ...placeOf(packs, oid) }));
  const position = new Map(packs.map((pack, index) => [pack, index] as const));
  const rank = ({ from }: Place) => position.get(from) ?? 0;
  placed.sort((left, right) => rank(left) - rank(right) || left.offset - right.offset);
  return placed.map(({ oid }) => oid);
}

function baseOf({ layout }: OldPack, { base }: EntryHeader): string | undefined {
  if (typeof base !== 'number') return base;
  const oid = layout.oids.get(base);
  if (oid === undefined) throw new RangeError('a delta has its base outside the pack');
  return oid;
}

async function* entriesOf(
  packs: readonly OldPack[],
  oids: readonly string[],
  pause: () => Promise<void>,
): AsyncGenerator<PackEntry> {
  for (const oid of oids) {
    const { from, offset } = placeOf(packs, oid);
    const end = from.layout.ends.get(offset) || (await from.pack.size()) - TRAILER_BYTES;
    const raw = await from.readBytes(offset, end - offset);
    const old = readEntryHeader(raw, offset);
    const base = baseOf(from, old);
    const header = entryHeader(base === undefined ? old.type : REF_DELTA, old.size, base);
    yield { oid, bytes: Buffer.concat([header, raw.subarray(old.dataAt)]) };
    await pause();
  }
}

/** One object as it goes into a pack: header and compressed bytes. */
interface PackEntry {
  readonly oid: string;
  readonly bytes: Buffer;
}

/** Small objects share a write. */
const GATHERED_BYTES = 1_048_576;

/**
 * Writes a pack and its index of version 2 below `path` (without an ending), and makes sure that both have reached the disk. `count` is how
 * many entries come. Throws RangeError when another number came or the pack is beyond 2 GiB, and the system's errors.
 */
async function writePack(path: string, count: number, entries: AsyncIterable<PackEntry>): Promise<void> {
  const handle = await open(`${path}.pack`, 'w');
  try {
    const hash = createHash('sha1');
    let offset = 0;
    let waiting: Buffer[] = [];
    let waitingBytes = 0;
    const flush = async (): Promise<void> => {
      await handle.writeFile(Buffer.concat(waiting));
      waiting = [];
      waitingBytes = 0;
    };
    const append = async (bytes: Buffer): Promise<void> => {
      hash.update(bytes);
      waiting.push(bytes);
      waitingBytes += bytes.length;
      offset += bytes.length;
      if (waitingBytes >= GATHERED_BYTES) await flush();
    };
    await append(packHeader(count));
    const written = packEntries(count);
    let position = 0;
    for await (const { oid, bytes } of entries) {
      written.oids.write(oid, position * 20, 'hex');
      written.offsets[position] = offset;
      written.checksums[position] = crc32(bytes);
      position += 1;
      await append(bytes);
    }
    if (position !== count || offset >= 0x80000000) throw new RangeError('the pack cannot be written');
    const sum = hash.digest();
    waiting.push(sum);
    await flush();
    await handle.sync();
    const index = createPackIndex(written, sum);
    if (!index) throw new RangeError('the pack cannot be written');
    await writeSynced(`${path}.idx`, index);
  } finally {
    await handle.close();
  }
}

async function writeSynced(path: string, bytes: Buffer): Promise<void> {
  const handle = await open(path, 'w');
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
