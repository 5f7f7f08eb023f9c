import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { runbookOf } from './incident.ts';
import { rolloutReasons } from './reasons.ts';

const page = resolve(import.meta.dirname, '../../docs/reasons.md');

const conditions = [
  [
    '`Ready`',
    'the primary runs the last-known-good with all traffic, nothing is under way, and nothing waits for a person',
    '`False`: the reason says why',
  ],
  [
    '`Reconciling`',
    'a release is under way',
    '`False`: none is, it is held, or only a person can continue it',
  ],
  ['`Stalled`', 'only a person can continue it, or the last release failed', ''],
  [
    '`Promoted`',
    'the last release was promoted and passed its checks',
    '`Unknown`: it is under way; `False`: it failed',
  ],
  [
    '`Verified`',
    'it passed its checks after promotion',
    '`Unknown`: they run; `False`: they failed, or a newer commit ended them',
  ],
  ['`Held`', 'a release is held after promotion', ''],
  ['`Reverted`', 'the last release was rolled back after promotion', '`Unknown`: this is under way'],
  [
    '`Drifted`',
    'another writer changed the primary or its copies of config, or keeps changing Services or route',
    '`False` with the reason `Corrected`: what was put back last, and when',
  ],
  [
    '`RollbackReady`',
    'a rollback to the last-known-good is possible, as far as its record, or the last drill, shows',
    '`False`: the reason says why not',
  ],
  [
    '`RecordReproduced`',
    'after a revert: the commit of the last-known-good still renders to what the record holds',
    '`False`: it does not, and the content of the record was applied; `Unknown`: the commit cannot be rendered',
  ],
  ['`Frozen`', 'a [freeze](guides/holding-back.md#freeze) covers it', ''],
  [
    '`ForeignController`',
    '[Flagger is running](guides/with-other-tools.md#while-flagger-is-running), so Holdfast writes nothing',
    '',
  ],
  ['`FieldsNotActedOn`', 'its spec has fields without effect', 'absent'],
  ['`SpecWarnings`', 'fields have another effect than written, or name objects that do not exist', 'absent'],
  [
    '`WrittenToGit`',
    'what [`spec.write`](guides/write-back.md) of the Source asks for is in Git',
    '`False`: the reason says why not',
  ],
];

function render(): string {
  const rows = Object.entries(rolloutReasons).map(
    ([reason, { meaning, serves, next, act }]) =>
      `| ${linked(reason)} | ${meaning} | ${serves} | ${next} | ${act} |`,
  );
  return [
    '# Reasons',
    '',
    'The conditions of a Canary, and the reasons that a rollout gives in conditions and events. Reasons of Sources, of an invalid spec and of',
    'the API server are in [troubleshooting](guides/troubleshooting.md). Generated from `src/api/reasons.ts`.',
    '',
    '## Conditions',
    '',
    '| condition | `True` | otherwise |',
    '|---|---|---|',
    ...conditions.map((cells) => `| ${cells.join(' | ')} |`),
    '',
    '## Reasons',
    '',
    'In the order in which a release meets them.',
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
