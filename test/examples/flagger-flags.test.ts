import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { controllerCommand } from '../../src/cli/controller-flags.ts';
import { receiversOf } from '../../src/cli/run.ts';
import { type FlaggerFlag, flaggerFlags } from '../documents/flagger-flags.ts';

const page = join(import.meta.dirname, '../../docs/configuration.md');

test('the page has a row for every flag and environment variable of Flagger', () => {
  const text = readFileSync(page, 'utf8');
  const wanted = text.replace(
    /<!-- flagger -->[\s\S]*?<!-- end -->/,
    `<!-- flagger -->\n${table()}<!-- end -->`,
  );
  if (process.env.UPDATE_DOCS) writeFileSync(page, wanted);
  expect(text).toContain('<!-- flagger -->');
  expect(process.env.UPDATE_DOCS ? wanted : text, 'renew with UPDATE_DOCS=1').toBe(wanted);
});

test('every flag that stands for one of Flagger is one of run', () => {
  const known = controllerCommand().options.map(({ long }) => long);
  const named = flaggerFlags.flatMap(({ flags = [] }) => flags);
  expect(named.filter((flag) => !known.includes(flag))).toEqual([]);
});

test('every row says what stands for it, and none is there twice', () => {
  expect(flaggerFlags.filter(({ flags, environment, note }) => !flags && !environment && !note)).toEqual([]);
  expect(new Set(flaggerFlags.map(({ name }) => name)).size).toBe(flaggerFlags.length);
});

test('every environment variable of Flagger is read', () => {
  const read = new Set<string>();
  const env = new Proxy({} as Record<string, string>, {
    get(_, name: string) {
      read.add(name);
      return name === 'SLACK_URL' ? 'https://slack.test/' : undefined;
    },
  });
  receiversOf({ slackUser: 'flagger', slackChannel: 'general' }, env);
  const named = flaggerFlags.filter(({ environment }) => environment).map(({ name }) => name);
  expect([...read].sort()).toEqual(named.sort());
});

function table(): string {
  const rows = flaggerFlags.map((flag) => `| ${shown(flag)} | ${code(flag.preset)} | ${here(flag)} |`);
  return ['', "| Flagger's | default there | here |", '| --- | --- | --- |', ...rows, '', ''].join('\n');
}

function shown({ name, environment }: FlaggerFlag): string {
  return environment ? `\`${name}\` (environment)` : `\`-${name}\``;
}

function here({ name, flags, environment, note }: FlaggerFlag): string {
  const own = flags?.map(code).join(', ') ?? (environment ? code(name) : '');
  return [own, note].filter(Boolean).join('; ');
}

function code(text: string): string {
  return text === '' ? '' : `\`${text}\``;
}
