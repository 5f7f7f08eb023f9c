import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CanaryStatus } from '../../src/api/canary/status.ts';
import { contextOf } from '../../src/rollout/context.ts';
import { type State, type StateKind, stateOf, statusOf } from '../../src/rollout/state.ts';
import { TABLE } from '../../src/rollout/table.ts';
import { STAGES, type Stage } from '../../src/rollout/verbs/verbs.ts';
import { GOOD, Model } from './model.ts';
import stored from './stored-statuses.json' with { type: 'json' };

const kinds = Object.keys(TABLE) as StateKind[];

/** What requests do at each stage of a release. */
const REQUESTS: Readonly<Record<Stage, string>> = {
  first: 'refused: there is nothing to go back to, and the first release is promoted by itself',
  idle: '`retry` lifts the rejection of head; `rollback-to` rolls an older kept release out, or keeps head away; `ignore-window` lets head start',
  trying:
    '`approve` and `ignore-window` let it start or go on; `promote` leaves the rest of its checks out; `skip-step` leaves one out; `abort` and `rollback-to` end it, and reject it',
  written:
    '`promote` counts it as good while it is verified, and keeps a held one from being reverted by itself; `abort` and `rollback-to` take the primary back, and reject it',
  leaving: '`retry` and `rollback-to` further back wait until it has ended; the others are refused',
  fallen:
    '`retry` tries head again without a new commit; `rollback-to` takes an older kept release; `abort` is refused',
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
      `| what head does | ${followsHead} |`,
      `| which deadline ends it | ${deadline} |`,
      `| checks | ${checks} |`,
      `| what may be written | ${writes} |`,
      `| requests | ${REQUESTS[STAGES[kind]]} |`,
      '',
    ].join('\n');
  });
  return [
    '# States',
    '',
    'Where a Canary stands: each state is a row of one table, by which the program runs (`src/rollout/table.ts`); this page is made from it. In every state',
    'traffic leaves a copy that has no ready pod for one that has some, what somebody deleted comes back, and a `rollback` webhook is heard. What becomes of each state when',
    'something happens in it is played, pair by pair, in [state by event](state-by-event.md); the words of the status line are in [reasons](../reasons.md).',
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
