import { expect, test } from 'vitest';
import { systemClock } from '../../api/clock.ts';
import { limits } from '../../api/limits.ts';
import type { WatchedSet } from '../../contracts/cluster.ts';
import { createModel } from './model.ts';
import { groupKindsOf } from './rows.ts';

function sourceNaming(groupKinds: readonly string[]) {
  const annotations = { 'applyset.kubernetes.io/contains-group-kinds': groupKinds.join(',') };
  return {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name: 'shop', namespace: 'shop', annotations },
  };
}

test('a kind that a Source names 20,000 times is read once', () => {
  const source = sourceNaming(Array.from({ length: 20_000 }, () => 'ConfigMap'));

  expect(groupKindsOf(source)).toEqual([{ kind: 'ConfigMap', group: '' }]);
});

test('of 10,000 kinds that a Source names a bounded number is watched for its page', () => {
  const source = sourceNaming(Array.from({ length: 10_000 }, (_, index) => `Widget${index}.example.com`));

  const found = groupKindsOf(source);

  expect(found).toHaveLength(limits.kindsOutsideGit);
  expect(found[0]).toEqual({ kind: 'Widget0', group: 'example.com' });
});

function watchedSet(isSynced: () => boolean): WatchedSet {
  return {
    synced: isSynced,
    problem: () => undefined,
    isRefused: () => false,
    get: () => undefined,
    list: () => [],
    byKey: () => [],
    remember: () => undefined,
    refresh: async () => true,
    onChange: () => undefined,
    close: () => undefined,
  };
}

test('pages wait until the Canaries and the Sources of every namespace were read', () => {
  const read = { canaries: true, shop: true, delivery: true };
  const model = createModel({
    canaries: () => watchedSet(() => read.canaries),
    openWatch: ({ namespace }) => watchedSet(() => read[namespace as 'shop' | 'delivery']),
    namespaces: ['shop', 'delivery'],
    clock: systemClock,
    isLeader: () => true,
    problem: () => undefined,
    contact: () => undefined,
  });

  expect(model.isReady()).toBe(true);
  for (const each of ['canaries', 'shop', 'delivery'] as const) {
    read[each] = false;
    expect([each, model.isReady()]).toEqual([each, false]);
    read[each] = true;
  }
  model.close();
});
