/** Where the objects of one pack are, from its index of version 2. */
export interface PackIndex {
  readonly count: number;
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

/** Looks into the bytes of an index file. Throws RangeError for one that is cut or of another version. */
export function parsePackIndex(bytes: Buffer): PackIndex {
  if (bytes.length < HEADER_BYTES + FANOUT_BYTES + TRAILER_BYTES) throw new RangeError('the index is cut');
  if (bytes.readUInt32BE(0) !== 0xff744f63 || bytes.readUInt32BE(4) !== 2)
    throw new RangeError('the index is none of version 2');
  const count = bytes.readUInt32BE(HEADER_BYTES + 255 * 4);
  const oids = HEADER_BYTES + FANOUT_BYTES;
  const offsets = oids + count * (OID_BYTES + 4);
  const large = offsets + count * 4;
  if (bytes.length < large + TRAILER_BYTES) throw new RangeError('the index is cut');

  function offsetAt(position: number): number {
    const offset = bytes.readUInt32BE(offsets + position * 4);
    if (offset < LARGE_OFFSET) return offset;
    const at = large + (offset - LARGE_OFFSET) * 8;
    return bytes.readUInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4);
  }

  return {
    count,
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
