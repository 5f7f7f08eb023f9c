import { createHash } from 'node:crypto';
import { GitError } from './errors.ts';
import { deltaSizes } from './pack/delta.ts';
import { inflateEntry, readEntryHeader } from './pack/entry.ts';

/** What a pack may hold; checked before anything parses it with the library. */
export interface PackLimits {
  /** Objects in one pack. Default 1,000,000. */
  readonly maxObjects: number;
  /** Bytes of one object after inflation, and of what a delta says it makes. Default 64 MiB. */
  readonly maxObjectBytes: number;
}

/** Bounds that hold unless the operator sets others. */
export const DEFAULT_PACK_LIMITS: PackLimits = { maxObjects: 1_000_000, maxObjectBytes: 64 * 1_048_576 };

const HEADER_BYTES = 12;
const TRAILER_BYTES = 20;
const CHECK_EVERY = 500;

/**
 * Checks a pack's header, checksum and the inflated size of each object, so that a zlib or delta bomb ends here
 * (the library inflates without a bound). Returns the number of objects.
 * Throws GitError Unreachable for a cut or damaged pack, TooLarge for one beyond the limits.
 * `pause` is awaited now and then: it lets other work run, and may throw to stop.
 */
export async function checkPack(
  pack: Buffer,
  limits: PackLimits,
  pause: () => Promise<void>,
): Promise<number> {
  const count = readHeader(pack, limits);
  const end = pack.length - TRAILER_BYTES;
  let offset = HEADER_BYTES;
  for (let index = 0; index < count; index += 1) {
    if (index % CHECK_EVERY === 0) await pause();
    if (offset >= end) throw damaged('it holds fewer objects than it says');
    offset = checkObject(pack.subarray(0, end), offset, limits);
  }
  if (offset !== end) throw damaged('it holds more than its objects');
  return count;
}

function readHeader(pack: Buffer, limits: PackLimits): number {
  if (pack.length < HEADER_BYTES + TRAILER_BYTES) throw damaged('it ends too early');
  if (pack.toString('latin1', 0, 4) !== 'PACK' || pack.readUInt32BE(4) !== 2)
    throw damaged('it is no pack of version 2');
  const sum = createHash('sha1').update(pack.subarray(0, -TRAILER_BYTES)).digest();
  if (!sum.equals(pack.subarray(-TRAILER_BYTES))) throw damaged('its checksum is wrong');
  const count = pack.readUInt32BE(8);
  if (count > limits.maxObjects) throw tooLarge(`${count} objects; the limit is ${limits.maxObjects}`);
  return count;
}

/** Inflates one object within its bounds and returns the offset of the next. */
function checkObject(pack: Buffer, start: number, limits: PackLimits): number {
  try {
    const header = readEntryHeader(pack.subarray(start), start);
    if (header.size > limits.maxObjectBytes) throw objectTooLarge(header.size, limits);
    const dataAt = start + header.dataAt;
    const { content, consumed } = inflateEntry(pack.subarray(dataAt), header.size);
    if (header.base !== undefined) checkDelta(content, limits);
    return dataAt + consumed;
  } catch (error) {
    throw error instanceof RangeError ? damaged(error.message) : error;
  }
}

function checkDelta(delta: Buffer, limits: PackLimits): void {
  const { base, result } = deltaSizes(delta);
  const largest = Math.max(base, result);
  if (largest > limits.maxObjectBytes) throw objectTooLarge(largest, limits);
}

function damaged(why: string): GitError {
  return new GitError('Unreachable', `the pack from the Git server is damaged or was cut: ${why}`);
}

function objectTooLarge(size: number, limits: PackLimits): GitError {
  return tooLarge(`an object of ${size} bytes; the limit is ${limits.maxObjectBytes}`);
}

function tooLarge(what: string): GitError {
  return new GitError(
    'TooLarge',
    `the repository holds ${what}; keep large files out of the repository that Holdfast reads`,
  );
}
