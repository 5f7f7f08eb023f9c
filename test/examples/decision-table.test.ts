import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');

test('every row of the decision table names a test on the bed, and every such test stands in the table', async () => {
  const page = await readFile(join(root, 'docs/guides/failed-promotion.md'), 'utf8');
  const named = [...page.matchAll(/\| `([a-z-]+)` \|$/gm)].map((found) => found[1]);
  const folder = join(root, 'test/cluster/scenarios');
  const files = (await readdir(folder)).filter((name) => name.endsWith('.test.ts'));
  const texts = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')));
  const titles = texts.flatMap((text) =>
    [...text.matchAll(/['`](?:\S+ )?\[([a-z-]+)\] /g)].map((found) => found[1]),
  );
  expect(named.length).toBeGreaterThan(10);
  expect([...new Set(titles)].sort()).toEqual([...new Set(named)].sort());
});
