import { expect, test } from 'vitest';
import { systemClock } from '../../api/clock.ts';
import type { WatchedSet } from '../../contracts/cluster.ts';
import { createModel } from './model.ts';

function watchedSet(isSynced: () => boolean): WatchedSet {
  return {
    ...{ synced: isSynced, problem: () => undefined, get: () => undefined, list: () => [] },
    ...{ remember: () => undefined, refresh: async () => true, onChange: () => undefined },
    close: () => undefined,
  };
}

test('pages wait until the Canaries and the Sources of every namespace were read', () => {
  const read = { canaries: true, shop: true, delivery: true };
  const model = createModel({
    canaries: () => watchedSet(() => read.canaries),
    openWatch: ({ namespace }) => watchedSet(() => read[namespace as 'shop' | 'delivery']),
    namespaces: ['shop', 'delivery'],
    ...{ clock: systemClock, isLeader: () => true, problem: () => undefined, contact: () => undefined },
  });

  expect(model.isReady()).toBe(true);
  for (const each of ['canaries', 'shop', 'delivery'] as const) {
    read[each] = false;
    expect([each, model.isReady()]).toEqual([each, false]);
    read[each] = true;
  }
  model.close();
});
