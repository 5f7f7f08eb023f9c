import { createHash } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import type { GitObject } from './objects.ts';

/** The packet that ends a section. */
export const FLUSH = '0000';

const MAX_BAND_BYTES = 65_515;
const TYPE_NUMBERS = { commit: 1, tree: 2, blob: 3, tag: 4 };

/** One line of the protocol, behind its length. */
export function packet(line: string): string {
  return (Buffer.byteLength(line) + 4).toString(16).padStart(4, '0') + line;
}

/** The lines of a request; its markers are `flush` and `delimiter`. Undefined when it is cut or garbled. */
export function linesOf(body: Buffer): string[] | undefined {
  const lines: string[] = [];
  for (let start = 0; start < body.length; ) {
    const digits = body.toString('latin1', start, start + 4);
    if (!/^[0-9a-f]{4}$/.test(digits)) return undefined;
    const end = start + Number.parseInt(digits, 16);
    if (end > body.length || end === start + 2 || end === start + 3) return undefined;
    const marker = { [start]: 'flush', [start + 1]: 'delimiter' }[end];
    lines.push(marker ?? body.toString('utf8', start + 4, end).replace(/\n$/, ''));
    start = Math.max(end, start + 4);
  }
  return lines;
}

/** What the lines that begin with a word say after it. */
export function valuesOf(word: string, lines: readonly string[]): string[] {
  return lines.flatMap((line) => (line.startsWith(`${word} `) ? [line.slice(word.length + 1)] : []));
}

/** Objects as a pack without deltas, in the packets of side band 1. */
export function packetsOfPack(objects: readonly GitObject[]): Buffer {
  const head = Buffer.alloc(12);
  head.write('PACK');
  head.writeUInt32BE(2, 4);
  head.writeUInt32BE(objects.length, 8);
  const entries = objects.flatMap((object) => [entryHead(object), deflateSync(object.content, { level: 1 })]);
  const content = Buffer.concat([head, ...entries]);
  const pack = Buffer.concat([content, createHash('sha1').update(content).digest()]);
  const packets: Buffer[] = [];
  for (let start = 0; start < pack.length; start += MAX_BAND_BYTES) {
    const part = pack.subarray(start, start + MAX_BAND_BYTES);
    packets.push(Buffer.from(`${(part.length + 5).toString(16).padStart(4, '0')}\x01`), part);
  }
  return Buffer.concat(packets);
}

/** Type and size: four bits of the size in the first byte, seven in each further one. */
function entryHead({ type, content }: GitObject): Buffer {
  const bytes = [(TYPE_NUMBERS[type] << 4) | (content.length & 15)];
  for (let rest = content.length >>> 4; rest > 0; rest >>>= 7) bytes.push(rest & 127);
  return Buffer.from(bytes.map((byte, index) => (index < bytes.length - 1 ? byte | 128 : byte)));
}
