import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

/** What Flagger 1.44 was seen to do is played as thirteen scenarios (issue 4); each has a test that starts with its number. */
const scenarios = 13;

test('each of the thirteen scenarios is a named test of the whole program', () => {
  const texts = ['../cluster/scenarios', '../sandbox/scenarios']
    .map((folder) => resolve(import.meta.dirname, folder))
    .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
    .filter((path) => path.endsWith('.test.ts'))
    .map((path) => readFileSync(path, 'utf8'));
  const numbers = texts.flatMap((text) =>
    [...text.matchAll(/\btest(?:\.each\([^)]*\))?\(\s*['`](\d+): /g)].map(([, number]) => Number(number)),
  );
  const wanted = Array.from({ length: scenarios }, (_, index) => index + 1);
  expect([...new Set(numbers)].sort((a, b) => a - b)).toEqual(wanted);
});
