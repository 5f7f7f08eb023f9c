import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CanaryStatus } from '../../src/api/canary/status.ts';
import { contextOf } from '../../src/rollout/context.ts';
import { type State, type StateKind, stateOf, statusOf } from '../../src/rollout/state.ts';
import { TABLE } from '../../src/rollout/table.ts';
import { STAGES, type Stage } from '../../src/rollout/verbs/verbs.ts';
import { events } from './matrix/events.ts';
import { columnsOf } from './matrix/expected.ts';
import { page as pageByEvent } from './matrix/page.ts';
import { GOOD, Model } from './model.ts';
import stored from './stored-statuses.json' with { type: 'json' };

const kinds = Object.keys(TABLE) as StateKind[];

/** What requests do at each stage of a release. */
const REQUESTS: Readonly<Record<Stage, string>> = {
  first: 'refused: there is no release to revert to, and the first release is promoted automatically',
  idle: '`retry` lifts the rejection of head; `rollback-to` rolls out an older recorded release, or keeps head from starting; `ignore-window` lets head start',
  trying:
    '`approve` and `ignore-window` let it start or continue; `promote` skips the rest of its checks; `skip-step` skips one; `abort` and `rollback-to` end and reject it',
  written:
    '`promote` accepts it as good while it is verified, and keeps a held one from being reverted automatically; `abort` and `rollback-to` revert the primary and reject the release',
  ending: '`retry`, and `rollback-to` an older release, wait until it has ended; the others are refused',
  revertFailed:
    '`retry` tries head again without a new commit; `rollback-to` rolls out an older recorded release; `abort` is refused',
};

function page(): string {
  const rows = kinds.map((kind) => {
    const { phase, meaning, serves, followsHead, deadline, checks, writes } = TABLE[kind];
    return [
      `## ${kind}`,
      '',
      `${meaning[0]?.toUpperCase()}${meaning.slice(1)}.`,
      '',
      '| | |',
      '|---|---|',
      `| phase | ${phase} |`,
      `| who serves | ${serves} |`,
      `| when head changes | ${followsHead} |`,
      `| deadline | ${deadline} |`,
      `| checks | ${checks} |`,
      `| what is written | ${writes} |`,
      `| requests | ${REQUESTS[STAGES[kind]]} |`,
      '',
    ].join('\n');
  });
  return [
    '# States',
    '',
    'The states of a Canary. Generated from the table by which the program runs (`src/rollout/table.ts`). In every state traffic moves from a',
    'side without ready pods to one that has some, deleted objects are restored, and webhooks of type `rollback` are asked. What an event',
    'changes in each state is in [state by event](state-by-event.md); the reasons in the status are in [reasons](../reasons.md).',
    '',
    ...rows,
  ].join('\n');
}

describe('the table of states', () => {
  it('is docs/guides/states.md (UPDATE_DOCS=1 writes it)', () => {
    const path = resolve(import.meta.dirname, '../../docs/guides/states.md');
    if (process.env.UPDATE_DOCS) writeFileSync(path, page());
    expect(readFileSync(path, 'utf8')).toBe(page());
  });

  it('says for each state who serves, what head does and which deadline ends it', () => {
    const silent = kinds.filter((kind) => {
      const { serves, followsHead, deadline } = TABLE[kind];
      return [serves, followsHead, deadline].some((words) => words.length < 5);
    });
    expect(silent).toEqual([]);
  });
});

describe('the table of states by events', () => {
  it('names no state twice in one row', () => {
    const twice = events.filter((event) => new Set(columnsOf(event)).size < columnsOf(event).length);
    expect(twice).toEqual([]);
  });

  it('is docs/guides/state-by-event.md (UPDATE_DOCS=1 writes it)', () => {
    const path = resolve(import.meta.dirname, '../../docs/guides/state-by-event.md');
    if (process.env.UPDATE_DOCS) writeFileSync(path, pageByEvent());
    expect(readFileSync(path, 'utf8')).toBe(pageByEvent());
  });
});

/** A world with `a` proven, whose status is this one. */
function stateIn(status: CanaryStatus): State {
  const model = new Model();
  model.commit('a');
  model.until('Initialized');
  model.commit('b', GOOD);
  return stateOf(contextOf({ ...model.world(), status }));
}

describe('a status that an earlier version stored', () => {
  it.each(Object.entries(stored as unknown as Record<string, CanaryStatus>))('%s is read', (name, status) => {
    expect(stateIn(status).kind).toBe(name.split(':')[0]);
  });

  it.each(Object.entries(stored as unknown as Record<string, CanaryStatus>))(
    '%s is written as it was read',
    (_name, status) => {
      const once = statusOf(stateIn(status));
      expect(statusOf(stateIn({ ...status, ...once } as CanaryStatus))).toEqual(once);
    },
  );
});
