import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { missingTests, rowsUnder, testsNamedIn } from './tables.ts';

const page = readFileSync('docs/invariants.md', 'utf8');
const rows = ['Safety', 'Liveness (after the last fault)'].flatMap((heading) => rowsUnder(page, heading));

function numbered(letter: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${letter}${index + 1}`);
}

test('every rule has a row, with files and tests that exist', () => {
  expect(rows.map(([rule]) => rule)).toEqual([...numbered('S', 33), ...numbered('L', 10)]);
  const files = rows.flatMap(([, , where = '']) => [...where.matchAll(/`([^`]+)`/g)].map(([, file]) => file));
  expect(files.filter((file = '') => !existsSync(file))).toEqual([]);
  expect(rows.filter(([, , where = '']) => !where.includes('`src/'))).toEqual([]);
  expect(rows.filter((row) => testsNamedIn(row.at(-1) ?? '').length === 0)).toEqual([]);
  expect(missingTests(page)).toEqual([]);
});
