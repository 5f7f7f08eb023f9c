import { createHash } from 'node:crypto';
import { inflateSync } from 'node:zlib';
import { GitError } from './errors.ts';

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

const OFS_DELTA = 6;
const REF_DELTA = 7;

/** Inflates one object within its bounds and returns the offset of the next. */
function checkObject(pack: Buffer, start: number, limits: PackLimits): number {
  let offset = start;
  const next = () => pack[offset++] ?? 0;
  let byte = next();
  const type = (byte >> 4) & 7;
  let size = byte & 15;
  for (let shift = 4; byte & 0x80; shift += 7) {
    byte = next();
    size += (byte & 0x7f) * 2 ** shift;
  }
  if (size > limits.maxObjectBytes) throw objectTooLarge(size, limits);
  if (type === OFS_DELTA) while (next() & 0x80);
  if (type === REF_DELTA) offset += 20;
  const { content, consumed } = inflate(pack.subarray(offset), size);
  if (type === OFS_DELTA || type === REF_DELTA) checkDelta(content, limits);
  return offset + consumed;
}

function inflate(input: Buffer, size: number): { content: Buffer; consumed: number } {
  try {
    // `info` makes Node return the engine too, which knows how much input the stream took; the types leave it out.
    const result = inflateSync(input, { info: true, maxOutputLength: Math.max(1, size) }) as unknown as {
      buffer: Buffer;
      engine: { bytesWritten: number };
    };
    if (result.buffer.length === size)
      return { content: result.buffer, consumed: result.engine.bytesWritten };
  } catch {
    throw damaged('an object cannot be inflated to the size it states');
  }
  throw damaged('an object is smaller than it says');
}

/** A delta starts with two numbers: the size of its base and the size of what it makes. */
function checkDelta(delta: Buffer, limits: PackLimits): void {
  let offset = 0;
  for (let number = 0; number < 2; number += 1) {
    let value = 0;
    let byte = 0x80;
    for (let shift = 0; byte & 0x80; shift += 7) {
      byte = delta[offset++] ?? 0;
      value += (byte & 0x7f) * 2 ** shift;
    }
    if (value > limits.maxObjectBytes) throw objectTooLarge(value, limits);
  }
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
