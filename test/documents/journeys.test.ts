import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { missingTests, testsNamedIn } from './tables.ts';

test('every journey has steps and minutes, and names tests that exist', () => {
  const page = readFileSync('docs/journeys.md', 'utf8');
  const rows = page
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(2)
    .map((line) => line.slice(2, -2).split(' | '));
  expect(rows.length).toBeGreaterThanOrEqual(16);
  const incomplete = rows.filter(
    ([, steps = '', minutes = '', tests = '']) =>
      steps === '' || !/^\d+$/.test(minutes) || testsNamedIn(tests).length === 0,
  );
  expect(incomplete).toEqual([]);
  expect(missingTests(page)).toEqual([]);
});
