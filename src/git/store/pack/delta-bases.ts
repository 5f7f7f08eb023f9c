import { sortedById } from './pack-index.ts';

/** Which deltas of a pack start from which object. A million of them take some 40 MB. */
export interface DeltaBases {
  /** Notes down the base of the delta at a position: its offset, or its id. */
  add(position: number, base: number | string): void;
  /** Positions of the deltas that start from the object at this offset with this id. Only after the last `add`. */
  deltasOn(offset: number, oid: Buffer): number[];
}

const OID_BYTES = 20;
/** Positions are below this number, so that one number holds an offset and a position and sorts by both. */
const WIDTH = 2 ** 21;

/** For a pack with this number of entries. */
export function createDeltaBases(count: number): DeltaBases {
  const byOffset = new Float64Array(count);
  let offsets = 0;
  let oids = Buffer.alloc(0);
  let positions = new Uint32Array(0);
  let ids = 0;
  let sorted: { readonly byOffset: Float64Array; readonly byId: Uint32Array } | undefined;

  function oidAt(order: Uint32Array, at: number): Buffer {
    const start = (order[at] ?? 0) * OID_BYTES;
    return oids.subarray(start, start + OID_BYTES);
  }

  return {
    add(position, base) {
      if (typeof base === 'number') {
        byOffset[offsets] = base * WIDTH + position;
        offsets += 1;
        return;
      }
      if (positions.length === 0) {
        oids = Buffer.alloc(count * OID_BYTES);
        positions = new Uint32Array(count);
      }
      oids.write(base, ids * OID_BYTES, 'hex');
      positions[ids] = position;
      ids += 1;
    },
    deltasOn(offset, oid) {
      sorted ??= { byOffset: byOffset.subarray(0, offsets).sort(), byId: sortedById(oids, ids) };
      const found: number[] = [];
      const keys = sorted.byOffset;
      const order = sorted.byId;
      let at = firstFrom(keys.length, (index) => (keys[index] ?? 0) >= offset * WIDTH);
      for (; at < keys.length && (keys[at] ?? 0) < (offset + 1) * WIDTH; at += 1)
        found.push((keys[at] ?? 0) % WIDTH);
      at = firstFrom(ids, (index) => oidAt(order, index).compare(oid) >= 0);
      for (; at < ids && oidAt(order, at).equals(oid); at += 1) found.push(positions[order[at] ?? 0] ?? 0);
      return found;
    },
  };
}

/** The first index for which a condition holds that holds from there on. */
function firstFrom(length: number, holds: (index: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
