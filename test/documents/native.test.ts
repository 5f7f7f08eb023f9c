import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { rowsUnder, testsNamedIn } from './tables.ts';

const page = readFileSync('docs/guides/native.md', 'utf8');

test('what does not fit provider native names tests that exist', () => {
  expect(rowsUnder(page, 'Limitations').length).toBeGreaterThan(10);
  const named = testsNamedIn(page);
  const missing = named.filter(
    ({ file, title }) => !existsSync(file) || !readFileSync(file, 'utf8').includes(title),
  );
  expect([named.length > 10, missing]).toEqual([true, []]);
});
