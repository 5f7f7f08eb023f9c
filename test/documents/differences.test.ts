import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const page = readFileSync('docs/flagger-differences.md', 'utf8');
const rows = page.split('\n').filter((line) => line.startsWith('| ') && !/^\| (problem|---)/.test(line));

test('every problem of Flagger names tests that exist', () => {
  const where = (row: string) => row.split('|').at(-2)?.trim() ?? '';
  const without = rows.filter((row) => where(row) !== 'the same' && !/`[\w/.-]+\.test\.ts`/.test(where(row)));
  const named = [...page.matchAll(/`([\w/.-]+\.test\.ts)`/g)].map(([, path]) => path ?? '');
  expect(rows.length).toBeGreaterThan(0);
  expect(without).toEqual([]);
  expect(named.filter((path) => !existsSync(path))).toEqual([]);
});
