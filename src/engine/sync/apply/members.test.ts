import { describe, expect, test } from 'vitest';
import { type KubernetesObject, partOfLabel } from '../../../api/kubernetes.ts';
import { limits } from '../../../api/limits.ts';
import type { Source } from '../../../api/source/source.ts';
import type { Cluster, OpenWatch, WatchedSet, WatchQuery } from '../../../contracts/cluster.ts';
import { createMemberWatches, watchedPlaces } from './members.ts';
import { createSourceWatch } from './source-watch.ts';

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
    isRefused: () => false,
    get: (namespace, name) => objects.get(`${namespace}/${name}`),
    list: () => [...objects.values()],
    byKey: () => [],
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

  expect(cluster.opened).toEqual([{ ...place('shop'), labelSelector: partOfLabel, managers: true }]);
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

test.each([
  [true, [undefined]],
  [false, ['n0', 'n1', 'n2', 'n3', 'n4', 'n5']],
])(
  'a Source with a kind in many namespaces, which may be watched everywhere %j',
  (watchesEverywhere, expected) => {
    const cluster = aCluster();
    const openMembers = createMemberWatches(cluster.openWatch, watchesEverywhere);
    const watch = createSourceWatch('first', { openMembers, watchesEverywhere }, () => undefined);

    watch.follow([], {
      places: Array.from({ length: 6 }, (_, index) => place(`n${index}`)),
      notLooked: undefined,
    });

    expect(cluster.opened.map(({ namespace }) => namespace)).toEqual(expected);
  },
);

describe('what the annotations of a Source may make Holdfast watch', () => {
  const source = {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name: 'shop', namespace: 'shop' },
    spec: {},
  } as unknown as Source;

  /** An API server that serves every kind it is asked for. */
  function everyKind() {
    let asked = 0;
    const cluster = {
      servedKind: async (group: string) => {
        asked += 1;
        return { apiVersion: group === '' ? 'v1' : `${group}/v1`, namespaced: true };
      },
    } as unknown as Cluster;
    return { cluster, watchesEverywhere: true, watchNamespaces: [], asked: () => asked };
  }

  const many = (count: number, name: string) =>
    new Set(Array.from({ length: count }, (_, index) => `${name}${index}`));

  test('an ordinary Source is looked after in each kind and namespace that it names', async () => {
    const inventory = {
      groupKinds: new Set(['Deployment.apps', 'ConfigMap']),
      namespaces: new Set(['cart', 'web']),
    };

    const { places, notLooked } = await watchedPlaces(everyKind(), source, inventory, [
      config('a', undefined),
    ]);

    expect(places.map(({ apiVersion, kind, namespace }) => `${apiVersion} ${kind} ${namespace}`)).toEqual([
      'apps/v1 Deployment shop',
      'apps/v1 Deployment cart',
      'apps/v1 Deployment web',
      'v1 ConfigMap shop',
      'v1 ConfigMap cart',
      'v1 ConfigMap web',
    ]);
    expect(notLooked).toBeUndefined();
  });

  test('30,000 namespaces are few places, since the kind is then watched in all of them', async () => {
    const inventory = { groupKinds: new Set(['ConfigMap']), namespaces: many(30_000, 'n') };

    const { places, notLooked } = await watchedPlaces(everyKind(), source, inventory, []);

    expect(places.length).toBeGreaterThan(3);
    expect(places.length).toBeLessThan(10);
    expect(notLooked).toBeUndefined();
  });

  test('where Holdfast may see some namespaces alone, the kind is watched in each of these, and in no other', async () => {
    const inventory = { groupKinds: new Set(['ConfigMap']), namespaces: many(30_000, 'n') };
    const watchNamespaces = ['shop', 'n1', 'n2', 'n3', 'n4', 'elsewhere'];
    const parts = { ...everyKind(), watchesEverywhere: false, watchNamespaces };

    const { places, notLooked } = await watchedPlaces(parts, source, inventory, []);

    expect(places.map(({ namespace }) => namespace)).toEqual(['shop', 'n1', 'n2', 'n3', 'n4']);
    expect(notLooked).toContain('names n0, which Holdfast does not watch');
  });

  test('of 10,000 kinds that are not in Git a bounded number is asked for, and it is told that not all are', async () => {
    const groupKinds = new Set([...many(10_000, 'Widget'), 'ConfigMap']);
    const server = everyKind();

    const { places, notLooked } = await watchedPlaces(server, source, { groupKinds, namespaces: new Set() }, [
      config('a', undefined),
    ]);

    expect(server.asked()).toBe(limits.kindsOutsideGit + 1);
    expect(places).toContainEqual({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop' });
    expect(notLooked).toContain('names 10000 kinds that are not in Git');
  });
});
