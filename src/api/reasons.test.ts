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
    'Every word that stands as a reason in a Canary’s conditions and events, in the order a release meets them.',
    'Made from `src/api/reasons.ts`; the rollout cannot use another one.',
    '',
    '| reason | what happened | who serves | what comes next by itself | what you can do |',
    '|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

/** Reasons that may ask for a person have a page. */
function linked(reason: string): string {
  const page = runbookOf(reason);
  return page ? `[${reason}](${page.replace('docs/', '')})` : reason;
}

it('docs/reasons.md is the table of reasons (UPDATE_DOCS=1 writes it)', () => {
  if (process.env.UPDATE_DOCS) writeFileSync(page, render());
  expect(readFileSync(page, 'utf8')).toBe(render());
});

it('reasons are CamelCase and short enough for a column', () => {
  expect(Object.keys(rolloutReasons).filter((reason) => !/^[A-Z][A-Za-z]{1,24}$/.test(reason))).toEqual([]);
});
