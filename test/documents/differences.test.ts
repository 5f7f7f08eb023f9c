import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const page = readFileSync('docs/flagger-differences.md', 'utf8');
const rows = page.split('\n').filter((line) => line.startsWith('| ') && !/^\| (finding|---)/.test(line));

test('every finding about Flagger names tests that exist', () => {
  const without = rows.filter((row) => !/`[\w/.-]+\.test\.ts`/.test(row.split('|').at(-2) ?? ''));
  const named = [...page.matchAll(/`([\w/.-]+\.test\.ts)`/g)].map(([, path]) => path ?? '');
  expect(rows.length).toBeGreaterThan(0);
  expect(without).toEqual([]);
  expect(named.filter((path) => !existsSync(path))).toEqual([]);
});
