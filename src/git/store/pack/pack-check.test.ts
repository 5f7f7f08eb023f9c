import { createHash } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { checkPack, DEFAULT_PACK_LIMITS, type PackLimits } from './pack-check.ts';

const BLOB = 3;
const REF_DELTA = 7;

/** A pack of raw objects; `size` is what the header claims. */
function pack(
  objects: ReadonlyArray<{ type: number; size: number; content: Buffer }>,
  count = objects.length,
): Buffer {
  const head = Buffer.from('PACK\0\0\0\x02\0\0\0\0', 'latin1');
  head.writeUInt32BE(count, 8);
  const bodies = objects.map(({ type, size, content }) => {
    const base = type === REF_DELTA ? Buffer.alloc(20, 1) : Buffer.alloc(0);
    return Buffer.concat([objectHeader(type, size), base, deflateSync(content)]);
  });
  return sealed(Buffer.concat([head, ...bodies]));
}

function sealed(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, createHash('sha1').update(bytes).digest()]);
}

function objectHeader(type: number, size: number): Buffer {
  const bytes = [(type << 4) | (size & 15)];
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 0x80;
    bytes.push(rest % 128);
  }
  return Buffer.from(bytes);
}

function check(bytes: Buffer, limits: Partial<PackLimits> = {}): Promise<number> {
  return checkPack(bytes, { ...DEFAULT_PACK_LIMITS, ...limits }, async () => {});
}

const small = { type: BLOB, size: 5, content: Buffer.from('hello') };

test('counts the objects of an honest pack', async () => {
  expect(await check(pack([small, { type: BLOB, size: 0, content: Buffer.alloc(0) }, small]))).toBe(3);
});

test('an object that states a huge size is TooLarge before anything is inflated', async () => {
  await expect(check(pack([{ ...small, size: 2 ** 40 }]))).rejects.toMatchObject({ code: 'TooLarge' });
});

test('a zlib bomb that states a small size is cut at that size', async () => {
  const bomb = { type: BLOB, size: 100, content: Buffer.alloc(50_000_000) };
  await expect(check(pack([bomb]))).rejects.toMatchObject({
    code: 'Unreachable',
    message: expect.stringContaining('inflated'),
  });
});

test('a delta bomb is TooLarge by what it says it makes', async () => {
  const delta = Buffer.from([5, 0xff, 0xff, 0xff, 0xff, 0x7f]);
  await expect(check(pack([{ type: REF_DELTA, size: delta.length, content: delta }]))).rejects.toMatchObject({
    code: 'TooLarge',
  });
});

test.each([
  ['an empty answer', Buffer.alloc(0)],
  ['a pack of another version', sealed(Buffer.from('PACK\0\0\0\x03\0\0\0\0', 'latin1'))],
  ['a wrong checksum', Buffer.concat([pack([small]).subarray(0, -1), Buffer.from([0])])],
  ['fewer objects than stated', pack([small], 2)],
  ['more bytes than its objects', pack([small, small], 1)],
  ['an object smaller than stated', pack([{ ...small, size: 6 }])],
])('%s is a damaged pack', async (_name, bytes) => {
  await expect(check(bytes)).rejects.toMatchObject({ code: 'Unreachable' });
});

test('too many objects are TooLarge', async () => {
  await expect(check(pack([small, small]), { maxObjects: 1 })).rejects.toMatchObject({ code: 'TooLarge' });
});

test('no mutated pack gets through with another content or breaks the check', async () => {
  const honest = pack([small, { type: BLOB, size: 300, content: Buffer.alloc(300, 7) }]);
  for (let index = 0; index < honest.length; index += 1) {
    const mutated = Buffer.from(honest);
    mutated.writeUInt8(mutated.readUInt8(index) ^ 0x41, index);
    await expect(check(mutated)).rejects.toMatchObject({ name: 'GitError' });
    // With a checksum that fits the mutation, the check may pass or refuse, but must end in a known way.
    await check(sealed(mutated.subarray(0, -20))).catch((error: unknown) =>
      expect(error).toMatchObject({ name: 'GitError' }),
    );
  }
});
