/** Specs that cannot be acted on, committed over one that was. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { CanaryStatus } from '../../src/api/canary/status.ts';
import {
  canary,
  condition,
  createSource,
  deployment,
  eventually,
  failPrimary,
  onGateway,
  primaryImage,
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

const halfIteration = { analysis: { iterations: 0.5 } };

const status = async () => statusOf(await bed.canary()) as CanaryStatus;

async function initialized(spec: Record<string, unknown>): Promise<void> {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary({ spec }) });
  await runUntilInitialized(bed);
}

async function untilInvalid(message: RegExp): Promise<void> {
  await eventually(
    'the spec is said to be invalid',
    async () => {
      const ready = condition(await bed.canary(), 'Ready');
      return ready?.reason === 'InvalidSpec' && ready.status === 'False' && message.test(ready.message);
    },
    { seen: status },
  );
  const found = await bed.canary();
  expect(condition(found, 'Stalled')).toMatchObject({ status: 'True', reason: 'InvalidSpec' });
  expect((await status()).observedGeneration).toBe(found?.metadata.generation);
  expect((await status()).specInForce?.generation).toBe(Number(found?.metadata.generation) - 1);
}

function shareOf(workload: string): number {
  const found = bed.sandbox.traffic('shop', 'web').workloads.find((one) => one.workload === workload);
  return found?.share ?? 0;
}

test('a spec that cannot be acted on, committed while a release is verified, leaves the last valid one in force: the primary then dies and the canary takes the traffic (issue 11, 4)', async () => {
  const spec = { ...onGateway, postPromotion: { interval: '1s', successThreshold: 3_600 } };
  await initialized(spec);
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await eventually('it is verified', async () => (await status()).postPromotion?.state === 'Verifying', {
    seen: status,
  });
  await bed.commit('half an iteration', { 'canary.json': canary({ spec, ...halfIteration }) });
  await untilInvalid(/iterations.*the spec of generation 1 stays in force/);
  expect((await status()).postPromotion?.state).toBe('Verifying');
  failPrimary(bed, 'shop/web:2', 'NotReady');
  await eventually('the canary has all of the traffic', async () => shareOf('web') === 1, { seen: status });
  expect(bed.sandbox.traffic('shop', 'web').successShare).toBe(1);
  expect(condition(await bed.canary(), 'Ready')?.reason).toBe('InvalidSpec');

  await bed.commit('ends', { 'canary.json': canary({ spec }) });
  await eventually(
    'the newest spec counts again',
    async () => {
      const found = await bed.canary();
      const isNewest = (await status()).specInForce?.generation === found?.metadata.generation;
      return isNewest && condition(found, 'Ready')?.reason !== 'InvalidSpec';
    },
    { seen: status },
  );
});

test('a provider without what it needs, committed at rest, leaves the last valid one in force for the next release (issue 11, 4)', async () => {
  await initialized(onGateway);
  await bed.commit('another provider', {
    'canary.json': canary({ spec: { ...onGateway, provider: 'appmesh' } }),
  });
  await untilInvalid(/spec\.service\.meshName.*generation 1 stays in force/);
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Succeeded');
  expect(await primaryImage(bed)).toBe('shop/web:2');
  expect((await status()).provider).toBe('gatewayapi:v1');
  expect(condition(await bed.canary(), 'Ready')?.reason).toBe('InvalidSpec');
});

test('a Canary whose newest spec cannot be acted on hands its traffic back when it is deleted', async () => {
  const spec = { ...onGateway, revertOnDeletion: true };
  await initialized(spec);
  await bed.commit('half an iteration', { 'canary.json': canary({ spec, ...halfIteration }) });
  await untilInvalid(/stays in force/);
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
  await bed.send('DELETE', '/apis/flagger.app/v1beta1/namespaces/shop/canaries/web');
  await eventually('the target serves alone', async () => shareOf('web') === 1, { seen: status });
  sampler.stop();
  expect(sampler.totals().failed).toBe(0);
});

test('a spec that never could be acted on stands for nothing, and says so', async () => {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary(halfIteration) });
  await createSource(bed);
  await bed.start();
  await eventually(
    'it is told',
    async () => condition(await bed.canary(), 'Ready')?.reason === 'InvalidSpec',
    { seen: status },
  );
  const found = await bed.canary();
  expect(condition(found, 'Ready')?.message).not.toContain('in force');
  expect(await status()).toMatchObject({ observedGeneration: found?.metadata.generation });
  expect((await status()).specInForce).toBeUndefined();
  expect(await bed.get('apps/v1', 'Deployment', 'web-primary')).toBeUndefined();
});

test('another target for a Canary with a release is refused: the former one serves on, and no request fails', async () => {
  await initialized({ service: { name: 'web', port: 80, targetPort: 8080 } });
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
  const targetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web2' };
  await bed.commit('renamed', {
    'web.json': null,
    'web2.json': deployment('shop/web:2').replaceAll('"web"', '"web2"'),
    'canary.json': canary({ spec: { service: { name: 'web', port: 80, targetPort: 8080 }, targetRef } }),
  });
  await untilInvalid(/Deployment web;.*Deployment web2/);
  await bed.pass(20_000);
  expect(await bed.get('apps/v1', 'Deployment', 'web2-primary')).toBeUndefined();
  expect(await primaryImage(bed)).toBe('shop/web:1');

  await bed.commit('as before', {
    'web.json': deployment('shop/web:3'),
    'web2.json': null,
    'canary.json': canary({ spec: { service: { name: 'web', port: 80, targetPort: 8080 } } }),
  });
  await waitForPhase(bed, 'Succeeded');
  sampler.stop();
  expect(await primaryImage(bed)).toBe('shop/web:3');
  expect(sampler.totals().failed).toBe(0);
});

test('another name of the Service, committed at a step, leaves no share of the canary in the former route', async () => {
  const analysis = { iterations: undefined, stepWeights: [40, 80] };
  const files = (name: string) => ({
    'canary.json': canary({ spec: { ...onGateway, service: { ...onGateway.service, name } }, analysis }),
  });
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), ...files('web') });
  await runUntilInitialized(bed);
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await eventually('40 %', async () => (await status()).canaryWeight === 40, { seen: status });
  await bed.commit('another name', files('shop'));
  const route = (name: string) => bed.get('gateway.networking.k8s.io/v1', 'HTTPRoute', name);
  await eventually('the new route', async () => (await route('shop')) !== undefined, { seen: status });
  await waitForPhase(bed, 'Succeeded');
  const { rules = [] } = ((await route('web'))?.spec ?? {}) as {
    rules?: Array<{ backendRefs: Array<{ name: string; weight: number }> }>;
  };
  const weights = rules[0]?.backendRefs.map(({ name, weight }) => [name, weight]);
  expect(weights).toEqual([
    ['web-primary', 100],
    ['web-canary', 0],
  ]);
});

test('another name of the Service, committed while requests are mirrored, leaves no mirror in the former route', async () => {
  const analysis = { interval: '5s', iterations: 3, mirror: true };
  const files = (name: string) => ({
    'canary.json': canary({ spec: { ...onGateway, service: { ...onGateway.service, name } }, analysis }),
  });
  const route = async (name: string) =>
    JSON.stringify((await bed.get('gateway.networking.k8s.io/v1', 'HTTPRoute', name))?.spec ?? {});
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), ...files('web') });
  await runUntilInitialized(bed);
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  const isMirrored = async () =>
    (await route('web')).includes('RequestMirror') && (await status()).iterations;
  await eventually('requests are mirrored', isMirrored, { seen: status });

  await bed.commit('another name', files('shop'));

  await eventually('the new route', async () => (await route('shop')) !== '{}', { seen: status });
  await waitForPhase(bed, 'Succeeded');
  expect(await route('web')).not.toContain('RequestMirror');
});
