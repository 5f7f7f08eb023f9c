import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  emptyStore,
  freshDirectory,
  prepareStore,
  readShallow,
  storeSize,
  swapStore,
  writeShallow,
} from './store-directory.ts';

let root: string;
let store: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'holdfast-store-'));
  store = join(root, 'a.git');
});
afterEach(() => rmSync(root, { recursive: true }));

/** Marks a store, to distinguish it from another. */
async function marked(directory: string, mark: string): Promise<void> {
  await emptyStore(directory);
  writeFileSync(join(directory, 'mark'), mark);
}

test('a swap puts the replacement into place and leaves nothing else', async () => {
  await marked(store, 'old');
  await marked(freshDirectory(store), 'new');
  await swapStore(store);
  expect(readFileSync(join(store, 'mark'), 'utf8')).toBe('new');
  expect([existsSync(`${store}.old`), existsSync(freshDirectory(store))]).toEqual([false, false]);
});

test('after a crash between the two renames of a swap the old store is used', async () => {
  await marked(store, 'old');
  renameSync(store, `${store}.old`);
  await prepareStore(store);
  expect(readFileSync(join(store, 'mark'), 'utf8')).toBe('old');
});

test('after a crash before the old store was removed, the new one is used', async () => {
  await marked(`${store}.old`, 'old');
  await marked(store, 'new');
  await prepareStore(store);
  expect(readFileSync(join(store, 'mark'), 'utf8')).toBe('new');
  expect(existsSync(`${store}.old`)).toBe(false);
});

test('what a crash left of a pack is removed', async () => {
  await marked(store, 'kept');
  writeFileSync(join(store, 'incoming', 'half.pack'), 'PACK');
  await prepareStore(store);
  expect(existsSync(join(store, 'incoming', 'half.pack'))).toBe(false);
  expect(existsSync(join(store, 'mark'))).toBe(true);
});

test('a directory without a HEAD becomes an empty store', async () => {
  mkdirSync(join(store, 'objects'), { recursive: true });
  await prepareStore(store);
  expect(existsSync(join(store, 'HEAD'))).toBe(true);
});

test('a store that lost its folder of packs gets it again', async () => {
  await marked(store, 'kept');
  rmSync(join(store, 'objects'), { recursive: true });
  await prepareStore(store);
  expect((await storeSize(store)).packs).toBe(0);
});

test('the shallow boundary is read back, lines that are no ids left out', async () => {
  await emptyStore(store);
  expect(await readShallow(store)).toEqual(new Set());
  await writeShallow(store, new Set(['1'.repeat(40)]));
  writeFileSync(join(store, 'shallow'), `${readFileSync(join(store, 'shallow'), 'utf8')}garbage\n`);
  expect(await readShallow(store)).toEqual(new Set(['1'.repeat(40)]));
});
