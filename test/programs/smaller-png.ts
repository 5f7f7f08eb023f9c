import { crc32, deflateSync, inflateSync } from 'node:zlib';

const signatureBytes = 8;

/** The same picture in fewer bytes: its data is compressed as well as zlib can, which browsers do not take the time for. */
export function smallerPng(png: Buffer): Buffer {
  const chunks = chunksOf(png);
  const data = chunks.filter(({ type }) => type === 'IDAT').map((chunk) => chunk.data);
  const smaller = {
    type: 'IDAT',
    data: deflateSync(inflateSync(Buffer.concat(data)), { level: 9, memLevel: 9 }),
  };
  const [header, ...rest] = chunks.filter(({ type }) => type !== 'IDAT');
  if (!header) throw new Error('not a PNG');
  return Buffer.concat([png.subarray(0, signatureBytes), ...[header, smaller, ...rest].map(written)]);
}

interface Chunk {
  readonly type: string;
  readonly data: Buffer;
}

function chunksOf(png: Buffer): Chunk[] {
  const chunks: Chunk[] = [];
  for (let at = signatureBytes; at < png.length; ) {
    const length = png.readUInt32BE(at);
    chunks.push({
      type: png.toString('latin1', at + 4, at + 8),
      data: png.subarray(at + 8, at + 8 + length),
    });
    at += length + 12;
  }
  return chunks;
}

function written({ type, data }: Chunk): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
