import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { missingTests, rowsUnder } from './tables.ts';

const page = readFileSync('docs/security.md', 'utf8');
const rows = rowsUnder(page, 'Threats and defences');

test('the page of threats has a defence and a test for each, and names only tests that exist', () => {
  expect(rows.length).toBeGreaterThan(30);
  expect(rows.filter((cells) => cells.length !== 4).map(([, threat]) => threat)).toEqual([]);
  const files = rows.map(([, , , shown = '']) =>
    [...shown.matchAll(/`((?:src|test|docs)\/[\w/.-]+)`/g)].map(([, file = '']) => file),
  );
  expect(rows.filter((_, index) => files[index]?.length === 0).map(([, threat]) => threat)).toEqual([]);
  expect(files.flat().filter((file) => !existsSync(file))).toEqual([]);
  expect(missingTests(page)).toEqual([]);
});
