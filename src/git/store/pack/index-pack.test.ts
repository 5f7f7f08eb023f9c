import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { createTestRepository, noise } from '../../testing/test-repository.ts';
import { DEFAULT_PACK_LIMITS, indexPack, type PackLimits } from './index-pack.ts';

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

async function check(bytes: Buffer, limits: Partial<PackLimits> = {}): Promise<number> {
  const { count } = await indexPack(bytes, { ...DEFAULT_PACK_LIMITS, ...limits }, async () => {});
  return count;
}

const small = { type: BLOB, size: 5, content: Buffer.from('hello') };

test('counts the objects of a valid pack', async () => {
  const other = { type: BLOB, size: 5, content: Buffer.from('world') };
  expect(await check(pack([small, { type: BLOB, size: 0, content: Buffer.alloc(0) }, other]))).toBe(3);
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
    // With a correct checksum of the mutated pack the check may pass or fail, but only with a known error.
    await check(sealed(mutated.subarray(0, -20))).catch((error: unknown) =>
      expect(error).toMatchObject({ name: 'GitError' }),
    );
  }
});

test('its index is the one that Git makes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-index-'));
  const repository = createTestRepository(folder, 'shop');
  const lines = Array.from({ length: 300 }, (_, index) => `line ${index} ${noise(index, 20)}`);
  for (let number = 0; number < 30; number += 1) {
    lines[number * 7] = `changed ${number}`;
    repository.commit({ 'large.yaml': lines.join('\n'), [`dir-${number}/a.yaml`]: `a: ${number}` });
  }
  for (const offsets of ['--delta-base-offset', '--no-delta-base-offset']) {
    const bytes = execFileSync('git', ['pack-objects', '--stdout', '--all', '-q', '--depth=30', offsets], {
      cwd: join(folder, 'shop'),
      input: '',
    });
    writeFileSync(join(folder, 'a.pack'), bytes);
    execFileSync('git', ['index-pack', '--index-version=2', join(folder, 'a.pack')], {
      cwd: join(folder, 'shop'),
    });
    const { index } = await indexPack(bytes, DEFAULT_PACK_LIMITS, async () => {});
    expect(index.equals(readFileSync(join(folder, 'a.idx')))).toBe(true);
    rmSync(join(folder, 'a.idx'));
  }
  rmSync(folder, { recursive: true });
});

test('20,000 deltas of one base are indexed, each after a turn for other work', async () => {
  const deltas = Array.from({ length: 20_000 }, (_, index) => {
    const text = Buffer.alloc(4);
    text.writeUInt32BE(index);
    return Buffer.concat([Buffer.from([5, 9, 0x90, 5, 4]), text]);
  });
  const bytes = smallDeltaPack(deltas);
  let pauses = 0;
  const { count } = await indexPack(bytes, DEFAULT_PACK_LIMITS, async () => {
    pauses += 1;
  });
  expect(count).toBe(deltas.length + 1);
  expect(pauses).toBeGreaterThan(count);
});

/** `hello`, and deltas on it by its id. */
function smallDeltaPack(deltas: readonly Buffer[]): Buffer {
  const head = Buffer.from('PACK\0\0\0\x02\0\0\0\0', 'latin1');
  head.writeUInt32BE(deltas.length + 1, 8);
  const base = createHash('sha1').update('blob 5\0hello').digest();
  const stored = (content: Buffer) => {
    // A stored block: to compress that many would take most of the time.
    const block = Buffer.from([0x78, 0x01, 1, content.length, 0, 255 - content.length, 255]);
    const sum = Buffer.alloc(4);
    sum.writeUInt32BE(adler(content));
    return Buffer.concat([block, content, sum]);
  };
  const parts = deltas.flatMap((delta) => [objectHeader(REF_DELTA, delta.length), base, stored(delta)]);
  return sealed(Buffer.concat([head, objectHeader(BLOB, 5), stored(Buffer.from('hello')), ...parts]));
}

function adler(content: Buffer): number {
  let a = 1;
  let b = 0;
  for (const byte of content) {
    a = (a + byte) % 65_521;
    b = (b + a) % 65_521;
  }
  return b * 65_536 + a;
}
