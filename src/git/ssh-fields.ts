/** SSH's wire format: numbers of four bytes, and fields that begin with their length. */
import { createHash } from 'node:crypto';

/** Reads one after the other; what is cut short throws what `fail` gives. */
interface FieldReader {
  number(): number;
  field(): Buffer;
  /** Everything was read. */
  isAtEnd(): boolean;
}

/** A reader that begins at this byte. */
export function createFieldReader(bytes: Buffer, start: number, fail: (why: string) => Error): FieldReader {
  let offset = start;
  function take(length: number): Buffer {
    const value = bytes.subarray(offset, offset + length);
    if (value.length !== length) throw fail('it is truncated');
    offset += length;
    return value;
  }
  const number = () => take(4).readUInt32BE();
  return { number, field: () => take(number()), isAtEnd: () => offset === bytes.length };
}

/** One field: its length in four bytes, then its bytes. */
export function field(value: string | Buffer): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value, 'utf8') : value;
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** How OpenSSH shows keys: `SHA256:` and the digest in base64 without padding. */
export function fingerprintOf(key: Buffer): string {
  return `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`;
}
