import { expect, test } from 'vitest';
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import type { Cluster } from '../../../contracts/cluster.ts';
import { createPresence } from './presence.ts';

function anObject(name: string): KubernetesObject {
  return { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: 'shop' } };
}

/** A namespace with these objects in it; counts what is asked of the API server. */
function aCluster(there: Set<string>, mayList = true) {
  const state = { nowMs: 1_000, gets: 0, lists: 0 };
  const cluster = {
    async get({ name }: { name: string }) {
      state.gets += 1;
      return there.has(name) ? anObject(name) : undefined;
    },
    async list() {
      state.lists += 1;
      if (!mayList) throw new Error('forbidden');
      return [...there].map(anObject);
    },
  };
  const clock = { nowMs: () => state.nowMs };
  const reader = { cluster: cluster as unknown as Cluster, user: undefined };
  return { state, reader, presence: createPresence({ clock }) };
}

const names = Array.from({ length: 500 }, (_, index) => `app-${index}`);

test('what is absent is told by a list where many are asked for, and by itself where few are', async () => {
  const { presence, reader, state } = aCluster(new Set(['app-400']));
  const few = await Promise.all(names.slice(0, 20).map((name) => presence.read(anObject(name), reader)));
  expect([few.some(Boolean), state.gets, state.lists]).toEqual([false, 20, 0]);

  const many = await Promise.all(names.map((name) => presence.read(anObject(name), reader)));

  expect(many.filter(Boolean).map((object) => object?.metadata.name)).toEqual(['app-400']);
  expect([state.gets, state.lists]).toEqual([21, 1]);
});

test('a list is believed for a short time only', async () => {
  const there = new Set<string>();
  const { presence, reader, state } = aCluster(there);
  await Promise.all(names.map((name) => presence.read(anObject(name), reader)));
  there.add('app-7');
  state.nowMs += 2_000;

  expect(await presence.read(anObject('app-7'), reader)).toBeDefined();
});

test('where nothing may be listed each object is read', async () => {
  const { presence, reader, state } = aCluster(new Set(['app-400']), false);
  const found = await Promise.all(names.map((name) => presence.read(anObject(name), reader)));
  expect(found.filter(Boolean)).toHaveLength(1);
  expect(state.gets).toBe(500);
});

test('what an account may not list is read as it, whatever others may list', async () => {
  const { presence, reader, state } = aCluster(new Set());
  const list = () => Promise.reject(new Error('forbidden'));
  const account = { cluster: { ...reader.cluster, list }, user: 'system:serviceaccount:other:deployer' };
  await Promise.all(names.map((name) => presence.read(anObject(name), reader)));
  state.gets = 0;
  await Promise.all(names.map((name) => presence.read(anObject(name), account)));
  expect(state.gets).toBe(500);
});
