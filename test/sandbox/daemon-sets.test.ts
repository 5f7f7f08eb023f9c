import { afterEach, beforeEach, expect, test } from 'vitest';
import { imageOf } from '../objects.ts';
import {
  type Bed,
  canary,
  condition,
  deployment,
  eventually,
  runUntilInitialized,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';
import { startQuickBed } from './quick-bed.ts';

let bed: Bed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

const targetRef = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'web' };

function daemonSet(image: string, container: Record<string, unknown> = {}): string {
  const object = JSON.parse(deployment(image));
  delete object.spec.replicas;
  Object.assign(object.spec.template.spec.containers[0], container);
  return JSON.stringify({ ...object, kind: 'DaemonSet' });
}

function workload(name: string) {
  return bed.get('apps/v1', 'DaemonSet', name);
}

async function podsOn(name: string): Promise<unknown> {
  return statusOf(await workload(name)).desiredNumberScheduled;
}

async function runFirst(): Promise<void> {
  const files = { 'web.json': daemonSet('shop/web:1'), 'canary.json': canary({ spec: { targetRef } }) };
  await bed.commit('v1', files);
  await runUntilInitialized(bed);
}

test('a DaemonSet gets a primary on every node, rests at zero, and promotes a release without a failed request', async () => {
  await runFirst();
  expect(await podsOn('web-primary')).toBe(3);
  await eventually('the canary rests', async () => (await podsOn('web')) === 0);
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
  const v2 = await bed.commit('v2', { 'web.json': daemonSet('shop/web:2') });
  await waitForPhase(bed, 'Succeeded');
  await eventually('the canary rests', async () => (await podsOn('web')) === 0);
  sampler.stop();
  expect(sampler.totals()).toMatchObject({ failed: 0 });
  expect(imageOf(await workload('web-primary'))).toBe('shop/web:2');
  expect(statusOf(await bed.canary()).lastPromotedCommit).toBe(v2);
  expect(condition(await bed.canary(), 'Ready')?.status).toBe('True');
  expect(condition(await bed.canary(), 'Drifted')?.status).toBe('False');
});

test('a primary that never becomes ready is held by the canary and reverted without a failed request', async () => {
  await runFirst();
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
  const env = [{ name: 'PRIMARY_READY', value: 'false' }];
  await bed.commit('v2', { 'web.json': daemonSet('shop/web:2', { env }) });
  await eventually(
    'the canary carries all traffic while the primary is held',
    async () => {
      const { postPromotion, canaryWeight } = statusOf(await bed.canary());
      return (postPromotion as { state?: string } | undefined)?.state === 'Held' && canaryWeight === 100;
    },
    { timeoutMs: 120_000 },
  );
  await waitForPhase(bed, 'Failed');
  await eventually('the canary rests', async () => (await podsOn('web')) === 0);
  sampler.stop();
  expect(sampler.totals()).toMatchObject({ failed: 0 });
  expect(imageOf(await workload('web-primary'))).toBe('shop/web:1');
  expect(statusOf(await workload('web-primary'))).toMatchObject({
    numberAvailable: 3,
    updatedNumberScheduled: 3,
  });
  expect(condition(await bed.canary(), 'Reverted')?.status).toBe('True');
});

test('a release with a host port is refused before anything is written', async () => {
  await runFirst();
  await bed.commit('v2', {
    'web.json': daemonSet('shop/web:2', { ports: [{ containerPort: 8080, hostPort: 8080 }] }),
  });
  await eventually(
    'the field is named',
    async () => {
      const stalled = condition(await bed.canary(), 'Stalled');
      return stalled?.reason === 'TargetInvalid' && stalled.message.includes('containers[0].ports[0]');
    },
    { seen: async () => statusOf(await bed.canary()) },
  );
  expect(imageOf(await workload('web-primary'))).toBe('shop/web:1');
  expect(imageOf(await workload('web'))).toBe('shop/web:1');
});
