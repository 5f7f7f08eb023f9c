import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { packHeader } from './entry.ts';

/** One object as it goes into a pack: header and compressed bytes. */
export interface PackEntry {
  readonly oid: string;
  readonly bytes: Buffer;
}

/** Small objects share a write. */
const GATHERED_BYTES = 1_048_576;

interface Written {
  readonly oid: string;
  readonly offset: number;
  readonly crc: number;
}

/**
 * Writes a pack and its index of version 2 below `path` (without an ending), and makes sure that both have reached the disk. `count` is how
 * many entries come. Throws RangeError when another number came or the pack is beyond 2 GiB, and the system's errors.
 */
export async function writePack(
  path: string,
  count: number,
  entries: AsyncIterable<PackEntry>,
): Promise<void> {
  const handle = await open(`${path}.pack`, 'w');
  try {
    const hash = createHash('sha1');
    let offset = 0;
    let waiting: Buffer[] = [];
    let waitingBytes = 0;
    const flush = async (): Promise<void> => {
      await handle.writeFile(Buffer.concat(waiting));
      waiting = [];
      waitingBytes = 0;
    };
    const append = async (bytes: Buffer): Promise<void> => {
      hash.update(bytes);
      waiting.push(bytes);
      waitingBytes += bytes.length;
      offset += bytes.length;
      if (waitingBytes >= GATHERED_BYTES) await flush();
    };
    await append(packHeader(count));
    const written: Written[] = [];
    for await (const { oid, bytes } of entries) {
      written.push({ oid, offset, crc: crc32(bytes) });
      await append(bytes);
    }
    if (written.length !== count || offset >= 0x80000000) throw new RangeError('the pack cannot be written');
    const sum = hash.digest();
    waiting.push(sum);
    await flush();
    await handle.sync();
    await writeSynced(`${path}.idx`, indexOf(written, sum));
  } finally {
    await handle.close();
  }
}

async function writeSynced(path: string, bytes: Buffer): Promise<void> {
  const handle = await open(path, 'w');
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Fan-out, ids, checksums and offsets, each sorted by id, and the two checksums. */
function indexOf(written: readonly Written[], packSum: Buffer): Buffer {
  const sorted = [...written].sort((left, right) => (left.oid < right.oid ? -1 : 1));
  const count = sorted.length;
  const body = Buffer.alloc(8 + 256 * 4 + count * 28);
  body.writeUInt32BE(0xff744f63, 0);
  body.writeUInt32BE(2, 4);
  const oids = 8 + 256 * 4;
  for (const [position, { oid, offset, crc }] of sorted.entries()) {
    body.write(oid, oids + position * 20, 'hex');
    body.writeUInt32BE(crc, oids + count * 20 + position * 4);
    body.writeUInt32BE(offset, oids + count * 24 + position * 4);
    const slot = 8 + Number.parseInt(oid.slice(0, 2), 16) * 4;
    body.writeUInt32BE(body.readUInt32BE(slot) + 1, slot);
  }
  for (let first = 1; first < 256; first += 1)
    body.writeUInt32BE(body.readUInt32BE(8 + first * 4) + body.readUInt32BE(4 + first * 4), 8 + first * 4);
  const whole = Buffer.concat([body, packSum]);
  return Buffer.concat([whole, createHash('sha1').update(whole).digest()]);
}
