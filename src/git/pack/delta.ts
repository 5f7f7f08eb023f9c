/** Sizes of what a delta starts from and of what it makes. */
export interface DeltaSizes {
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

/** What a delta makes of its base. Throws RangeError for one that does not fit the base or itself. */
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
