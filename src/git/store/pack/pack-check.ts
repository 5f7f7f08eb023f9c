import { createHash } from 'node:crypto';
import { GitError } from '../../errors.ts';
import { deltaSizes, inflateEntry, readEntryHeader } from './pack-format.ts';

/** What a pack may hold; checked before anything parses it with the library. */
export interface PackLimits {
  /** Objects in one pack. Default 1,000,000. */
  readonly maxObjects: number;
  /** Bytes of one object after inflation, and of what a delta says it makes. Default 64 MiB. */
  readonly maxObjectBytes: number;
  /** Bytes of all objects of a chain of deltas; indexing may hold them all at once. Default 256 MiB. */
  readonly maxChainBytes: number;
  /** Bytes of all objects together, those that deltas make included. Default 2 GiB. */
  readonly maxMadeBytes: number;
}

/** Bounds that hold unless the operator sets others. */
export const DEFAULT_PACK_LIMITS: PackLimits = {
  maxObjects: 1_000_000,
  maxObjectBytes: 64 * 1_048_576,
  maxChainBytes: 256 * 1_048_576,
  maxMadeBytes: 2_048 * 1_048_576,
};

const HEADER_BYTES = 12;
const TRAILER_BYTES = 20;
const CHECK_EVERY = 500;

/**
 * Checks a pack's header, checksum and the inflated size of each object, so that a zlib or delta bomb ends here
 * (the library inflates and applies without a bound). Returns the number of objects.
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
  const chains = new Map<number, number>();
  let made = 0;
  let offset = HEADER_BYTES;
  for (let index = 0; index < count; index += 1) {
    if (index % CHECK_EVERY === 0) await pause();
    if (offset >= end) throw damaged('it holds fewer objects than its header says');
    const object = checkObject(pack.subarray(0, end), offset, limits);
    made += object.size;
    if (made > limits.maxMadeBytes)
      throw tooLarge(`objects of more than ${limits.maxMadeBytes} bytes together`);
    if (object.delta) checkChain(chains, offset, object, limits);
    offset = object.end;
  }
  if (offset !== end) throw damaged('it has trailing data');
  return count;
}

function readHeader(pack: Buffer, limits: PackLimits): number {
  if (pack.length < HEADER_BYTES + TRAILER_BYTES) throw damaged('it ends too early');
  if (pack.toString('latin1', 0, 4) !== 'PACK' || pack.readUInt32BE(4) !== 2)
    throw damaged('it is not a version 2 pack');
  const sum = createHash('sha1').update(pack.subarray(0, -TRAILER_BYTES)).digest();
  if (!sum.equals(pack.subarray(-TRAILER_BYTES))) throw damaged('its checksum is wrong');
  const count = pack.readUInt32BE(8);
  if (count > limits.maxObjects) throw tooLarge(`${count} objects; the limit is ${limits.maxObjects}`);
  return count;
}

interface PackedObject {
  /** Offset of the next object. */
  readonly end: number;
  /** Bytes of the object itself, deltas applied. */
  readonly size: number;
  /** `base`: its offset, where the delta names one; `baseBytes`: what the delta says of its size. */
  readonly delta?: { readonly base: number | string; readonly baseBytes: number };
}

/** Small deltas can make large objects of one another without end. */
function checkChain(
  chains: Map<number, number>,
  offset: number,
  { size, delta }: PackedObject,
  limits: PackLimits,
): void {
  const below = typeof delta?.base === 'number' ? chains.get(delta.base) : undefined;
  const bytes = (below ?? delta?.baseBytes ?? 0) + size;
  if (bytes > limits.maxChainBytes)
    throw tooLarge(
      `a chain of deltas that makes more than ${limits.maxChainBytes} bytes, at byte ${offset} of its pack`,
    );
  chains.set(offset, bytes);
}

/** Inflates one object within its bounds. */
function checkObject(pack: Buffer, start: number, limits: PackLimits): PackedObject {
  try {
    const header = readEntryHeader(pack.subarray(start), start);
    if (header.size > limits.maxObjectBytes) throw objectTooLarge(header.size, start, limits);
    const dataAt = start + header.dataAt;
    const { content, consumed } = inflateEntry(pack.subarray(dataAt), header.size);
    const end = dataAt + consumed;
    if (header.base === undefined) return { end, size: header.size };
    const { base, result } = deltaSizes(content);
    const largest = Math.max(base, result);
    if (largest > limits.maxObjectBytes) throw objectTooLarge(largest, start, limits);
    return { end, size: result, delta: { base: header.base, baseBytes: base } };
  } catch (error) {
    throw error instanceof RangeError ? damaged(error.message) : error;
  }
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
