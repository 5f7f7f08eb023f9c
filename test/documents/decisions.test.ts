import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const folder = join(root, 'docs/adr');

it('decisions are numbered once each, without a gap', () => {
  const numbers = readdirSync(folder).map((name) => Number(name.slice(0, 4)));

  expect(numbers.sort((a, b) => a - b)).toEqual(numbers.map((_, index) => index + 1));
});

const pages = readdirSync(folder).map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }));
const files = ['src', 'test', 'sandbox'].flatMap((top) =>
  readdirSync(join(root, top), { encoding: 'utf8', recursive: true }).map((path) => `/${top}/${path}`),
);

it.each(pages)('$name has a status, context, decision and consequences', ({ text }) => {
  const wanted = ['Status: ', '**Context.**', '**Decision', '**Consequences.**'];

  expect(wanted.filter((part) => !text.includes(`\n${part}`))).toEqual([]);
});

it.each(pages)('$name names files that there are', ({ text }) => {
  const named = [...text.matchAll(/`([\w./-]+\.tsx?)`/g)].map(([, path = '']) => path);

  expect(named.filter((path) => !files.some((file) => file.endsWith(`/${path}`)))).toEqual([]);
});
