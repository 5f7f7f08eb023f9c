import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

/** What Flagger 1.44 was seen to do is played as thirteen scenarios (issue 4); each has a test on the bed that starts with its number. */
const scenarios = 13;

test('each of the thirteen scenarios is a named test on the bed', () => {
  const folder = resolve(import.meta.dirname, '../cluster/scenarios');
  const texts = readdirSync(folder)
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => readFileSync(join(folder, name), 'utf8'));
  const numbers = texts.flatMap((text) =>
    [...text.matchAll(/\btest(?:\.each\([^)]*\))?\(\s*['`](\d+): /g)].map(([, number]) => Number(number)),
  );
  const wanted = Array.from({ length: scenarios }, (_, index) => index + 1);
  expect([...new Set(numbers)].sort((a, b) => a - b)).toEqual(wanted);
});
