import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { rowsUnder, testsNamedIn } from './tables.ts';

const page = readFileSync('docs/flagger-checklist.md', 'utf8');

const rowsOf = (heading: string) => rowsUnder(page, heading);
const scripts = rowsOf('End-to-end scripts');
const units = [...rowsOf('Unit scenarios of the controller'), ...rowsOf('Unit scenarios of targets')];

describe('the checklist', () => {
  test('has every script and every scenario of the controller', () => {
    const numbers = (rows: string[][]) => rows.map(([number]) => Number(number));
    expect(numbers(scripts)).toEqual(Array.from({ length: 23 }, (_, index) => index + 1));
    expect(numbers(rowsOf('Unit scenarios of the controller'))).toEqual(
      Array.from({ length: 22 }, (_, index) => index + 1),
    );
    expect(rowsOf('Unit scenarios of targets').length).toBeGreaterThan(15);
  });

  test('names a test in each row, or what it waits for', () => {
    const open = [...scripts, ...units].filter((row) => testsNamedIn(row.at(-1) ?? '').length === 0);
    expect(open.filter((row) => !/^needs provider `\w+`$/.test(row.at(-1) ?? ''))).toEqual([]);
  });

  test('names only tests that exist', () => {
    const named = testsNamedIn(page);
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
    const [first = []] = rowsOf('Not there');
    expect([...new Set(waiting)].filter((name) => !first.at(-1)?.includes(`\`${name}\``))).toEqual([]);
  });
});
