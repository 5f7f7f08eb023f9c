import { createHash } from 'node:crypto';

/** Where the objects of one pack are, from its index of version 2. */
export interface PackIndex {
  /** Offset of an object in the pack; undefined when the pack does not hold it. */
  offsetOf(oid: string): number | undefined;
  /** Every object with its offset, by id. */
  entries(): Iterable<readonly [oid: string, offset: number]>;
}

const HEADER_BYTES = 8;
const FANOUT_BYTES = 256 * 4;
const OID_BYTES = 20;
const TRAILER_BYTES = 40;
const LARGE_OFFSET = 0x80000000;

/** Reads the bytes of an index file. Throws RangeError for one that is truncated or of another version. */
export function parsePackIndex(bytes: Buffer): PackIndex {
  if (bytes.length < HEADER_BYTES + FANOUT_BYTES + TRAILER_BYTES)
    throw new RangeError('the index is truncated');
  if (bytes.readUInt32BE(0) !== 0xff744f63 || bytes.readUInt32BE(4) !== 2)
    throw new RangeError('the index is not version 2');
  const count = bytes.readUInt32BE(HEADER_BYTES + 255 * 4);
  const oids = HEADER_BYTES + FANOUT_BYTES;
  const offsets = oids + count * (OID_BYTES + 4);
  const large = offsets + count * 4;
  if (bytes.length < large + TRAILER_BYTES) throw new RangeError('the index is truncated');

  function offsetAt(position: number): number {
    const offset = bytes.readUInt32BE(offsets + position * 4);
    if (offset < LARGE_OFFSET) return offset;
    const at = large + (offset - LARGE_OFFSET) * 8;
    return bytes.readUInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4);
  }

  return {
    offsetOf(oid) {
      const wanted = Buffer.from(oid, 'hex');
      const first = wanted[0] ?? 0;
      let low = first === 0 ? 0 : bytes.readUInt32BE(HEADER_BYTES + (first - 1) * 4);
      let high = bytes.readUInt32BE(HEADER_BYTES + first * 4);
      while (low < high) {
        const middle = (low + high) >>> 1;
        const at = oids + middle * OID_BYTES;
        const order = bytes.compare(wanted, 0, OID_BYTES, at, at + OID_BYTES);
        if (order === 0) return offsetAt(middle);
        if (order < 0) low = middle + 1;
        else high = middle;
      }
      return undefined;
    },
    *entries() {
      for (let position = 0; position < count; position += 1) {
        const at = oids + position * OID_BYTES;
        yield [bytes.toString('hex', at, at + OID_BYTES), offsetAt(position)];
      }
    },
  };
}

/** What an index says of each entry of a pack, in the order of the entries. A million of them take some 30 MB. */
export interface PackEntries {
  readonly count: number;
  /** Ids, one after the other. */
  readonly oids: Buffer;
  readonly offsets: Uint32Array;
  /** CRC-32 of the entries, in the order of the pack. */
  readonly checksums: Uint32Array;
}

/** Allocates room for `count` entries. */
export function packEntries(count: number): PackEntries {
  return {
    count,
    oids: Buffer.alloc(count * OID_BYTES),
    offsets: new Uint32Array(count),
    checksums: new Uint32Array(count),
  };
}

/** The index (version 2) of a pack below 2 GiB with this checksum; undefined when an id occurs twice. */
export function createPackIndex(
  { count, oids, offsets, checksums }: PackEntries,
  packSum: Buffer,
): Buffer | undefined {
  const order = sortedById(oids, count);
  const start = HEADER_BYTES + FANOUT_BYTES;
  const body = Buffer.alloc(start + count * (OID_BYTES + 8));
  body.writeUInt32BE(0xff744f63, 0);
  body.writeUInt32BE(2, 4);
  for (const [at, position] of order.entries()) {
    const oid = oids.subarray(position * OID_BYTES, (position + 1) * OID_BYTES);
    const target = start + at * OID_BYTES;
    oid.copy(body, target);
    if (at > 0 && body.compare(oid, 0, OID_BYTES, target - OID_BYTES, target) === 0) return undefined;
    body.writeUInt32BE(checksums[position] ?? 0, start + count * OID_BYTES + at * 4);
    body.writeUInt32BE(offsets[position] ?? 0, start + count * (OID_BYTES + 4) + at * 4);
    const slot = HEADER_BYTES + (oid[0] ?? 0) * 4;
    body.writeUInt32BE(body.readUInt32BE(slot) + 1, slot);
  }
  for (let first = 1; first < 256; first += 1) {
    const slot = HEADER_BYTES + first * 4;
    body.writeUInt32BE(body.readUInt32BE(slot) + body.readUInt32BE(slot - 4), slot);
  }
  const content = Buffer.concat([body, packSum]);
  return Buffer.concat([content, createHash('sha1').update(content).digest()]);
}

/** Positions, sorted by the ids, which are stored one after the other. Numbers of the first four bytes and the position sort ten times as fast as ids do; equal ones are rare. */
export function sortedById(oids: Buffer, count: number): Uint32Array {
  const width = 2 ** 21;
  const keys = new Float64Array(count);
  for (let position = 0; position < count; position += 1)
    keys[position] = oids.readUInt32BE(position * OID_BYTES) * width + position;
  keys.sort();
  const order = Uint32Array.from(keys, (key) => key % width);
  const prefixAt = (at: number) => Math.floor((keys[at] ?? -1) / width);
  const oidAt = (position: number) => oids.subarray(position * OID_BYTES, (position + 1) * OID_BYTES);
  for (let from = 0; from < count; ) {
    let to = from + 1;
    while (to < count && prefixAt(to) === prefixAt(from)) to += 1;
    if (to - from > 1) order.subarray(from, to).sort((left, right) => oidAt(left).compare(oidAt(right)));
    from = to;
  }
  return order;
}
