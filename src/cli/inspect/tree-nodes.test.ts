import { expect, test } from 'vitest';
import { canaryDocument } from '../../../test/documents/builders.ts';
import type { KubernetesObject, ObjectReference } from '../../api/kubernetes.ts';
import { localError } from '../../cluster/errors.ts';
import { canaryTree, sourceTree } from './tree-nodes.ts';

function sourceNaming(groupKinds: readonly string[], namespaces: readonly string[]): KubernetesObject {
  const annotations = {
    'applyset.kubernetes.io/contains-group-kinds': groupKinds.join(','),
    'applyset.kubernetes.io/additional-namespaces': namespaces.join(','),
  };
  return {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name: 'shop', namespace: 'shop', annotations },
  };
}

const many = (count: number, name: string) => Array.from({ length: count }, (_, index) => `${name}${index}`);

/** A cluster that serves every kind, with one ConfigMap in each namespace. */
function aCluster() {
  const asked: Array<string | undefined> = [];
  const reader = {
    get: async () => undefined,
    find: async (group: string) => ({ apiVersion: group ? `${group}/v1` : 'v1', namespaced: true }),
    list: async (apiVersion: string, kind: string, { namespace }: { namespace?: string }) => {
      asked.push(namespace);
      const metadata = { name: 'config', namespace: namespace ?? 'n29999' };
      return { items: kind === 'ConfigMap' ? [{ apiVersion, kind, metadata }] : [] };
    },
  } as unknown as Parameters<typeof sourceTree>[0];
  return { asked, reader };
}

test('an ordinary Source is listed in each of its namespaces', async () => {
  const { reader, asked } = aCluster();

  const { root, unread } = await sourceTree(reader, sourceNaming(['ConfigMap'], ['cart', 'web']));

  expect(asked).toEqual(['shop', 'cart', 'web']);
  expect(root.children.map(({ namespace }) => namespace)).toEqual(['cart', 'shop', 'web']);
  expect(unread).toEqual([]);
});

test('one that names 30,000 namespaces is listed in all of them at once', async () => {
  const { reader, asked } = aCluster();

  const { root } = await sourceTree(reader, sourceNaming(['ConfigMap'], many(30_000, 'n')));

  expect(asked).toEqual([undefined]);
  expect(root.children.map(({ namespace }) => namespace)).toEqual(['n29999']);
});

test('who may not list all namespaces at once sees the objects of the first ones, and how many are left out', async () => {
  const { reader, asked } = aCluster();
  const list: typeof reader.list = (apiVersion, kind, options = {}) => {
    if (options.namespace === undefined) throw localError('forbidden', 'list: 403 Forbidden');
    return reader.list(apiVersion, kind, options);
  };

  const { root, unread } = await sourceTree(
    { ...reader, list: async (...given) => list(...given) },
    sourceNaming(['ConfigMap'], many(59, 'n')),
  );

  expect(asked).toHaveLength(50);
  expect(root.children).toHaveLength(50);
  expect(unread).toEqual([expect.stringMatching(/^ConfigMap in 10 more namespaces: you may not list all/)]);
});

test('one that names 10,000 kinds costs a bounded number of requests, and the rest is reported', async () => {
  const { reader, asked } = aCluster();

  const { unread } = await sourceTree(reader, sourceNaming(many(10_000, 'Widget'), []));

  expect(asked.length).toBeLessThan(1_000);
  expect(unread.join()).toMatch(/more kinds that the Source names/);
});

test('what is not there is missing, also where who asks may not read its neighbours', async () => {
  const reader = {
    async get({ kind }: ObjectReference) {
      if (kind !== 'Deployment') throw localError('forbidden', 'get: 403 Forbidden');
      await new Promise((resolve) => setTimeout(resolve, 5));
    },
    list: async () => ({ items: [] }),
  } as unknown as Parameters<typeof canaryTree>[0];
  const canary = canaryDocument({}, { name: 'web' }) as unknown as KubernetesObject;

  const { root, unread } = await canaryTree(reader, canary);

  const healthOf = (wanted: string) => root.children.find(({ role }) => role === wanted)?.health;
  expect([healthOf('primary'), healthOf('service')]).toEqual(['missing', 'unknown']);
  expect(unread).toContainEqual(expect.stringMatching(/^Service default\/.*: you may not read this$/));
});
