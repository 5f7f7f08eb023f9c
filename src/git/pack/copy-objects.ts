import { entryHeader, MAX_HEADER_BYTES, REF_DELTA, readEntryHeader } from './entry.ts';
import type { PackFile } from './pack-file.ts';
import { type PackEntry, writePack } from './write-pack.ts';

/** The checksum at the end of a pack. */
const TRAILER_BYTES = 20;

interface Place {
  readonly pack: PackFile;
  readonly offset: number;
}

/**
 * Writes these objects, and what their deltas start from, as one pack below `path` (without an ending), and gives how many they are. They are
 * copied as they are compressed; a delta whose base was named by its place names it by id. An object is taken from the first pack that holds it, so
 * that no two deltas ever start from each other. Throws RangeError for an object that is nowhere, or a damaged pack.
 */
export async function copyObjects(
  packs: readonly PackFile[],
  wanted: ReadonlySet<string>,
  path: string,
  pause: () => Promise<void>,
): Promise<number> {
  const layouts = new Map(packs.map((pack) => [pack, layoutOf(pack)] as const));
  const all = new Set(wanted);
  // A set that grows while it is walked: bases, and theirs.
  for (const oid of all) {
    const base = await baseOf(placeOf(packs, oid), layouts);
    if (base !== undefined) all.add(base);
    if (all.size % 500 === 0) await pause();
  }
  await writePack(path, all.size, entriesOf(packs, all, layouts, pause));
  return all.size;
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

function placeOf(packs: readonly PackFile[], oid: string): Place {
  for (const pack of packs) {
    const offset = pack.index.offsetOf(oid);
    if (offset !== undefined) return { pack, offset };
  }
  throw new RangeError(`object ${oid} is missing`);
}

type Layouts = ReadonlyMap<PackFile, Layout>;

async function baseOf({ pack, offset }: Place, layouts: Layouts): Promise<string | undefined> {
  const { base } = readEntryHeader(await pack.readBytes(offset, MAX_HEADER_BYTES), offset);
  if (typeof base !== 'number') return base;
  const oid = layouts.get(pack)?.oids.get(base);
  if (oid === undefined) throw new RangeError('a delta has its base outside the pack');
  return oid;
}

async function* entriesOf(
  packs: readonly PackFile[],
  oids: ReadonlySet<string>,
  layouts: Layouts,
  pause: () => Promise<void>,
): AsyncGenerator<PackEntry> {
  let done = 0;
  for (const oid of oids) {
    const place = placeOf(packs, oid);
    const { pack, offset } = place;
    const end = layouts.get(pack)?.ends.get(offset) || (await pack.size()) - TRAILER_BYTES;
    const raw = await pack.readBytes(offset, end - offset);
    const { type, size, dataAt } = readEntryHeader(raw, offset);
    const base = await baseOf(place, layouts);
    const header = entryHeader(base === undefined ? type : REF_DELTA, size, base);
    yield { oid, bytes: Buffer.concat([header, raw.subarray(dataAt)]) };
    done += 1;
    if (done % 200 === 0) await pause();
  }
}
