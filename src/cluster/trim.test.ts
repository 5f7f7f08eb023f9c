import { expect, it } from 'vitest';
import { trimForCache } from './trim.ts';

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

it('an EndpointSlice keeps what tells which pods are ready on which port', () => {
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

it('one without endpoints and ports is kept as such', () => {
  const empty = { ...slice, endpoints: null, ports: null };
  expect(trimForCache(empty, { endpointsOnly: true })).toMatchObject({ endpoints: [], ports: null });
});

it('somebody else who watches slices gets them whole', () => {
  const { managedFields: _, ...metadata } = slice.metadata;
  expect(trimForCache(slice, {})).toEqual({ ...slice, metadata });
});
