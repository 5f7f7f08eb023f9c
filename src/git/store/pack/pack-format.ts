import { inflateSync } from 'node:zlib';

/** The number of each type of object in a pack; other numbers are deltas. */
export const PACK_NUMBERS = { commit: 1, tree: 2, blob: 3, tag: 4 } as const;

const packTypes = new Map<number, string>(
  Object.entries(PACK_NUMBERS).map(([type, number]) => [number, type]),
);

/** The type of object of a number in a pack; undefined for deltas and unknown numbers. */
export function packTypeOf(number: number): string | undefined {
  return packTypes.get(number);
}

/** A delta whose base is at an offset before it. */
const OFS_DELTA = 6;
/** A delta whose base is named by its id. */
export const REF_DELTA = 7;

/** The header before an object's compressed bytes. */
export interface EntryHeader {
  readonly type: number;
  /** Bytes after inflation. */
  readonly size: number;
  /** Of a delta: offset of its base, or its id. */
  readonly base: number | string | undefined;
  /** Where the compressed bytes begin, counted from the entry's own beginning. */
  readonly dataAt: number;
}

/** The longest that a header can be. */
export const MAX_HEADER_BYTES = 32;

/** Reads the header of the entry at `offset` of the pack. Throws RangeError for an invalid one. */
export function readEntryHeader(bytes: Buffer, offset: number): EntryHeader {
  let at = 0;
  const next = (): number => {
    const byte = bytes[at++];
    if (byte === undefined) throw new RangeError('an object is truncated');
    return byte;
  };
  let byte = next();
  const type = (byte >> 4) & 7;
  let size = byte & 15;
  for (let shift = 4; byte & 0x80; shift += 7) {
    byte = next();
    size += (byte & 0x7f) * 2 ** shift;
  }
  if (type === OFS_DELTA) {
    byte = next();
    let distance = byte & 0x7f;
    while (byte & 0x80) {
      byte = next();
      distance = (distance + 1) * 128 + (byte & 0x7f);
    }
    if (distance <= 0 || distance > offset) throw new RangeError('a delta has its base outside the pack');
    return { type, size, base: offset - distance, dataAt: at };
  }
  if (type !== REF_DELTA) return { type, size, base: undefined, dataAt: at };
  if (bytes.length < at + 20) throw new RangeError('an object is truncated');
  return { type, size, base: bytes.toString('hex', at, at + 20), dataAt: at + 20 };
}

/** The header of an entry; a delta is one by its base's id. */
export function entryHeader(type: number, size: number, baseOid?: string): Buffer {
  const bytes: number[] = [];
  let first = (type << 4) | (size & 15);
  let rest = Math.floor(size / 16);
  while (rest > 0) {
    bytes.push(first | 0x80);
    first = rest & 0x7f;
    rest = Math.floor(rest / 128);
  }
  const head = Buffer.from([...bytes, first]);
  return baseOid === undefined ? head : Buffer.concat([head, Buffer.from(baseOid, 'hex')]);
}

/** Inflates exactly `size` bytes; what follows the stream is left. Throws RangeError for anything else. */
export function inflateEntry(input: Buffer, size: number): { content: Buffer; consumed: number } {
  try {
    // `info` makes Node return the engine too, which knows how much input the stream took; the types leave it out. Most objects are much smaller than
    // its output buffers.
    const chunkSize = Math.min(Math.max(64, size), 65_536);
    const result = inflateSync(input, {
      info: true,
      maxOutputLength: Math.max(1, size),
      chunkSize,
    }) as unknown as {
      buffer: Buffer;
      engine: { bytesWritten: number };
    };
    if (result.buffer.length === size)
      return { content: result.buffer, consumed: result.engine.bytesWritten };
  } catch {
    throw new RangeError('an object cannot be inflated to the size it states');
  }
  throw new RangeError('an object is smaller than it says');
}

/** The beginning of a pack of version 2 that holds `count` objects. */
export function packHeader(count: number): Buffer {
  const header = Buffer.alloc(12);
  header.write('PACK', 'latin1');
  header.writeUInt32BE(2, 4);
  header.writeUInt32BE(count, 8);
  return header;
}

/** Sizes of what a delta starts from and of what it makes. */
interface DeltaSizes {
  readonly base: number;
  readonly result: number;
  /** Where its instructions begin. */
  readonly start: number;
}

/** Reads the two numbers that a delta begins with, seven bits to a byte, the lowest first. */
export function deltaSizes(delta: Uint8Array): DeltaSizes {
  let offset = 0;
  const next = (): number => {
    let value = 0;
    let byte = 0x80;
    for (let shift = 0; byte & 0x80; shift += 7) {
      byte = delta[offset++] ?? 0;
      value += (byte & 0x7f) * 2 ** shift;
    }
    return value;
  };
  return { base: next(), result: next(), start: offset };
}

/** Applies a delta to its base. Throws RangeError for an inconsistent one, or one of another base. */
export function applyDelta(base: Uint8Array, delta: Uint8Array): Buffer {
  const sizes = deltaSizes(delta);
  if (sizes.base !== base.length) throw new RangeError('a delta is for another base');
  const result = Buffer.allocUnsafe(sizes.result);
  let at = sizes.start;
  let filled = 0;
  while (at < delta.length) {
    const instruction = delta[at++] ?? 0;
    if (instruction === 0) throw new RangeError('a delta holds an unknown instruction');
    if (instruction & 0x80) {
      const copy = copyOf(delta, at, instruction);
      at = copy.next;
      filled = put(result, filled, base, copy.offset, copy.size);
    } else {
      filled = put(result, filled, delta, at, instruction);
      at += instruction;
    }
  }
  if (filled !== result.length) throw new RangeError('a delta makes less than it says');
  return result;
}

function put(result: Buffer, filled: number, from: Uint8Array, offset: number, size: number): number {
  if (offset + size > from.length || filled + size > result.length)
    throw new RangeError('a delta leads out of its bounds');
  result.set(from.subarray(offset, offset + size), filled);
  return filled + size;
}

/** The bits of the instruction say which bytes of offset (four) and size (three) follow; the others are zero. */
function copyOf(
  delta: Uint8Array,
  at: number,
  instruction: number,
): { offset: number; size: number; next: number } {
  let next = at;
  const read = (bits: number, first: number): number => {
    let value = 0;
    for (let index = 0; index < bits; index += 1)
      if (instruction & (first << index)) value += (delta[next++] ?? 0) * 2 ** (8 * index);
    return value;
  };
  const offset = read(4, 0x01);
  const size = read(3, 0x10);
  return { offset, size: size === 0 ? 0x10000 : size, next };
}
