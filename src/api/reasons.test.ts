import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { runbookOf } from './incident.ts';
import { rolloutReasons } from './reasons.ts';

const page = resolve(import.meta.dirname, '../../docs/reasons.md');

function render(): string {
  const rows = Object.entries(rolloutReasons).map(
    ([reason, { meaning, serves, next, act }]) =>
      `| ${linked(reason)} | ${meaning} | ${serves} | ${next} | ${act} |`,
  );
  return [
    '# Reasons',
    '',
    'All reasons in the conditions and events of a Canary, in the order in which a release meets them.',
    'Generated from `src/api/reasons.ts`.',
    '',
    '| reason | what happened | who serves | what happens next automatically | what you can do |',
    '|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

/** Reasons that may ask for a person have a page. */
function linked(reason: string): string {
  const page = runbookOf(reason, '/');
  return page ? `[${reason}](${page.replace('/docs/', '')})` : reason;
}

it('docs/reasons.md is the table of reasons (UPDATE_DOCS=1 writes it)', () => {
  if (process.env.UPDATE_DOCS) writeFileSync(page, render());
  expect(readFileSync(page, 'utf8')).toBe(render());
});

it('reasons are CamelCase and short enough for a column', () => {
  expect(Object.keys(rolloutReasons).filter((reason) => !/^[A-Z][A-Za-z]{1,24}$/.test(reason))).toEqual([]);
});
