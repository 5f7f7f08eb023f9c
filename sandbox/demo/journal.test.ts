import { describe, expect, test } from 'vitest';
import type { DemoEventBody } from './events.ts';
import { createJournal } from './journal.ts';

const names: Readonly<Record<string, string>> = { c2: 'v2', c3: 'v3' };

function journalOf(entries: ReadonlyArray<readonly [elapsedMs: number, happening: DemoEventBody]>) {
  const journal = createJournal((commit) => names[commit] ?? commit);
  for (const [elapsedMs, happening] of entries) journal.add({ time: '', elapsedMs, ...happening });
  return journal;
}

function commit(name: string): DemoEventBody {
  return { type: 'commit', name, commit: name, subject: name, intent: '' };
}

function state(phase: string, postPromotion = ''): DemoEventBody {
  return { type: 'state', phase, state: postPromotion, reason: '', message: '', next: '', nextTime: '' };
}

function allOn(role: 'primary' | 'canary', release: string): DemoEventBody {
  const canaryWeight = role === 'canary' ? 100 : 0;
  const serving = [{ role, commit: release, weight: 100, ready: 2 }];
  return { type: 'traffic', primaryWeight: 100 - canaryWeight, canaryWeight, serving };
}

function quiet(written: readonly string[]): DemoEventBody {
  return { type: 'quiet', gitRequests: 6, seconds: 3, written };
}

const badRelease: ReadonlyArray<readonly [number, DemoEventBody]> = [
  [0, commit('v3')],
  [5_000, state('Promoting', 'Held')],
  [5_100, allOn('canary', 'c3')],
  [9_000, state('Promoting', 'Reverting')],
  [9_500, allOn('primary', 'c2')],
  [9_600, state('Failed')],
];

describe('the journal of the demo', () => {
  test('measures from the failure to the last-known-good', () => {
    const journal = journalOf([...badRelease, [12_000, quiet([])], [13_000, commit('revert')]]);
    expect(journal.facts()).toMatchObject({ reverted: 'v3', failureToGoodMs: 4_500, heldMs: 4_400 });
    expect(journal.differences()).toEqual([]);
  });

  test('reports a write while the rejected commit is at head', () => {
    const journal = journalOf([...badRelease, [12_000, quiet(['Service shop'])]]);
    expect(journal.differences()).toMatchObject([{ expected: 'nothing', found: 'Service shop' }]);
  });

  test('reports an analysis after git revert', () => {
    const after: ReadonlyArray<readonly [number, DemoEventBody]> = [
      [12_000, quiet([])],
      [13_000, commit('revert')],
      [14_000, { type: 'checks', during: 'analysis', results: [] }],
      [15_000, { ...allOn('primary', 'c2'), canaryWeight: 20 } as DemoEventBody],
    ];
    expect(journalOf([...badRelease, ...after]).differences()).toHaveLength(2);
  });

  test('reports everything that never happened', () => {
    const journal = journalOf([[0, commit('v1')]]);
    expect(journal.differences()).toHaveLength(3);
    expect(journal.facts()).toMatchObject({
      promoted: [],
      reverted: '',
      failureToGoodMs: null,
      heldMs: null,
    });
  });
});
