import { describe, expect, it } from 'vitest';
import { appMeshProviders } from './appmesh.ts';
import { abAnalysis, aContext, canaryFor, initialTraffic } from './fixtures.test-support.ts';
import type { RoutingProvider } from './router.ts';

const [first, second] = appMeshProviders as unknown as [RoutingProvider, RoutingProvider];
const at10 = { ...initialTraffic, primaryWeight: 90, canaryWeight: 10 };
const service = {
  port: 80,
  targetPort: 9898,
  meshName: 'shop',
  hosts: ['shop.example.com', 'www.example.com'],
  timeout: '15s',
  retries: { attempts: 3 },
  match: [{ uri: { prefix: '/api' } }],
  backends: ['store.shop', 'arn:aws:appmesh:store'],
};

function objectsOf(router: RoutingProvider, more: object = {}, target = at10) {
  const objects = router.objects(aContext(canaryFor(router, { service, ...more })), target, []);
  return Object.fromEntries(objects.map((object) => [`${object.kind} ${object.metadata.name}`, object]));
}

const perRequest = { unit: 'ms', value: 15_000 };
const retryPolicy = {
  maxRetries: 3,
  perRetryTimeout: { unit: 'ms', value: 250 },
  httpRetryEvents: ['gateway-error'],
};
const portMapping = { port: 9898, protocol: 'http' };

describe('the objects of App Mesh v1beta2', () => {
  const byName = (weights: Array<[string, number]>) => ({
    weightedTargets: weights.map(([name, weight]) => ({ virtualNodeRef: { name }, weight })),
  });

  it('are nodes of both sides, and a router and a service of the apex and of the canary', () => {
    const objects = objectsOf(second);

    expect(Object.keys(objects)).toEqual([
      'VirtualNode podinfo-primary',
      'VirtualNode podinfo-canary',
      'VirtualRouter podinfo',
      'VirtualService podinfo',
      'VirtualRouter podinfo-canary',
      'VirtualService podinfo-canary',
    ]);
    expect(objects['VirtualNode podinfo-canary']?.spec).toEqual({
      podSelector: { matchLabels: { app: 'podinfo' } },
      listeners: [{ portMapping, timeout: { http: { perRequest } } }],
      serviceDiscovery: { dns: { hostname: 'podinfo-canary.shop.svc.cluster.local.' } },
      backends: [
        { virtualService: { virtualServiceRef: { name: 'store.shop' } } },
        { virtualService: { virtualServiceARN: 'arn:aws:appmesh:store' } },
      ],
    });
    const httpRoute = { match: { prefix: '/api' }, timeout: { perRequest }, retryPolicy };
    const action = byName([
      ['podinfo-canary', 10],
      ['podinfo-primary', 90],
    ]);
    expect(objects['VirtualRouter podinfo']?.spec).toEqual({
      listeners: [{ portMapping }],
      routes: [{ name: 'podinfo', httpRoute: { ...httpRoute, action } }],
    });
    expect(objects['VirtualRouter podinfo-canary']?.spec).toMatchObject({
      routes: [
        {
          name: 'podinfo-canary',
          httpRoute: {
            action: byName([
              ['podinfo-canary', 100],
              ['podinfo-primary', 0],
            ]),
          },
        },
      ],
    });
    expect(objects['VirtualService podinfo']).toMatchObject({
      metadata: {
        annotations: {
          'gateway.appmesh.k8s.aws/expose': 'true',
          'gateway.appmesh.k8s.aws/domain': 'shop.example.com,www.example.com',
          'gateway.appmesh.k8s.aws/timeout': '15s',
          'gateway.appmesh.k8s.aws/retries': '3',
        },
      },
      spec: { provider: { virtualRouter: { virtualRouterRef: { name: 'podinfo' } } } },
    });
  });

  it('have a route of higher priority for each match, and one that sends the rest to the primary', () => {
    const match = [{ headers: { 'x-user': { exact: 'insider' } } }, { headers: { beta: { regex: 'on' } } }];
    const target = { primaryWeight: 0, canaryWeight: 100, mirrored: false, matched: true };
    const objects = objectsOf(second, { analysis: { ...abAnalysis, match } }, target);

    expect(objects['VirtualRouter podinfo']?.spec).toMatchObject({
      routes: [
        {
          name: 'podinfo-a',
          priority: 10,
          httpRoute: { match: { headers: [{ name: 'x-user', match: { exact: 'insider' } }] } },
        },
        {
          name: 'podinfo-a2',
          priority: 11,
          httpRoute: { match: { headers: [{ name: 'beta', match: { regex: 'on' } }] } },
        },
        { name: 'podinfo-b', priority: 21, httpRoute: { action: byName([['podinfo-primary', 100]]) } },
      ],
    });
  });
});

describe('the objects of App Mesh v1beta1', () => {
  it('are three nodes in their mesh, and a service of the apex and of the canary with the router inside', () => {
    const objects = objectsOf(first);

    expect(Object.keys(objects)).toEqual([
      'VirtualNode podinfo',
      'VirtualNode podinfo-primary',
      'VirtualNode podinfo-canary',
      'VirtualService podinfo.shop',
      'VirtualService podinfo-canary.shop',
    ]);
    expect(objects['VirtualNode podinfo']?.spec).toMatchObject({
      meshName: 'shop',
      listeners: [{ portMapping }],
      serviceDiscovery: { dns: { hostName: 'podinfo-primary.shop' } },
    });
    expect(objects['VirtualService podinfo.shop']?.spec).toMatchObject({
      meshName: 'shop',
      // Another name than Flagger's would be another router in the live mesh.
      virtualRouter: { name: 'podinfo', listeners: [{ portMapping }] },
    });
    const spec = objects['VirtualService podinfo.shop']?.spec as { routes: object[] } | undefined;
    // This version has no timeout of a route.
    expect(spec?.routes).toEqual([
      {
        name: 'podinfo',
        http: {
          match: { prefix: '/api' },
          // Nor a time with a unit.
          retryPolicy: { maxRetries: 3, perRetryTimeoutMillis: 250, httpRetryEvents: ['gateway-error'] },
          action: {
            weightedTargets: [
              { virtualNodeName: 'podinfo-canary', weight: 10 },
              { virtualNodeName: 'podinfo-primary', weight: 90 },
            ],
          },
        },
      },
    ]);
    expect(objects['VirtualService podinfo.shop']?.metadata.annotations).toMatchObject({
      'gateway.appmesh.k8s.aws/expose': 'true',
      'gateway.appmesh.k8s.aws/domain': 'shop.example.com,www.example.com',
    });
  });
});

it.each([
  ['v1beta1', first],
  ['v1beta2', second],
] as const)('the nodes of App Mesh %s log accesses where the Canary asks for it', (_, router) => {
  const canary = canaryFor(router, { service });
  canary.metadata.annotations = { 'appmesh.flagger.app/accesslog': 'enabled' };

  const nodes = router.objects(aContext(canary), at10, []).filter(({ kind }) => kind === 'VirtualNode');

  const logging = { accessLog: { file: { path: '/dev/stdout' } } };
  expect(nodes.map(({ spec }) => (spec as { logging?: object }).logging)).toEqual(nodes.map(() => logging));
});
