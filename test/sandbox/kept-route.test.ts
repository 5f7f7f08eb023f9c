/** A route that Git keeps, of which a Canary has the weights (`spec.routeRef`). */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import {
  canary,
  condition,
  createSource,
  deployment,
  eventually,
  follow,
  isNotIdle,
  runUntilInitialized,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

const apiVersion = 'gateway.networking.k8s.io/v1';
const path = `/apis/${apiVersion}/namespaces/shop/httproutes/storefront`;

/** The route as its users write it. */
function front(prefix: string, backend = 'web'): object {
  return {
    apiVersion,
    kind: 'HTTPRoute',
    metadata: { name: 'storefront', namespace: 'shop' },
    spec: {
      parentRefs: [{ name: 'gateway', namespace: 'gateways' }],
      rules: [
        { matches: [{ path: { value: prefix } }], backendRefs: [{ name: backend, port: 80 }] },
        { matches: [{ path: { value: '/blog' } }], backendRefs: [{ name: 'blog', port: 80 }] },
      ],
    },
  };
}

const weighted = canary({
  spec: {
    ...{ provider: 'gatewayapi:v1', routeRef: { apiVersion, kind: 'HTTPRoute', name: 'storefront' } },
    ...{ revertOnDeletion: true, progressDeadlineSeconds: 60 },
  },
  analysis: { interval: '2s', iterations: undefined, stepWeight: 40, maxWeight: 80 },
});
/** A step is longer than it takes until Git is read. */
const slow = weighted.replace('"interval":"2s"', '"interval":"15s"');

/** Path and backends with their weights, of each rule. */
async function rules(): Promise<string[]> {
  const route = await bed.get(apiVersion, 'HTTPRoute', 'storefront');
  const { rules: found = [] } = (route?.spec ?? {}) as {
    rules?: Array<{
      matches: Array<{ path: { value: string } }>;
      backendRefs: Array<{ name: string; weight?: number }>;
    }>;
  };
  return found.map(({ matches, backendRefs }) =>
    [matches[0]?.path.value, ...backendRefs.map(({ name, weight = 1 }) => `${name}:${weight}`)].join(' '),
  );
}

const seen = async () => ({ canary: statusOf(await bed.canary()), rules: await rules() });
const until = (wanted: readonly string[]) =>
  eventually(wanted.join(', '), async () => JSON.stringify(await rules()) === JSON.stringify(wanted), {
    seen,
  });

async function begin(): Promise<void> {
  const files = { 'web.json': deployment('shop/web:1'), 'canary.json': weighted };
  await bed.commit('v1', { ...files, 'route.json': JSON.stringify(front('/')) });
  await runUntilInitialized(bed, { prune: true });
}

test('gets weights by steps, takes what Git changes meanwhile, and is given back', async () => {
  await begin();
  await until(['/ web-primary:100 web-canary:0', '/blog blog:1']);

  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await until(['/ web-primary:60 web-canary:40', '/blog blog:1']);
  await bed.commit('a new path', { 'route.json': JSON.stringify(front('/shop')) });
  await eventually(
    'the new path is there, divided',
    async () => /^\/shop web-primary:\d+ web-canary:\d+$/.test((await rules())[0] ?? ''),
    { seen },
  );
  await waitForPhase(bed, 'Succeeded');
  await until(['/shop web-primary:100 web-canary:0', '/blog blog:1']);

  await bed.pass(3_000);
  bed.sandbox.requests.clear();
  await bed.pass(3_000);
  expect(bed.sandbox.requests.all().filter(isNotIdle)).toEqual([]);

  await bed.commit('without the Canary', { 'canary.json': null });
  await eventually('the Canary is gone', async () => (await bed.canary()) === undefined, { seen });
  await until(['/shop web:1', '/blog blog:1']);
  const route = (await bed.get(apiVersion, 'HTTPRoute', 'storefront')) as KubernetesObject;
  expect(route.metadata.annotations?.['holdfast.dev/taken-over']).toBeUndefined();
});

test('loses no request while a release changes the port of the Service, which the route names', async () => {
  const files = (image: string, port: number) => {
    const route = front('/') as { spec: object };
    const rules = [{ backendRefs: [{ name: 'web', port }] }];
    return {
      'web.json': deployment(image),
      'canary.json': weighted.replace('"port":80', `"port":${port}`),
      'route.json': JSON.stringify({ ...route, spec: { ...route.spec, rules } }),
    };
  };
  await bed.commit('v1', files('shop/web:1', 80));
  await runUntilInitialized(bed);
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });

  await bed.commit('v2', files('shop/web:2', 90));
  await waitForPhase(bed, 'Succeeded');
  await bed.pass(3_000);
  sampler.stop();

  expect(sampler.totals().failed).toBe(0);
  const backendRefs = [
    { name: 'web-primary', port: 90 },
    { name: 'web-canary', port: 90 },
  ];
  expect(await bed.get(apiVersion, 'HTTPRoute', 'storefront')).toMatchObject({
    spec: { rules: [{ backendRefs }] },
  });
});

test('gets its weights back when somebody applies it as it is in Git, and when it comes again', async () => {
  await begin();
  await until(['/ web-primary:100 web-canary:0', '/blog blog:1']);
  await bed.send('PATCH', path, { spec: (front('/') as KubernetesObject).spec });
  await until(['/ web-primary:100 web-canary:0', '/blog blog:1']);

  await bed.send('DELETE', path);
  await until(['/ web-primary:100 web-canary:0', '/blog blog:1']);
});

test('is divided again, and its release goes on, when somebody applies it as it is in Git in the middle of a step', async () => {
  await begin();
  await bed.commit('v2', { 'web.json': deployment('shop/web:2'), 'canary.json': slow });
  await until(['/ web-primary:60 web-canary:40', '/blog blog:1']);

  await bed.send('PATCH', path, { spec: (front('/') as KubernetesObject).spec });

  await until(['/ web:100 web-primary:0 web-canary:0', '/blog blog:1']);
  await until(['/ web-primary:20 web-canary:80', '/blog blog:1']);
  await waitForPhase(bed, 'Succeeded');
});

test('that Git gives a foreign backend during a release is still divided, so that the release can go back, and is reported', async () => {
  await begin();
  expect(slow).not.toBe(weighted);
  await bed.commit('v2', { 'web.json': deployment('shop/web:2'), 'canary.json': slow });
  await until(['/ web-primary:60 web-canary:40', '/blog blog:1']);
  const mixed = front('/') as { spec: { rules: Array<{ backendRefs: object[] }> } };
  mixed.spec.rules[0]?.backendRefs.push({ name: 'blog', port: 80 });

  await bed.commit('a foreign backend', { 'route.json': JSON.stringify(mixed) });

  const why = 'in Git, HTTPRoute storefront: rule 1 leads to web and to others';
  await eventually(
    'the condition says why',
    async () => condition(await bed.canary(), 'Ready')?.message?.includes(why),
    { seen },
  );
  await bed.commit('back to v1', { 'web.json': deployment('shop/web:1') });
  await until(['/ web-primary:100 web-canary:0', '/blog blog:1']);
  await bed.commit('without it', { 'route.json': JSON.stringify(front('/')) });
  await waitForPhase(bed, 'Succeeded');
});

test('that Git makes unusable in the middle of a step keeps the release there, which goes on once it can be used again', async () => {
  await begin();
  expect(slow).not.toBe(weighted);
  await bed.commit('v2', { 'web.json': deployment('shop/web:2'), 'canary.json': slow });
  await until(['/ web-primary:60 web-canary:40', '/blog blog:1']);
  await bed.commit('to nobody', { 'route.json': JSON.stringify(front('/', 'cart')) });
  await eventually(
    'the condition says why',
    async () =>
      condition(await bed.canary(), 'Ready')?.message?.includes('in Git, HTTPRoute storefront leads to none'),
    { seen },
  );
  await bed.pass(40_000);
  expect([statusOf(await bed.canary()).phase, ...(await rules())]).toEqual([
    'Progressing',
    '/ web-primary:60 web-canary:40',
    '/blog blog:1',
  ]);

  await bed.commit('back', { 'route.json': JSON.stringify(front('/shop')) });

  await waitForPhase(bed, 'Succeeded');
  await until(['/shop web-primary:100 web-canary:0', '/blog blog:1']);
});

const ofCart = (text: string) => text.replaceAll('"web"', '"cart"');

/** Both Canaries have divided their rule of the route. */
async function beginWithCart(): Promise<void> {
  const route = front('/') as { spec: { rules: Array<{ backendRefs: Array<{ name: string }> }> } };
  for (const backend of route.spec.rules[1]?.backendRefs ?? []) backend.name = 'cart';
  await bed.commit('v1', {
    ...{ 'web.json': deployment('shop/web:1'), 'cart.json': ofCart(deployment('shop/web:1')) },
    ...{ 'canary.json': weighted, 'cart-canary.json': ofCart(weighted) },
    'route.json': JSON.stringify(route),
  });
  await createSource(bed, { prune: true });
  await bed.start();
  await until(['/ web-primary:100 web-canary:0', '/blog cart-primary:100 cart-canary:0']);
}

test('of two applications is divided for each by its own Canary, and neither moves the requests of the other', async () => {
  await beginWithCart();

  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await until(['/ web-primary:60 web-canary:40', '/blog cart-primary:100 cart-canary:0']);
  await bed.commit('v2 of cart', { 'cart.json': ofCart(deployment('shop/web:2')) });
  for (const name of ['web', 'cart'])
    await eventually(
      `${name} is promoted`,
      async () => statusOf(await bed.get('flagger.app/v1beta1', 'Canary', name)).phase === 'Succeeded',
      { seen },
    );
  await until(['/ web-primary:100 web-canary:0', '/blog cart-primary:100 cart-canary:0']);
  await bed.pass(3_000);
  bed.sandbox.requests.clear();
  await bed.pass(3_000);
  expect(bed.sandbox.requests.all().filter(isNotIdle)).toEqual([]);
});

test('of two applications stays divided for one of them while the Canary of the other is deleted', async () => {
  await beginWithCart();
  await bed.commit('v2', { 'web.json': deployment('shop/web:2'), 'canary.json': slow });
  await until(['/ web-primary:60 web-canary:40', '/blog cart-primary:100 cart-canary:0']);
  const backends = follow(bed, (store) =>
    JSON.stringify(store.get('gateway.networking.k8s.io/httproutes', 'shop', 'storefront')?.spec),
  );

  await bed.commit('cart without a Canary', { 'cart-canary.json': null });
  await eventually('its Canary is gone', async () => (await bed.canary('cart')) === undefined, { seen });
  await waitForPhase(bed, 'Succeeded');

  await until(['/ web-primary:100 web-canary:0', '/blog cart:1']);
  expect([...backends].filter((spec) => spec.includes('"web"'))).toEqual([]);
});

test('that leads elsewhere keeps the Canary waiting, and is not touched', async () => {
  const files = { 'web.json': deployment('shop/web:1'), 'canary.json': weighted };
  await bed.commit('v1', { ...files, 'route.json': JSON.stringify(front('/', 'cart')) });
  await createSource(bed);
  await bed.start();
  await eventually(
    'the condition says why',
    async () =>
      condition(await bed.canary(), 'Ready')?.message?.includes('leads to none of the Services web,'),
    { seen },
  );
  expect(await rules()).toEqual(['/ cart:1', '/blog blog:1']);
  await bed.commit('to the application', { 'route.json': JSON.stringify(front('/')) });
  await waitForPhase(bed, 'Initialized');
  await until(['/ web-primary:100 web-canary:0', '/blog blog:1']);
});
