import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { limits as defaults } from '../../../api/limits.ts';
import { GitError } from '../../errors.ts';
import { createDeltaBases, type DeltaBases } from './delta-bases.ts';
import { applyDelta, deltaSizes, inflateEntry, packTypeOf, readEntryHeader } from './pack-format.ts';
import { createPackIndex, type PackEntries, packEntries } from './pack-index.ts';

/** What a pack may hold. */
export interface PackLimits {
  /** Objects in one pack. */
  readonly maxObjects: number;
  /** Bytes of one object after inflation, and of what a delta says it makes. */
  readonly maxObjectBytes: number;
  /** The longest chain of deltas. */
  readonly maxChainDeltas: number;
  /** Bytes of all objects and deltas together, and of what the deltas make. */
  readonly maxMadeBytes: number;
  /** Limit of the bytes of objects that are held because other deltas are based on them. */
  readonly maxHeldBytes: number;
}

/** Bounds that hold unless the operator sets others. */
export const DEFAULT_PACK_LIMITS: PackLimits = {
  maxObjects: defaults.packObjects,
  maxObjectBytes: defaults.packObjectBytes,
  maxChainDeltas: defaults.packChainDeltas,
  maxMadeBytes: defaults.packMadeBytes,
  maxHeldBytes: defaults.packHeldBytes,
};

const HEADER_BYTES = 12;
const TRAILER_BYTES = 20;
/** A header of one byte and an empty stream. */
const SMALLEST_ENTRY_BYTES = 9;

/**
 * Makes the index of a pack. Every size is checked before anything is inflated or applied, and an object is released as soon as no delta starts
 * from it any more, so that a small pack that makes large objects costs neither memory nor much time.
 * Throws GitError Unreachable for a cut or damaged pack, also one whose deltas start outside it, and TooLarge for one beyond the limits.
 * `pause` is awaited now and then: it lets other work run, and may throw to stop.
 */
export async function indexPack(
  pack: Buffer,
  limits: PackLimits,
  pause: () => Promise<void>,
): Promise<{ readonly count: number; readonly index: Buffer }> {
  const count = readHeader(pack, limits);
  const work: Work = {
    pack: pack.subarray(0, pack.length - TRAILER_BYTES),
    limits,
    pause,
    entries: packEntries(count),
    bases: createDeltaBases(count),
    applied: new Uint8Array(count),
    resolved: 0,
  };
  const roots = await readEntries(work);
  try {
    for (const root of roots) await resolveFrom(work, root);
  } catch (error) {
    throw error instanceof RangeError ? damaged(error.message) : error;
  }
  if (work.resolved !== count) throw damaged('an object cannot be rebuilt');
  const index = createPackIndex(work.entries, pack.subarray(-TRAILER_BYTES));
  if (!index) throw damaged('it holds an object twice');
  return { count, index };
}

function readHeader(pack: Buffer, limits: PackLimits): number {
  if (pack.length < HEADER_BYTES + TRAILER_BYTES) throw damaged('it ends too early');
  if (pack.toString('latin1', 0, 4) !== 'PACK' || pack.readUInt32BE(4) !== 2)
    throw damaged('it is not a version 2 pack');
  const sum = createHash('sha1').update(pack.subarray(0, -TRAILER_BYTES)).digest();
  if (!sum.equals(pack.subarray(-TRAILER_BYTES))) throw damaged('its checksum is wrong');
  const count = pack.readUInt32BE(8);
  if (count > limits.maxObjects) throw tooLarge(`${count} objects; the limit is ${limits.maxObjects}`);
  if (count * SMALLEST_ENTRY_BYTES > pack.length)
    throw damaged('it holds fewer objects than its header says');
  return count;
}

interface Work {
  /** Without its checksum. */
  readonly pack: Buffer;
  readonly limits: PackLimits;
  readonly pause: () => Promise<void>;
  readonly entries: PackEntries;
  readonly bases: DeltaBases;
  /** 1 for each delta that is applied: the deltas of a duplicate object are applied once. */
  readonly applied: Uint8Array;
  /** Objects whose id is known. */
  resolved: number;
}

/** Reads all entries once, and gives the ids of whole objects. Gives their positions. */
async function readEntries(work: Work): Promise<Uint32Array> {
  const { pack, limits, pause, entries } = work;
  const roots = new Uint32Array(entries.count);
  let made = 0;
  let offset = HEADER_BYTES;
  for (let position = 0; position < entries.count; position += 1) {
    await pause();
    if (offset >= pack.length) throw damaged('it holds fewer objects than its header says');
    const entry = readEntry(pack, offset, limits);
    made += entry.madeBytes;
    if (made > limits.maxMadeBytes)
      throw tooLarge(`objects of more than ${limits.maxMadeBytes} bytes together`);
    entries.offsets[position] = offset;
    entries.checksums[position] = crc32(pack.subarray(offset, entry.end));
    if (entry.base === undefined) {
      roots[work.resolved] = position;
      identify(work, position, entry.type, entry.content);
    } else work.bases.add(position, entry.base);
    offset = entry.end;
  }
  if (offset !== pack.length) throw damaged('it has trailing data');
  return roots.subarray(0, work.resolved);
}

interface ReadEntry {
  readonly type: number;
  /** Offset or id of the base of a delta. */
  readonly base: number | string | undefined;
  readonly content: Buffer;
  /** Offset of the next entry. */
  readonly end: number;
  /** Bytes of the content, and of what a delta makes. */
  readonly madeBytes: number;
}

/** Inflates one entry within its bounds. */
function readEntry(pack: Buffer, start: number, limits: PackLimits): ReadEntry {
  try {
    const { type, size, base, dataAt } = readEntryHeader(pack.subarray(start), start);
    if (size > limits.maxObjectBytes) throw objectTooLarge(size, start, limits);
    const { content, consumed } = inflateEntry(pack.subarray(start + dataAt), size);
    const end = start + dataAt + consumed;
    if (base === undefined) return { type, base, content, end, madeBytes: size };
    const sizes = deltaSizes(content);
    const largest = Math.max(sizes.base, sizes.result);
    if (largest > limits.maxObjectBytes) throw objectTooLarge(largest, start, limits);
    return { type, base, content, end, madeBytes: size + sizes.result };
  } catch (error) {
    throw error instanceof RangeError ? damaged(error.message) : error;
  }
}

function identify(work: Work, position: number, type: number, bytes: Buffer): void {
  const name = packTypeOf(type);
  if (name === undefined) throw damaged('an object has an unknown type');
  const oid = createHash('sha1').update(`${name} ${bytes.length}\0`).update(bytes).digest();
  oid.copy(work.entries.oids, position * 20);
  work.resolved += 1;
}

/** An object from which deltas are still to be made. */
interface Base {
  readonly bytes: Buffer;
  /** Deltas between it and a whole object. */
  readonly depth: number;
  /** Positions of the deltas that start from it. */
  readonly waiting: number[];
}

/** Rebuilds everything that starts from a whole object, depth first: an object is held until the last delta that starts from it is applied. */
async function resolveFrom(work: Work, root: number): Promise<void> {
  const { pack, limits, pause, entries, applied } = work;
  const held: Base[] = [];
  let heldBytes = 0;
  const hold = (bytes: Buffer, depth: number, waiting: number[]) => {
    if (waiting.length === 0) return;
    held.push({ bytes, depth, waiting });
    heldBytes += bytes.length;
    if (heldBytes > limits.maxHeldBytes)
      throw tooLarge(`deltas that need more than ${limits.maxHeldBytes} bytes at once`);
  };
  const waiting = deltasOn(work, root);
  if (waiting.length === 0) return;
  const { type, content } = readEntry(pack, entries.offsets[root] ?? 0, limits);
  hold(content, 0, waiting);
  for (let base = held.at(-1); base; base = held.at(-1)) {
    await pause();
    const position = base.waiting.pop() ?? root;
    if (base.waiting.length === 0) {
      held.pop();
      heldBytes -= base.bytes.length;
    }
    if (base.depth === limits.maxChainDeltas)
      throw tooLarge(`a chain of more than ${limits.maxChainDeltas} deltas`);
    if (applied[position] === 1) continue;
    applied[position] = 1;
    const delta = readEntry(pack, entries.offsets[position] ?? 0, limits);
    const bytes = applyDelta(base.bytes, delta.content);
    identify(work, position, type, bytes);
    hold(bytes, base.depth + 1, deltasOn(work, position));
  }
}

/** The deltas that start from an object whose id is known and that are not applied yet. */
function deltasOn({ bases, entries, applied }: Work, position: number): number[] {
  const oid = entries.oids.subarray(position * 20, position * 20 + 20);
  const found = bases.deltasOn(entries.offsets[position] ?? 0, oid);
  return found.filter((delta) => applied[delta] === 0);
}

function damaged(why: string): GitError {
  return new GitError('Unreachable', `the pack from the Git server is damaged or truncated: ${why}`);
}

/** Of an object that is never read whole no id is known; `git verify-pack -v` lists objects by these offsets. */
function objectTooLarge(size: number, offset: number, limits: PackLimits): GitError {
  const where = `at byte ${offset} of its pack`;
  return tooLarge(`an object of ${size} bytes, ${where}; the limit is ${limits.maxObjectBytes}`);
}

function tooLarge(what: string): GitError {
  return new GitError(
    'TooLarge',
    `the repository holds ${what}; keep large files out of the repository that Holdfast reads`,
  );
}
