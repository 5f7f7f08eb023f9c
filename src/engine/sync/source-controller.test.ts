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
    byKey: () => [],
    remember: () => undefined,
    refresh: async () => false,
    onChange: (listener) => void listeners.push(listener),
    close: () => undefined,
  };
  return {
    set,
    bring: (object: KubernetesObject | undefined) => listeners.forEach((listener) => void listener(object)),
  };
}

function optionsWith(
  given: Pick<SourceControllerOptions, 'sources' | 'canarySet' | 'openPoller'>,
): SourceControllerOptions {
  return {
    ...given,
    heads: createHeads(),
    rights: { isTrusted: () => false, ownNamespace: 'holdfast-system', protectedNamespaces: [] },
    clock: { nowMs: () => 0, setTimer: () => () => undefined },
    isFollowed: () => true,
    wakeCanary: () => undefined,
    log: { error: () => undefined },
    openWatch: () => watchedSet([]).set,
    repositories: {
      open: () => ({ keep: () => undefined, onNews: () => () => undefined }),
      forget: () => undefined,
      sweep: async () => undefined,
    },
  } as unknown as SourceControllerOptions;
}

test('a Source that changes while the program ends is not followed again', async () => {
  const sources = watchedSet([source]);
  const polling = new Set<string>();
  const options = optionsWith({
    sources: sources.set,
    canarySet: watchedSet([]).set,
    openPoller: () => ({
      start: () => void polling.add('shop'),
      wake: () => undefined,
      stop: async () => void polling.delete('shop'),
    }),
  });
  const controller = createSourceController(options);
  controller.start();
  sources.bring(source);
  await Promise.resolve();
  const before = [...polling];

  await controller.stop();
  sources.bring(source);
  await Promise.resolve();

  expect(before).toEqual(['shop']);
  expect([...polling]).toEqual([]);
});

test('a Canary of no Source has only those read again that may write its target', async () => {
  const inBank = { ...source, metadata: { ...source.metadata, namespace: 'bank', uid: '2' } };
  const canary: KubernetesObject = {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'Canary',
    metadata: { name: 'web', namespace: 'bank', uid: '3', generation: 1 },
    spec: { targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' } },
  };
  const sources = watchedSet([source, inBank]);
  const canaries = watchedSet([canary]);
  const woken: string[] = [];
  const options = optionsWith({
    sources: sources.set,
    canarySet: canaries.set,
    openPoller: ({ metadata }) => ({
      start: () => undefined,
      wake: () => void woken.push(metadata.namespace ?? ''),
      stop: async () => undefined,
    }),
  });
  const controller = createSourceController(options);
  controller.start();
  sources.bring(source);
  sources.bring(inBank);

  canaries.bring(canary);

  expect(woken).toEqual(['bank']);
  await controller.stop();
});

test('a Source that is nested as deeply as API servers take ends neither the process nor what follows the others', async () => {
  const values = JSON.parse(`${'{"a":'.repeat(9_000)}1${'}'.repeat(9_000)}`) as unknown;
  const deep = {
    ...source,
    metadata: { ...source.metadata, name: 'deep', uid: '2' },
    spec: { ...(source.spec as object), helm: { values } },
  };
  const sources = watchedSet([deep, source]);
  const polled: string[] = [];
  const options = optionsWith({
    sources: sources.set,
    canarySet: watchedSet([]).set,
    openPoller: ({ metadata }) => ({
      start: () => void polled.push(metadata.name),
      wake: () => undefined,
      stop: async () => undefined,
    }),
  });
  const controller = createSourceController(options);
  controller.start();

  sources.bring(undefined);
  await Promise.resolve();

  expect(polled).toEqual(['shop']);
  await controller.stop();
});
