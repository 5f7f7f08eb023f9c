import { expect, test } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { WatchedSet } from '../../contracts/cluster.ts';
import { createHeads } from '../canary/context/heads.ts';
import { createSourceController, type SourceControllerOptions } from './source-controller.ts';

const source: KubernetesObject = {
  apiVersion: 'holdfast.dev/v1alpha1',
  kind: 'Source',
  metadata: { name: 'shop', namespace: 'shop', uid: '1', generation: 1 },
  spec: { url: 'https://git.example.com/shop.git', ref: { branch: 'main' }, interval: '30s' },
};

/** A watch whose news the test brings. */
function watchedSet(objects: readonly KubernetesObject[]) {
  const listeners: Array<(object: KubernetesObject | undefined) => void> = [];
  const set: WatchedSet = {
    synced: () => true,
    problem: () => undefined,
    isRefused: () => false,
    get: (namespace, name) =>
      objects.find(({ metadata }) => metadata.name === name && metadata.namespace === namespace),
    list: () => objects,
    remember: () => undefined,
    refresh: async () => false,
    onChange: (listener) => void listeners.push(listener),
    close: () => undefined,
  };
  return { set, bring: () => listeners.forEach((listener) => void listener(source)) };
}

test('a Source that changes while the program ends is not followed again', async () => {
  const sources = watchedSet([source]);
  const polling = new Set<string>();
  const options = {
    sources: sources.set,
    canarySet: watchedSet([]).set,
    heads: createHeads(),
    rights: { isTrusted: () => true },
    clock: { nowMs: () => 0, setTimer: () => () => undefined },
    isFollowed: () => true,
    isOurs: () => true,
    wakeCanary: () => undefined,
    openWatch: () => watchedSet([]).set,
    repositories: {
      open: () => ({ keep: () => undefined, onNews: () => () => undefined }),
      forget: () => undefined,
      sweep: async () => undefined,
    },
    openPoller: () => ({
      start: () => void polling.add('shop'),
      wake: () => undefined,
      stop: async () => void polling.delete('shop'),
    }),
  } as unknown as SourceControllerOptions;
  const controller = createSourceController(options);
  controller.start();
  sources.bring();
  await Promise.resolve();
  const before = [...polling];

  await controller.stop();
  sources.bring();
  await Promise.resolve();

  expect(before).toEqual(['shop']);
  expect([...polling]).toEqual([]);
});
