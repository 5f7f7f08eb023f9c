import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const texts = ['src', 'test', 'docs'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ts|md|json)$/.test(name))
    .map((name) => ({ path: join(folder, name), text: readFileSync(join(folder, name), 'utf8') })),
);

/** Numbers of a page's headings: `2`, `2.3`. */
function sectionsOf(page: string): Set<string> {
  const headings = readFileSync(page, 'utf8').matchAll(/^#+ (\d+(?:\.\d+)*)[. ]/gm);
  return new Set([...headings].map(([, number = '']) => number));
}

/** Sections that are cited by these words and not on the page, with where; a citation may go over a line of a comment. */
function missing(cited: RegExp, page: string): string[] {
  const known = sectionsOf(page);
  return texts.flatMap(({ path, text }) =>
    [...text.replaceAll(/\n\s*\* /g, ' ').matchAll(cited)]
      .flatMap(([, numbers = '']) => numbers.match(/\d+(?:\.\d+)*/g) ?? [])
      .filter((number) => !known.has(number))
      .map((number) => `${path}: ${number}`),
  );
}

test('every cited section of the design exists', () => {
  expect(sectionsOf('docs/design.md').size).toBeGreaterThan(8);
  expect(missing(/\bdesign(?: sections?)? (\d[\d.]*(?: and \d[\d.]*)*)/g, 'docs/design.md')).toEqual([]);
});

test("every cited section of Flagger's behaviour exists", () => {
  expect(sectionsOf('docs/flagger-behaviour.md').size).toBeGreaterThan(30);
  const cited = /\bflagger-behaviour(?:\.md)? (\d+(?:\.\d+)*(?:(?:, | and )\d+\.\d+(?:\.\d+)*)*)/g;
  expect(missing(cited, 'docs/flagger-behaviour.md')).toEqual([]);
});

test('every cited invariant exists', () => {
  const known = new Set(readFileSync('docs/invariants.md', 'utf8').match(/(?<=^\| )[SL]\d+(?= \|)/gm));
  const cited = texts.flatMap(({ path, text }) =>
    [...text.matchAll(/\((S\d+|L\d+)(?:-[SL]?\d+)?\)/g)].map(([, rule = '']) => ({ path, rule })),
  );
  expect(known.size).toBe(43);
  expect(cited.filter(({ rule }) => !known.has(rule))).toEqual([]);
});
