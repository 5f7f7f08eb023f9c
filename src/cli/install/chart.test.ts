import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { chartFiles, installOptions } from './chart.test-support.ts';

const root = join(import.meta.dirname, '../../..');
const chart = join(root, 'deploy/chart');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };

it.each([...chartFiles(version)])(
  'deploy/chart/%s is made from the code (UPDATE_DOCS=1 writes it)',
  (path, text) => {
    const file = join(chart, path);
    if (process.env.UPDATE_DOCS === '1') writeFileSync(file, text);
    expect(readFileSync(file, 'utf8'), 'renew with UPDATE_DOCS=1').toBe(text);
  },
);

const schema = JSON.parse(chartFiles(version).get('values.schema.json') ?? '{}') as { properties: object };

it('every option of install is a value', () => {
  // The namespace is the release's.
  const others = ['namespace', 'output'];
  const byOtherName: Readonly<Record<string, string>> = { crdsOnly: 'crds', flag: 'flags' };
  const names = installOptions.map((option) => option.attributeName());
  const wanted = names.filter((name) => !others.includes(name)).map((name) => byOtherName[name] ?? name);
  expect(Object.keys(schema.properties)).toEqual(expect.arrayContaining(wanted));
});

it('values.yaml names every value, each with a comment', () => {
  const text = readFileSync(join(chart, 'values.yaml'), 'utf8');
  const names = Object.keys(schema.properties).filter((name) => name !== 'global');
  expect(Object.keys(parse(text) as object).sort()).toEqual(names.sort());
  for (const name of names) expect(text, name).toMatch(new RegExp(`^# .*\\n${name}:`, 'm'));
});
