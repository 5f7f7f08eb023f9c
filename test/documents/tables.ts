import { existsSync, readFileSync } from 'node:fs';

/** Cells of the rows of the tables below a heading of a page, without their heads. */
export function rowsUnder(page: string, heading: string): string[][] {
  const text = page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const rows = text.split('\n').filter((line) => line.startsWith('| '));
  return rows.slice(2).map((line) => line.slice(2, -2).split(' | '));
}

/** Every test that a text names: `file` "title", "another title of that file". */
export function testsNamedIn(text: string): Array<{ file: string; title: string }> {
  const groups = [...text.matchAll(/`([\w/.-]+\.test\.ts)`((?:,? "[^"]+")+)/g)];
  return groups.flatMap(([, file = '', titles = '']) =>
    [...titles.matchAll(/"([^"]+)"/g)].map(([, title = '']) => ({ file, title })),
  );
}

/** The tests that a text names and that are not there: no such file, or no such title in it. */
export function missingTests(text: string): Array<{ file: string; title: string }> {
  return testsNamedIn(text).filter(
    ({ file, title }) => !existsSync(file) || !readFileSync(file, 'utf8').includes(title),
  );
}
