import { describe, expect, it } from 'vitest';
import { hashOfFields, parseLabelSelector } from '../../api/kubernetes.ts';
import { startWatchWorld } from '../testing/watch-world.ts';
import { trimForCache } from './caches.ts';

describe('caches', () => {
  it('show an own write in the caches that select it, and in no other', async () => {
    const world = await startWatchWorld('served');
    try {
      const elsewhere = world.caches.ensure({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'elsewhere' });
      const labelled = world.caches.ensure({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        namespace: 'shop',
        labelSelector: 'app=x',
      });
      await Promise.all([world.cache.synced(), elsewhere.synced(), labelled.synced()]);
      world.server.mute(true);
      world.caches.observe(world.server.put('own', '1'));
      expect(world.cache.store.get('shop', 'own')).toMatchObject({ data: { value: '1' } });
      expect(elsewhere.store.get('shop', 'own')).toBeUndefined();
      expect(labelled.store.get('shop', 'own')).toBeUndefined();
      expect(world.caches.health().map(({ selection }) => selection.namespace)).toEqual([
        'shop',
        'elsewhere',
        'shop',
      ]);
    } finally {
      await world.close();
    }
  });

  it('refuse a label selector that cannot be read', async () => {
    const world = await startWatchWorld('served');
    try {
      const selection = { apiVersion: 'v1', kind: 'Pod', labelSelector: 'a in b' };
      expect(() => world.caches.ensure(selection)).toThrow(/label selector/);
    } finally {
      await world.close();
    }
  });
});

const slice = {
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: {
    name: 'web-x2x4z',
    namespace: 'shop',
    uid: 'u',
    resourceVersion: '7',
    labels: { app: 'web', 'kubernetes.io/service-name': 'web' },
    annotations: { 'endpoints.kubernetes.io/last-change-trigger-time': '2026-01-01T00:00:00Z' },
    managedFields: [],
  },
  addressType: 'IPv4',
  ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
  endpoints: [
    {
      addresses: ['10.0.0.1'],
      conditions: { ready: true, serving: true, terminating: false },
      nodeName: 'node-a',
      zone: 'a',
      targetRef: { kind: 'Pod', name: 'web-1', namespace: 'shop', uid: 'one' },
    },
    { addresses: ['10.0.0.2'], conditions: { ready: false }, targetRef: { kind: 'Pod', uid: 'two' } },
  ],
};

it('an EndpointSlice is trimmed to the pods that are ready on each port', () => {
  expect(trimForCache(slice, { endpointsOnly: true })).toEqual({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: 'web-x2x4z',
      namespace: 'shop',
      uid: 'u',
      resourceVersion: '7',
      labels: { 'kubernetes.io/service-name': 'web' },
    },
    ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
    endpoints: [{ targetRef: { uid: 'one' } }, { conditions: { ready: false }, targetRef: { uid: 'two' } }],
  });
});

it('an EndpointSlice without endpoints and ports stays empty', () => {
  const empty = { ...slice, endpoints: null, ports: null };
  expect(trimForCache(empty, { endpointsOnly: true })).toMatchObject({ endpoints: [], ports: null });
});

it('another selection of EndpointSlices gets whole objects', () => {
  const { managedFields: _, ...metadata } = slice.metadata;
  expect(trimForCache(slice, {})).toEqual({ ...slice, metadata });
});

it('the names of field managers are stored where they are asked for, of what they applied a hash, and not their fields', () => {
  const managedFields = [
    { manager: 'holdfast', operation: 'Apply', fieldsV1: { 'f:data': {} } },
    { manager: 'kubectl', operation: 'Update', fieldsV1: { 'f:data': {} } },
  ];
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', managedFields } };
  expect(trimForCache(object, { managers: true }).metadata.managedFields).toEqual([
    { manager: 'holdfast', appliedHash: hashOfFields({ 'f:data': {} }) },
    { manager: 'kubectl' },
  ]);
});

it('an object that is nested as deeply as API servers take does not end the watch of all others', () => {
  const depth = 9_000;
  const fieldsV1 = JSON.parse(`${'{"f:a":'.repeat(depth)}{}${'}'.repeat(depth)}`) as object;
  const managedFields = [{ manager: 'holdfast', operation: 'Apply', fieldsV1 }];
  const object = { apiVersion: 'example.com/v1', kind: 'Tree', metadata: { name: 'a', managedFields } };
  expect(trimForCache(object, { managers: true }).metadata.managedFields).toHaveLength(1);
});

describe('parseLabelSelector', () => {
  it.each([
    ['', {}, true],
    ['app=web', { app: 'web' }, true],
    ['app==web', { app: 'api' }, false],
    ['app!=web', {}, true],
    ['app!=web,tier=front', { app: 'api', tier: 'front' }, true],
    ['app in (web, api),!legacy', { app: 'api' }, true],
    ['app in (web, api),!legacy', { app: 'api', legacy: '' }, false],
    ['app in (web)', {}, false],
    ['app notin (web)', {}, true],
    ['app notin (web)', { app: 'web' }, false],
    ['holdfast.dev/owner', { 'holdfast.dev/owner': '' }, true],
    ['constructor', {}, false],
  ])('%s on %j is %s', (selector, labels, fits) => {
    expect(parseLabelSelector(selector)(labels as Record<string, string>)).toBe(fits);
  });

  it.each(['app in web', 'a b', '=x', 'app in (web'])('refuses %s', (selector) => {
    expect(() => parseLabelSelector(selector)).toThrow(/label selector/);
  });
});
