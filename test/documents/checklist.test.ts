import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const page = readFileSync('docs/flagger-checklist.md', 'utf8');

/** Cells of the rows of the tables below a heading, without their heads. */
function rowsUnder(heading: string): string[][] {
  const text = page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const rows = text.split('\n').filter((line) => line.startsWith('| '));
  return rows.slice(2).map((line) => line.slice(2, -2).split(' | '));
}

/** Every test that a text names: `file` "title", "another title of that file". */
function namedIn(text: string): Array<{ file: string; title: string }> {
  const groups = [...text.matchAll(/`([\w/.-]+\.test\.ts)`((?:,? "[^"]+")+)/g)];
  return groups.flatMap(([, file = '', titles = '']) =>
    [...titles.matchAll(/"([^"]+)"/g)].map(([, title = '']) => ({ file, title })),
  );
}

const scripts = rowsUnder('End-to-end scripts');
const units = [...rowsUnder('Unit scenarios of the controller'), ...rowsUnder('Unit scenarios of targets')];

describe('the checklist', () => {
  test('has every script and every scenario of the controller', () => {
    const numbers = (rows: string[][]) => rows.map(([number]) => Number(number));
    expect(numbers(scripts)).toEqual(Array.from({ length: 23 }, (_, index) => index + 1));
    expect(numbers(rowsUnder('Unit scenarios of the controller'))).toEqual(
      Array.from({ length: 22 }, (_, index) => index + 1),
    );
    expect(rowsUnder('Unit scenarios of targets').length).toBeGreaterThan(15);
  });

  test('names a test in each row, or what it waits for', () => {
    const open = [...scripts, ...units].filter((row) => namedIn(row.at(-1) ?? '').length === 0);
    expect(open.filter((row) => !/^needs provider `\w+`$/.test(row.at(-1) ?? ''))).toEqual([]);
  });

  test('names only tests that exist', () => {
    const named = namedIn(page);
    expect(named.length).toBeGreaterThan(60);
    const missing = named.filter(
      ({ file, title }) => !existsSync(file) || !readFileSync(file, 'utf8').includes(title),
    );
    expect(missing).toEqual([]);
    expect([...page.matchAll(/`[\w/.-]+\.test\.ts`(?!,? ")/g)].map(([text]) => text)).toEqual([]);
  });

  test('names each provider that rows wait for among what is not there', () => {
    const waiting = [...scripts, ...units].flatMap((row) =>
      [...(row.at(-1) ?? '').matchAll(/needs provider `(\w+)`/g)].map(([, name = '']) => name),
    );
    const [first = []] = rowsUnder('Not there');
    expect([...new Set(waiting)].filter((name) => !first.at(-1)?.includes(`\`${name}\``))).toEqual([]);
  });
});
