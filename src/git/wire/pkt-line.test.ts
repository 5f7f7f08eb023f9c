import { expect, test } from 'vitest';
import { encodePktLine, FLUSH, inPieces, onlyRefs, readPktLines } from './pkt-line.ts';

async function read(bytes: Buffer, chunkSize: number): Promise<string[]> {
  async function* chunks() {
    for (let offset = 0; offset < bytes.length; offset += chunkSize)
      yield bytes.subarray(offset, offset + chunkSize);
  }
  const packets: string[] = [];
  for await (const packet of readPktLines(chunks())) packets.push(packet.toString());
  return packets;
}

const stream = Buffer.concat([encodePktLine('want å\n'), FLUSH, encodePktLine(''), encodePktLine('done\n')]);

test.each([1, 3, 5, 1_000])('reads packets that come in chunks of %i bytes', async (chunkSize) => {
  expect(await read(stream, chunkSize)).toEqual(['want å\n', '', '', 'done\n']);
});

test.each([
  ['ends inside a packet', Buffer.from('0009do')],
  ['ends inside a length', Buffer.from('00')],
  ['is no Git at all', Buffer.from('<html></html>')],
  ['has a length with a sign', Buffer.from('-001')],
])('refuses an answer that %s', async (_name, bytes) => {
  await expect(read(bytes, 4)).rejects.toMatchObject({ code: 'Unreachable' });
});

const oid = 'a'.repeat(40);

async function keptOf(listing: Buffer, chunkSize: number): Promise<Buffer> {
  async function* chunks() {
    for (let offset = 0; offset < listing.length; offset += chunkSize)
      yield listing.subarray(offset, offset + chunkSize);
  }
  const kept: Uint8Array[] = [];
  for await (const some of onlyRefs(chunks(), 'refs/heads/main')) kept.push(some);
  return Buffer.concat(kept);
}

test.each([1, 50, 10_000])(
  'keeps of a listing in chunks of %i bytes what was asked for, capabilities, errors and markers',
  async (chunkSize) => {
    const asked = [
      encodePktLine('# service=git-upload-pack\n'),
      FLUSH,
      encodePktLine(`${oid} HEAD\0symref=HEAD:refs/heads/main\n`),
      encodePktLine(`${oid} refs/heads/main\n`),
      encodePktLine('ERR busy\n'),
      FLUSH,
    ];
    const others = Array.from({ length: 20 }, (_, index) =>
      encodePktLine(`${oid} refs/pull/${index}/head\n`),
    );
    const listing = Buffer.concat([...asked.slice(0, 4), ...others, ...asked.slice(4)]);
    expect(await keptOf(listing, chunkSize)).toEqual(Buffer.concat(asked));
  },
);

test.each([
  ['no Git at all', Buffer.from('<html></html>')],
  ['cut in a packet', Buffer.concat([encodePktLine(`${oid} refs/heads/main\n`), Buffer.from('0009do')])],
  ['without an end', Buffer.alloc(200_000, 'g')],
])('passes on what is %s, to be refused', async (_name, bytes) => {
  expect(await keptOf(bytes, 30_000)).toEqual(bytes);
});

test('holds nothing of a quarter of a million refs that nobody asked for, and leaves others their turn', async () => {
  const line = encodePktLine(`${oid} refs/pull/123456/head\n`);
  let turns = 0;
  const counting = setInterval(() => {
    turns += 1;
  }, 0);
  const listing = Buffer.concat([...Array.from({ length: 250_000 }, () => line), FLUSH]);
  const kept: Uint8Array[] = [];
  for await (const some of onlyRefs(inPieces(listing), 'refs/heads/main')) kept.push(some);
  clearInterval(counting);
  expect(Buffer.concat(kept)).toEqual(FLUSH);
  expect(turns).toBeGreaterThan(1);
});
