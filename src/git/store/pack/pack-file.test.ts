import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestRepository, noise } from '../../testing/test-repository.ts';
import { createBaseCache, objectId, openPack } from './pack-file.ts';
import { applyDelta } from './pack-format.ts';
import { parsePackIndex } from './pack-index.ts';

let root: string;
let pack: string;

/** A repository whose pack holds every type of object and chains of both kinds of deltas. */
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'holdfast-pack-'));
  const repository = createTestRepository(root, 'shop');
  const lines = Array.from({ length: 400 }, (_, index) => `line ${index} ${noise(index, 20)}`);
  for (let number = 0; number < 30; number += 1) {
    lines[number * 7] = `changed ${number}`;
    repository.commit({ 'large.yaml': lines.join('\n'), [`dir-${number}/a.yaml`]: `a: ${number}` });
  }
  repository.git('tag', '-a', '-m', 'Release', 'v1');
  repository.git('push', '-q', 'origin', 'v1');
  repository.bare('-c', 'repack.useDeltaBaseOffset=true', 'repack', '-adfq', '--depth=50', '--window=50');
  const folder = join(root, 'shop.git', 'objects', 'pack');
  const [name = ''] = readdirSync(folder).filter((file) => file.endsWith('.idx'));
  pack = join(folder, name.slice(0, -4));
});
afterAll(() => rmSync(root, { recursive: true }));

function git(...args: string[]): Buffer {
  return execFileSync('git', ['-C', join(root, 'shop.git'), ...args], { maxBuffer: 1e9 });
}

test('reads every object as Git does', async () => {
  const file = await openPack(pack, createBaseCache());
  const listed = git(
    'cat-file',
    '--batch-all-objects',
    '--batch-check=%(objectname) %(objecttype) %(objectsize)',
  );
  const expected = listed.toString().trim().split('\n').sort();
  const found: string[] = [];
  for (const [oid] of file.index.entries()) {
    const object = await file.read(oid);
    found.push(`${oid} ${object?.type} ${object?.bytes.length}`);
  }
  await file.close();
  expect(found.sort()).toEqual(expected);
  expect(git('verify-pack', '-v', `${pack}.idx`).toString()).toMatch(/chain length = [5-9]/);
});

test('is closed for good: a read that comes too late opens nothing', async () => {
  const file = await openPack(pack, createBaseCache());
  const [oid = ''] = git('rev-parse', 'HEAD').toString().trim().split('\n');
  expect(await file.read(oid)).toBeDefined();
  await file.close();
  await expect(file.read(oid)).rejects.toThrow('is closed');
});

test('does not find what the pack does not hold', async () => {
  const file = await openPack(pack, createBaseCache());
  for (const oid of ['0'.repeat(40), 'f'.repeat(40), `00${'1'.repeat(38)}`])
    expect(await file.read(oid)).toBeUndefined();
});

test('a corrupted byte is reported, and the object is not returned', async () => {
  const bytes = readFileSync(`${pack}.pack`);
  const index = readFileSync(`${pack}.idx`);
  const copy = join(root, 'damaged');
  for (let at = 12; at < bytes.length - 20; at += 997) {
    const damaged = Buffer.from(bytes);
    damaged[at] = (damaged[at] ?? 0) ^ 0x11;
    writeFileSync(`${copy}.pack`, damaged);
    writeFileSync(`${copy}.idx`, index);
    const file = await openPack(copy, createBaseCache());
    const oids = [...file.index.entries()].map(([oid]) => oid);
    const results = await Promise.allSettled(oids.map((oid) => file.read(oid)));
    await file.close();
    const given = results.map((result) => (result.status === 'fulfilled' ? result.value : undefined));
    expect(given.some((object) => object === undefined)).toBe(true);
    expect(given.every((object, number) => !object || objectId(object) === oids[number])).toBe(true);
  }
});

test('a truncated pack or index is reported', async () => {
  const copy = join(root, 'cut');
  writeFileSync(`${copy}.pack`, readFileSync(`${pack}.pack`));
  writeFileSync(`${copy}.idx`, readFileSync(`${pack}.idx`));
  truncateSync(`${copy}.pack`, 100);
  const file = await openPack(copy, createBaseCache());
  const [last = ''] = [...file.index.entries()].sort(([, a], [, b]) => b - a)[0] ?? [];
  await expect(file.read(last)).rejects.toThrow(RangeError);
  await file.close();
  expect(() => parsePackIndex(readFileSync(`${copy}.idx`).subarray(0, 1_500))).toThrow(RangeError);
});

test.each([
  ['another base', [9, 1, 1, 65]],
  ['a copy from outside the base', [3, 5, 0x91, 2, 5]],
  ['less than it says', [3, 5, 1, 65]],
  ['more than it says', [3, 1, 2, 65, 66]],
  ['an unknown instruction', [3, 1, 0]],
])('a delta with %s is refused', (_, delta) => {
  expect(() => applyDelta(Buffer.from('abc'), Uint8Array.from(delta))).toThrow(RangeError);
});
