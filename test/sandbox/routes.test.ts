import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type Bed,
  canary,
  condition,
  createSource,
  deployment,
  eventually,
  follow,
  runUntilInitialized,
  statusOf,
  storedStatus,
  waitForPhase,
} from './holdfast-bed.ts';
import { startQuickBed } from './quick-bed.ts';

let bed: Bed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

const providers: Record<string, Record<string, unknown>> = {
  'gatewayapi:v1': {
    service: { port: 80, targetPort: 8080, gatewayRefs: [{ name: 'gateway', namespace: 'gateways' }] },
  },
  contour: { service: { port: 80, targetPort: 8080 } },
};

for (const [provider, spec] of Object.entries(providers)) {
  test(`a release goes up in steps through ${provider} without a failed request`, async () => {
    const analysis = { interval: '500ms', iterations: undefined, stepWeight: 40, maxWeight: 80 };
    const manifest = canary({ spec: { provider, ...spec }, analysis });
    await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': manifest });
    await runUntilInitialized(bed);
    const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
    const weights = follow(bed, (store) => storedStatus(store).canaryWeight);
    await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
    await waitForPhase(bed, 'Succeeded');
    sampler.stop();
    expect([...weights]).toEqual(expect.arrayContaining([0, 40, 80]));
    expect(sampler.totals().failed).toBe(0);
  });
}

test.each(Object.entries(providers))(
  'with a setting of the %s route that the API server refuses, committed at a step, a release still goes back',
  async (provider, spec) => {
    const timed = (timeout?: string) =>
      canary({
        spec: { provider, service: { ...(spec.service as object), timeout } },
        analysis: { interval: '15s', iterations: undefined, stepWeight: 40, maxWeight: 80 },
      });
    const routes = /\/(httproutes|httpproxies)\//;
    bed.sandbox.fault(({ method, path, body }) =>
      method === 'PATCH' && routes.test(path) && body.includes('1.5s')
        ? { code: 422, reason: 'Invalid', message: 'timeout: Invalid value: "1.5s"' }
        : undefined,
    );
    const status = async () => statusOf(await bed.canary());
    const isInvalid = async () => condition(await bed.canary(), 'Ready')?.reason === 'Invalid';
    const shareOfCanary = () =>
      bed.sandbox.traffic('shop', 'web').workloads.find(({ workload }) => workload === 'web')?.share ?? 0;
    await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': timed() });
    await runUntilInitialized(bed);
    await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
    await eventually('40 %', async () => (await status()).canaryWeight === 40, { seen: status });

    await bed.commit('a timeout', { 'canary.json': timed('1.5s') });
    await eventually('it is refused', isInvalid, { seen: status });
    expect(shareOfCanary()).toBeCloseTo(0.4);
    await bed.commit('back to v1', { 'web.json': deployment('shop/web:1') });
    await eventually('no request goes to the canary', async () => shareOfCanary() === 0, { seen: status });
    await eventually('it is still told', isInvalid, { seen: status });

    await bed.commit('another timeout', { 'canary.json': timed('2s') });
    await waitForPhase(bed, 'Succeeded');
  },
);

test('a mirror to the canary that somebody adds to the route by hand is taken off, and stops no release', async () => {
  const provider = 'gatewayapi:v1';
  await bed.commit('v1', {
    'web.json': deployment('shop/web:1'),
    'canary.json': canary({ spec: { provider, ...providers[provider] } }),
  });
  await runUntilInitialized(bed);
  const rules = async () => {
    const route = await bed.get('gateway.networking.k8s.io/v1', 'HTTPRoute', 'web');
    const spec = route?.spec as { rules?: Array<{ filters?: object[] }> } | undefined;
    return spec?.rules ?? [];
  };
  const backendRef = { kind: 'Service', name: 'web-canary', port: 80 };
  const filters = [{ type: 'RequestMirror', requestMirror: { backendRef } }];
  const spec = { rules: (await rules()).map((rule) => ({ ...rule, filters })) };

  await bed.send('PATCH', '/apis/gateway.networking.k8s.io/v1/namespaces/shop/httproutes/web', { spec });

  await eventually('nothing is mirrored', async () => (await rules()).every((rule) => !rule.filters), {
    seen: rules,
  });
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Succeeded');
});

type Rule = Record<string, unknown>;
/** Where the rules of a provider's route are, what somebody adds to each of them, and whether a rule is as Holdfast wrote it. */
const additions: Record<string, { path: string; list: string; add: Rule; isFree: (rule: Rule) => boolean }> =
  {
    'gatewayapi:v1': {
      path: '/apis/gateway.networking.k8s.io/v1/namespaces/shop/httproutes/web',
      list: 'rules',
      add: { filters: [{ type: 'RequestRedirect', requestRedirect: { hostname: 'elsewhere.example' } }] },
      isFree: ({ filters }) => filters === undefined,
    },
    contour: {
      path: '/apis/projectcontour.io/v1/namespaces/shop/httpproxies/web',
      list: 'routes',
      add: { timeoutPolicy: { response: '1ms' } },
      isFree: ({ timeoutPolicy }) => timeoutPolicy === undefined,
    },
  };

test.each(Object.entries(additions))(
  'what somebody adds to a rule of the %s route goes at once, with one write',
  async (provider, { path, list, add, isFree }) => {
    await bed.commit('v1', {
      'web.json': deployment('shop/web:1'),
      'canary.json': canary({ spec: { provider, ...providers[provider] } }),
    });
    await runUntilInitialized(bed);
    const rules = async () => {
      const { body } = await bed.send('GET', path);
      return (body as { spec: Record<string, Rule[]> }).spec[list] ?? [];
    };
    const spec = { [list]: (await rules()).map((rule) => ({ ...rule, ...add })) };
    bed.sandbox.requests.clear();

    const { status } = await bed.send('PATCH', path, { spec });
    expect(status).toBe(200);

    await eventually('it is gone', async () => (await rules()).every(isFree), { seen: rules });
    await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
    await eventually('v2 is seen', async () => statusOf(await bed.canary()).phase !== 'Initialized');
    const writes = bed.sandbox.requests.all().filter((one) => one.method === 'PATCH' && one.path === path);
    // The edit, and the answer to it.
    expect(writes).toHaveLength(2);
  },
);

test('a write that RBAC forbids is named on the Canary, and goes on when it is allowed', async () => {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  await createSource(bed);
  const allow = bed.sandbox.fault(({ method, path }) =>
    method === 'PATCH' && path.includes('/services')
      ? { code: 403, reason: 'Forbidden', message: 'services is forbidden' }
      : undefined,
  );
  await bed.start();
  await eventually(
    'Ready says Forbidden',
    async () => condition(await bed.canary(), 'Ready')?.reason === 'Forbidden',
    { seen: async () => statusOf(await bed.canary()) },
  );
  allow();
  await waitForPhase(bed, 'Initialized');
  expect(condition(await bed.canary(), 'Stalled')?.status).toBe('False');
});
