import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { missingTests, rowsUnder, testsNamedIn } from './tables.ts';

const page = readFileSync('docs/comparison.md', 'utf8');
const rows = ['Reading Git', 'Rendering', 'Applying'].flatMap((heading) => rowsUnder(page, heading));

test('every "yes" of the comparison with Flux and Argo CD names tests that exist', () => {
  expect(rows.length).toBeGreaterThan(30);
  const yes = rows.filter(([, , , ours = '']) => /^yes/.test(ours));
  expect(yes.filter((row) => testsNamedIn(row.at(-1) ?? '').length === 0)).toEqual([]);
  expect(missingTests(page)).toEqual([]);
});
