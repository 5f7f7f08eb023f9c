import { afterEach, beforeEach, expect, test } from 'vitest';
import { podsOfService } from '../../sandbox/controllers/endpoint-slices.ts';
import { isServing } from '../../sandbox/controllers/pods.ts';
import type { App } from '../../src/server/app.ts';
import { imageOf } from '../objects.ts';
import { watchBackends } from './backend-watch.ts';
import { canary, condition, deployment, eventually, runUntilInitialized, statusOf } from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
let app: App;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

const analysis = { interval: '500ms', iterations: undefined, stepWeight: 50, maxWeight: 50 };
const gateway = { gatewayRefs: [{ name: 'gateway', namespace: 'gateways' }] };

function manifest(provider: string, more: Record<string, unknown> = {}): string {
  const spec = { provider, service: { port: 80, targetPort: 8080, ...gateway }, ...more };
  return canary({ spec, analysis });
}

/** Of its own, in Git: requests come by it before anything is generated. */
const service = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace: 'shop' },
  spec: { selector: { app: 'web' }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
});

async function begin(provider: string, files: Record<string, string>): Promise<void> {
  const web = deployment('shop/web:1', { replicas: 3 });
  await bed.commit('v1', { 'web.json': web, 'canary.json': manifest(provider), ...files });
  app = await runUntilInitialized(bed);
}

/** Users of the route and of the Service itself; the fewest pods that answer behind the Service at any event. */
function watchTraffic() {
  const { store } = bed.sandbox;
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
  let fewest = Number.POSITIVE_INFINITY;
  store.subscribe(() => {
    const apex = store.get('/services', 'shop', 'web');
    fewest = Math.min(fewest, apex ? podsOfService(store, apex).filter(isServing).length : 0);
  });
  return () => {
    sampler.stop();
    return { failed: sampler.totals().failed, fewest };
  };
}

/** The spec names another provider; the program is stopped and started again on the way. */
async function move(provider: string, more: Record<string, unknown> = {}): Promise<void> {
  await bed.commit(`to ${provider}`, { 'canary.json': manifest(provider, more) });
  const look = async () => {
    const { incidents: _, checks: __, history: ___, ...rest } = statusOf(await bed.canary());
    return rest;
  };
  await eventually('it begins to move', async () => (await look()).move !== undefined, { seen: look });
  await app.drain();
  app = await bed.start();
  await eventually(
    `${provider} is in effect`,
    async () => {
      const { provider: current, move } = await look();
      return current === provider && move === undefined;
    },
    { seen: look, timeoutMs: 120_000 },
  );
}

async function release(version: string): Promise<void> {
  const commit = await bed.commit(version, {
    'web.json': deployment(`shop/web:${version}`, { replicas: 3 }),
  });
  const look = async () => statusOf(await bed.canary());
  await eventually(
    `${version} is promoted`,
    async () => {
      const { phase, lastPromotedCommit } = await look();
      return phase === 'Succeeded' && lastPromotedCommit === commit;
    },
    { seen: look },
  );
}

const workload = (name: string) => bed.get('apps/v1', 'Deployment', name);
const pods = async (name: string) => statusOf(await workload(name)).readyReplicas ?? 0;

/** A second one, as a person or another controller may set it. */
async function addOwner(name: string): Promise<void> {
  const { metadata } = (await workload(name)) ?? { metadata: { ownerReferences: [] } };
  const { uid } = (await workload('web'))?.metadata ?? {};
  const other = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid };
  const ownerReferences = [...(metadata.ownerReferences ?? []), other];
  const path = `/apis/apps/v1/namespaces/shop/deployments/${name}`;
  await bed.send('PATCH', path, { metadata: { ownerReferences } });
}

for (const provider of ['kubernetes', 'gatewayapi:v1'])
  test(`a Canary moves between native and ${provider} and back, and no request fails`, async () => {
    await begin('native', { 'service.json': service });
    const traffic = watchTraffic();
    await move(provider);
    expect(await pods('web-primary')).toBe(3);
    await eventually('the target rests', async () => (await pods('web')) === 0);
    await release('v2');
    expect(imageOf(await workload('web-primary'))).toBe('shop/web:v2');
    await addOwner('web-primary');
    await move('native');
    expect([await workload('web-primary'), await pods('web')]).toEqual([undefined, 3]);
    await release('v3');
    expect(imageOf(await workload('web'))).toBe('shop/web:v3');
    expect(condition(await bed.canary(), 'Ready')?.status).toBe('True');
    expect(traffic()).toEqual({ failed: 0, fewest: expect.toSatisfy((count: number) => count > 0) });
    const left = [
      '/services',
      'apps/deployments',
      '/configmaps',
      'autoscaling/horizontalpodautoscalers',
    ].flatMap((key) => bed.sandbox.store.list(key, 'shop'));
    const owned = left.filter(({ metadata }) =>
      metadata.ownerReferences?.some(({ kind }) => kind === 'Canary'),
    );
    expect(owned).toEqual([]);
  });

test('a DaemonSet moves to copies and back, too, and no request fails', async () => {
  const targetRef = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'web' };
  const object = JSON.parse(deployment('shop/web:1'));
  const { replicas: _, ...spec } = object.spec;
  const web = JSON.stringify({ ...object, kind: 'DaemonSet', spec });
  await begin('native', {
    'service.json': service,
    'web.json': web,
    'canary.json': manifest('native', { targetRef }),
  });
  const podsOf = async (name: string) => {
    const found = await bed.get('apps/v1', 'DaemonSet', name);
    return found && statusOf(found).numberReady;
  };
  expect(await podsOf('web')).toBe(3);
  const traffic = watchTraffic();
  await move('gatewayapi:v1', { targetRef });
  expect(await podsOf('web-primary')).toBe(3);
  await eventually('the target rests', async () => (await podsOf('web')) === 0);
  await move('native', { targetRef });
  expect([await podsOf('web-primary'), await podsOf('web')]).toEqual([undefined, 3]);
  expect(traffic()).toEqual({ failed: 0, fewest: expect.toSatisfy((count: number) => count > 0) });
});

test('a StatefulSet stays in place: a provider that copies is refused with the reason, and it goes on as before', async () => {
  const targetRef = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web' };
  const web = JSON.parse(deployment('shop/web:1', { replicas: 3 }));
  await begin('native', {
    'service.json': service,
    'web.json': JSON.stringify({ ...web, kind: 'StatefulSet', spec: { ...web.spec, serviceName: 'web' } }),
    'canary.json': manifest('native', { targetRef }),
  });
  await bed.commit('to copies', { 'canary.json': manifest('gatewayapi:v1', { targetRef }) });
  const ready = async () => condition(await bed.canary(), 'Ready');
  const why = 'spec.provider: must be native for a StatefulSet: its pods have names and volumes of their own';
  await eventually('the refusal', async () => (await ready())?.message?.includes(why), { seen: ready });
  expect((await ready())?.status).toBe('False');
  const { provider, move: moving } = statusOf(await bed.canary());
  expect([provider, moving]).toEqual(['native', undefined]);
  expect(statusOf(await bed.get('apps/v1', 'StatefulSet', 'web')).readyReplicas).toBe(3);
  expect(await bed.get('apps/v1', 'StatefulSet', 'web-primary')).toBeUndefined();
});

const routes = [
  {
    provider: 'gatewayapi:v1',
    key: 'gateway.networking.k8s.io/httproutes',
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    spec: {
      parentRefs: [{ name: 'gateway', namespace: 'gateways' }],
      rules: [{ backendRefs: [{ name: 'web', port: 80 }] }],
    },
  },
  {
    provider: 'contour',
    key: 'projectcontour.io/httpproxies',
    apiVersion: 'projectcontour.io/v1',
    kind: 'HTTPProxy',
    spec: {
      virtualhost: { fqdn: 'shop.example.com' },
      routes: [{ services: [{ name: 'web', port: 80 }] }],
    },
  },
];

for (const { provider, key, apiVersion, kind, spec } of routes)
  test(`requests leave an ${kind} of Git and come back to it by backends that proxies have heard of`, async () => {
    const metadata = { name: 'web', namespace: 'shop' };
    const route = JSON.stringify({ apiVersion, kind, metadata, spec });
    await begin('native', { 'service.json': service, 'route.json': route });
    const backends = watchBackends(bed, key);
    await move(provider);
    const last = () => backends.lines().at(-1);
    await eventually('it names its own alone', async () => last() === 'web-primary=100 web-canary=0', {
      seen: async () => backends.lines(),
    });
    await move('native');
    await eventually('it is as in Git', async () => last() === 'web=1', {
      seen: async () => backends.lines(),
    });
    expect(backends.overtaken()).toEqual([]);
    expect(backends.lines()).toEqual([
      'web=1',
      'web=1 web-primary=0 web-canary=0',
      'web-primary=100 web-canary=0 web=0',
      'web-primary=100 web-canary=0',
      'web-primary=0 web-canary=100',
      'web-primary=0 web-canary=100 web=0',
      'web=1 web-primary=0 web-canary=0',
      'web=1',
    ]);
  });

test('what carries the traffic stays as it was until the Canary has moved', async () => {
  await begin('gatewayapi:v1', {});
  const traffic = watchTraffic();
  const parents = async () => {
    const route = await bed.get('gateway.networking.k8s.io/v1', 'HTTPRoute', 'web');
    return (route?.spec as { parentRefs?: unknown[] } | undefined)?.parentRefs?.length;
  };
  await bed.commit('without its gateway', {
    'canary.json': manifest('native', { service: { port: 80, targetPort: 8080 } }),
  });
  const message = async () => condition(await bed.canary(), 'Ready')?.message ?? '';
  await eventually('the refusal', async () => (await message()).includes('HTTPRoute shop/web'));
  expect(await message()).toMatch(/spec.service: must not change until the Canary has moved to native/);
  expect([await parents(), await pods('web-primary'), await pods('web')]).toEqual([1, 3, 0]);
  await move('native');
  expect([await workload('web-primary'), await pods('web'), await parents()]).toEqual([undefined, 3, 1]);
  expect(traffic()).toEqual({ failed: 0, fewest: 3 });
});

test('a Canary with a HorizontalPodAutoscaler moves with it: the primary has a copy of it, and none is left', async () => {
  const scaler = JSON.stringify({
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 'web', namespace: 'shop' },
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
      minReplicas: 3,
      maxReplicas: 6,
    },
  });
  const autoscalerRef = { apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler', name: 'web' };
  await begin('native', {
    'service.json': service,
    'hpa.json': scaler,
    'canary.json': manifest('native', { autoscalerRef }),
  });
  // As the autoscaler does: the sandbox has none.
  const path = '/apis/apps/v1/namespaces/shop/deployments/web/scale';
  await bed.send('PATCH', path, { spec: { replicas: 3 } });
  await eventually('3 pods', async () => (await pods('web')) === 3);
  const traffic = watchTraffic();
  const copy = () => bed.get('autoscaling/v2', 'HorizontalPodAutoscaler', 'web-primary');
  await move('kubernetes', { autoscalerRef });
  expect([(await copy())?.metadata.name, await pods('web-primary')]).toEqual(['web-primary', 3]);
  await move('native', { autoscalerRef });
  expect([await copy(), await workload('web-primary'), await pods('web')]).toEqual([undefined, undefined, 3]);
  await release('v2');
  expect(await pods('web')).toBe(3);
  const { failed, fewest } = traffic();
  expect([failed, fewest >= 2]).toEqual([0, true]);
  const own = await bed.get('autoscaling/v2', 'HorizontalPodAutoscaler', 'web');
  expect(own?.spec).toMatchObject({ minReplicas: 3, maxReplicas: 6 });
});
