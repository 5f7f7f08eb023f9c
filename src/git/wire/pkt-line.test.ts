import { expect, test } from 'vitest';
import { encodePktLine, FLUSH, readPktLines } from './pkt-line.ts';

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
