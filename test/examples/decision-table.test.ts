import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');

test('every row of the decision table names a test of the whole program, and every such test stands in the table', async () => {
  const page = await readFile(join(root, 'docs/guides/failed-promotion.md'), 'utf8');
  const named = [...page.matchAll(/\| `([a-z-]+)` \|$/gm)].map((found) => found[1]);
  const titles: Array<string | undefined> = [];
  for (const folder of ['test/cluster/scenarios', 'test/sandbox/scenarios'])
    for (const name of (await readdir(join(root, folder))).filter((each) => each.endsWith('.test.ts'))) {
      const text = await readFile(join(root, folder, name), 'utf8');
      titles.push(...[...text.matchAll(/['`](?:\S+ )?\[([a-z-]+)\] /g)].map((found) => found[1]));
    }
  expect(named.length).toBeGreaterThan(10);
  expect([...new Set(titles)].sort()).toEqual([...new Set(named)].sort());
});
