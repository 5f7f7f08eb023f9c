import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type Bed,
  canary,
  condition,
  createSource,
  deployment,
  eventually,
  follow,
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
    await createSource(bed);
    await bed.start();
    await waitForPhase(bed, 'Initialized');
    const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
    const weights = follow(bed, (store) => storedStatus(store).canaryWeight);
    await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
    await waitForPhase(bed, 'Succeeded');
    sampler.stop();
    expect([...weights]).toEqual(expect.arrayContaining([0, 40, 80]));
    expect(sampler.totals().failed).toBe(0);
  });
}

test('a mirror to the canary that somebody adds to the route by hand is taken off, and stops no release', async () => {
  const provider = 'gatewayapi:v1';
  await bed.commit('v1', {
    'web.json': deployment('shop/web:1'),
    'canary.json': canary({ spec: { provider, ...providers[provider] } }),
  });
  await createSource(bed);
  await bed.start();
  await waitForPhase(bed, 'Initialized');
  const rules = async () => {
    const route = await bed.get('gateway.networking.k8s.io/v1', 'HTTPRoute', 'web');
    const spec = route?.spec as { rules?: Array<{ filters?: object[] }> } | undefined;
    return spec?.rules ?? [];
  };
  const backendRef = { kind: 'Service', name: 'web-canary', port: 80 };
  const filters = [{ type: 'RequestMirror', requestMirror: { backendRef } }];
  const spec = { rules: (await rules()).map((rule) => ({ ...rule, filters })) };

  await bed.send(
    'PATCH',
    '/apis/gateway.networking.k8s.io/v1/namespaces/shop/httproutes/web',
    { spec },
    'application/merge-patch+json',
  );

  await eventually('nothing is mirrored', async () => (await rules()).every((rule) => !rule.filters), {
    seen: rules,
  });
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Succeeded');
});

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
