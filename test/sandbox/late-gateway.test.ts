/** A gateway whose controller stands still: what is written to a route is not what requests follow, on the way up and on the way down. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import {
  canary,
  condition,
  createSource,
  deployment,
  eventually,
  onGateway,
  primaryImage,
  runUntilInitialized,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

const SOME_STEPS_MS = 20_000;

let bed: QuickBed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

function withStrategy(manifest: string, strategy: object): string {
  const workload = JSON.parse(manifest) as { spec: object };
  return JSON.stringify({ ...workload, spec: { ...workload.spec, strategy } });
}

/** v1 is initialized; then `release` commits a version. */
async function start(type: string): Promise<(version: number) => Promise<unknown>> {
  const spec = { ...onGateway, progressDeadlineSeconds: 120 };
  const analysis = { interval: '1s', iterations: undefined, stepWeights: [40, 80] };
  const release = (version: number) =>
    bed.commit(`v${version}`, {
      'web.json': withStrategy(deployment(`shop/web:${version}`), { type }),
      'canary.json': canary({ spec, analysis }),
    });
  await release(1);
  await runUntilInitialized(bed);
  return release;
}

/** The canary's share as the route says it, followed or not. */
async function written(): Promise<number | undefined> {
  const route = await bed.get('gateway.networking.k8s.io/v1', 'HTTPRoute', 'web');
  const spec = route?.spec as { rules: Array<{ backendRefs: Array<{ weight: number }> }> } | undefined;
  return spec?.rules[0]?.backendRefs[1]?.weight;
}

const seen = async () => statusOf(await bed.canary());

function untilWritten(weight: number): Promise<unknown> {
  return eventually(`${weight} % is written`, async () => (await written()) === weight, { seen });
}

async function replicas(name: string): Promise<number | undefined> {
  const workload = (await bed.get('apps/v1', 'Deployment', name)) as KubernetesObject & {
    spec: { replicas?: number };
  };
  return workload.spec.replicas;
}

/** From now on the gateway takes routes with these shares of the canary, and no others. */
function holdOthersThan(...weights: number[]): () => void {
  return bed.sandbox.holdRoutes((route) => {
    const { rules } = route.spec as { rules: Array<{ backendRefs: Array<{ weight: number }> }> };
    return !weights.includes(rules[0]?.backendRefs[1]?.weight ?? 0);
  });
}

test('a step is not followed by the next one before the gateway took it, and people are told (issue 11, 17)', async () => {
  const release = await start('RollingUpdate');
  const letGo = holdOthersThan(0);
  await release(2);
  await untilWritten(40);
  await bed.pass(SOME_STEPS_MS);
  expect([await written(), (await seen()).phase]).toEqual([40, 'Progressing']);
  expect(String((await seen()).message)).toContain('has not observed generation');
  letGo();
  await waitForPhase(bed, 'Succeeded');
});

test.each(['RollingUpdate', 'Recreate'])(
  'on the way back nothing is verified and no pod goes before the gateway took it (%s) (issue 11, 17)',
  async (type) => {
    const release = await start(type);
    const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
    const letGo = holdOthersThan(0, 40);
    await release(2);
    await untilWritten(80);
    letGo();
    // A template with Recreate is written once the canary has all the traffic; the other keeps its share until then.
    const holdBack = holdOthersThan(40, 80, 100);
    await untilWritten(0);
    await bed.pass(SOME_STEPS_MS);
    const held = await bed.canary();
    expect(await replicas('web')).toBe(2);
    expect((statusOf(held).postPromotion as { state?: string } | undefined)?.state).toBe('Converging');
    expect(condition(held, 'Promoted')?.status).not.toBe('True');
    holdBack();
    await waitForPhase(bed, 'Succeeded');
    sampler.stop();
    expect(sampler.totals().failed).toBe(0);
  },
);

test('the pods of a Recreate primary stay until the gateway took the traffic from them (issue 11, 17)', async () => {
  const release = await start('Recreate');
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
  const letGo = holdOthersThan(0, 40, 80);
  await release(2);
  await untilWritten(100);
  await bed.pass(SOME_STEPS_MS);
  expect(await primaryImage(bed)).toBe('shop/web:1');
  letGo();
  await waitForPhase(bed, 'Succeeded');
  sampler.stop();
  expect(sampler.totals().failed).toBe(0);
});

test('pods of a canary that is given up stay until the gateway took the traffic from them (issue 11, 17)', async () => {
  const release = await start('RollingUpdate');
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
  const letGo = holdOthersThan(0, 40);
  await release(2);
  await untilWritten(40);
  const holdBack = holdOthersThan(40);
  letGo();
  await release(1);
  await untilWritten(0);
  await bed.pass(SOME_STEPS_MS);
  expect(await replicas('web')).toBe(2);
  holdBack();
  await waitForPhase(bed, 'Succeeded');
  sampler.stop();
  expect(sampler.totals().failed).toBe(0);
});

test('a route that the gateway does not accept until the deadline is reported, though nothing else happens', async () => {
  const release = await start('RollingUpdate');
  bed.sandbox.holdRoutes();
  await release(2);
  await untilWritten(40);

  await bed.pass(130_000);

  expect(condition(await bed.canary(), 'Stalled')).toMatchObject({
    status: 'True',
    reason: 'RouteNotAccepted',
  });
});

test('a first release whose route the gateway does not accept until the deadline is reported, too', async () => {
  bed.sandbox.holdRoutes();
  const spec = { ...onGateway, progressDeadlineSeconds: 120 };
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary({ spec }) });
  await createSource(bed);
  await bed.start();
  await untilWritten(0);

  await bed.pass(130_000);

  expect(condition(await bed.canary(), 'Stalled')).toMatchObject({
    status: 'True',
    reason: 'RouteNotAccepted',
  });
});

test('a route that the gateway does not accept any more while nothing is released is reported, until it does', async () => {
  await start('RollingUpdate');
  const letGo = bed.sandbox.holdRoutes();
  const spec = { ...onGateway, service: { ...onGateway.service, hosts: ['web.example.com'] } };
  await bed.commit('hosts', { 'canary.json': canary({ spec, analysis: { interval: '1s' } }) });
  const ready = async () => {
    const found = condition(await bed.canary(), 'Ready');
    return `${found?.status} ${found?.reason}`;
  };
  await eventually('it is said', async () => (await ready()) === 'False RouteNotAccepted', { seen });

  await bed.pass(70_000);
  expect(condition(await bed.canary(), 'Stalled')).toMatchObject({
    status: 'True',
    reason: 'RouteNotAccepted',
  });

  letGo();
  await eventually('it is Ready again', async () => (await ready()).startsWith('True'), { seen });
  expect(condition(await bed.canary(), 'Stalled')?.status).toBe('False');
});
