import { expect, test } from 'vitest';
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import { partOfLabel } from '../../../api/metadata.ts';
import type { OpenWatch, WatchedSet, WatchQuery } from '../../../contracts/cluster.ts';
import { createMemberWatches } from './members.ts';

function config(name: string, owner: string | undefined, namespace = 'shop'): KubernetesObject {
  const labels = owner === undefined ? {} : { [partOfLabel]: owner };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, labels } };
}

function place(namespace?: string) {
  return { apiVersion: 'v1', kind: 'ConfigMap', namespace };
}

/** Watches that the test feeds. */
function aCluster() {
  const opened: WatchQuery[] = [];
  const objects = new Map<string, KubernetesObject>();
  const listeners = new Set<(object: KubernetesObject | undefined) => void>();
  let closed = 0;
  let isSynced = false;
  const set: WatchedSet = {
    synced: () => isSynced,
    problem: () => undefined,
    get: (namespace, name) => objects.get(`${namespace}/${name}`),
    list: () => [...objects.values()],
    remember: () => undefined,
    refresh: async () => false,
    onChange: (listener) => void listeners.add(listener),
    close: () => {
      closed += 1;
    },
  };
  const openWatch: OpenWatch = (query) => {
    opened.push(query);
    return set;
  };
  const tell = (object: KubernetesObject | undefined) =>
    listeners.forEach((listener) => void listener(object));
  return {
    opened,
    openWatch,
    closed: () => closed,
    put(object: KubernetesObject) {
      objects.set(`${object.metadata.namespace}/${object.metadata.name}`, object);
      if (isSynced) tell(object);
    },
    remove(object: KubernetesObject) {
      objects.delete(`${object.metadata.namespace}/${object.metadata.name}`);
      tell(object);
    },
    sync() {
      isSynced = true;
      tell(undefined);
    },
  };
}

function names(set: WatchedSet): string[] {
  return set.list().map(({ metadata }) => metadata.name);
}

test('Sources of one namespace share a watch, and each sees and hears of its own objects', () => {
  const cluster = aCluster();
  const open = createMemberWatches(cluster.openWatch, true);
  const first = open(place('shop'), 'first');
  const second = open(place('shop'), 'second');
  const heard: string[] = [];
  first.onChange((object) => heard.push(`first ${object?.metadata.name}`));
  second.onChange((object) => heard.push(`second ${object?.metadata.name}`));
  cluster.put(config('a', 'first'));
  cluster.sync();
  cluster.put(config('b', 'second'));

  expect(cluster.opened).toEqual([
    { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', labelSelector: partOfLabel },
  ]);
  expect([names(first), names(second)]).toEqual([['a'], ['b']]);
  expect([first.get('shop', 'b'), second.get('shop', 'a')]).toEqual([undefined, undefined]);
  expect(heard).toEqual(['first undefined', 'second undefined', 'second b']);
});

test('both hear of an object that goes from one to the other, or loses its label', () => {
  const cluster = aCluster();
  const open = createMemberWatches(cluster.openWatch, true);
  const first = open(place('shop'), 'first');
  const second = open(place('shop'), 'second');
  cluster.put(config('a', 'first'));
  cluster.sync();
  const heard: string[] = [];
  first.onChange((object) => object && heard.push('first'));
  second.onChange((object) => object && heard.push('second'));

  cluster.put(config('a', 'second'));
  expect([heard, names(first), names(second)]).toEqual([['first', 'second'], [], ['a']]);
  cluster.remove(config('a', undefined));
  expect([heard, names(second)]).toEqual([['first', 'second', 'second'], []]);
});

test('a watch ends with its last user, and one that ended hears nothing', () => {
  const cluster = aCluster();
  const open = createMemberWatches(cluster.openWatch, true);
  const first = open(place('shop'), 'first');
  const second = open(place('shop'), 'second');
  cluster.sync();
  let heard = 0;
  first.onChange((object) => {
    if (object) heard += 1;
  });
  first.close();
  first.close();
  cluster.put(config('a', 'first'));
  expect([heard, cluster.closed()]).toEqual([0, 0]);
  second.close();
  expect(cluster.closed()).toBe(1);
});

test.each([
  [true, ['n0', 'n1', 'n2', undefined]],
  [false, ['n0', 'n1', 'n2', 'n3', 'n4', 'n5']],
])('a kind in many namespaces: watched everywhere %j', (everywhere, expected) => {
  const cluster = aCluster();
  const open = createMemberWatches(cluster.openWatch, everywhere);
  for (let index = 0; index < 6; index += 1) open(place(`n${index}`), `source-${index}`);
  expect(cluster.opened.map(({ namespace }) => namespace)).toEqual(expected);
});
