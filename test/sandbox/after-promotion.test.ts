import { afterEach, beforeEach, expect, test } from 'vitest';
import { imageOf } from '../objects.ts';
import {
  canary,
  condition,
  deployment,
  eventually,
  follow,
  isNotIdle,
  primaryImage,
  runUntilInitialized,
  statusOf,
  storedStatus,
  waitForPhase,
} from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

function isPrimary(pod: { metadata: { name: string } }): boolean {
  return pod.metadata.name.startsWith('web-primary-');
}

async function runTwoReleases(): Promise<{ v1: string; v2: string }> {
  const v1 = await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  await runUntilInitialized(bed);
  const v2 = await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Succeeded');
  return { v1, v2 };
}

test('a primary that never becomes ready is held, then reverted to the last-known-good without a failed request', async () => {
  const { v2 } = await runTwoReleases();
  bed.sandbox.behaviour.rule((pod) =>
    isPrimary(pod) && imageOf({ spec: { template: { spec: pod.spec } } }) === 'shop/web:3'
      ? { failure: 'ImagePullBackOff' }
      : undefined,
  );
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
  const v3 = await bed.commit('v3', { 'web.json': deployment('shop/web:3') });
  await waitForPhase(bed, 'Failed');
  const status = statusOf(await bed.canary());
  expect(await primaryImage(bed)).toBe('shop/web:2');
  expect(status.lastPromotedCommit).toBe(v2);
  expect(status.lastAppliedCommit).toBe(v3);
  expect(condition(await bed.canary(), 'Reverted')?.status).toBe('True');
  await eventually('the commit of the last-known-good is rendered again and compared', async () => {
    return condition(await bed.canary(), 'RecordReproduced')?.reason === 'SameDigest';
  });
  sampler.stop();
  expect(sampler.totals().failed).toBe(0);
  await eventually('the Source says that a Canary was rejected', async () => {
    return condition(await bed.source(), 'Healthy')?.reason === 'CanaryRejected';
  });
});

test('the bad commit staying at head causes no write, and a fix gets through', async () => {
  await runTwoReleases();
  const undo = bed.sandbox.behaviour.rule((pod) =>
    isPrimary(pod) && imageOf({ spec: { template: { spec: pod.spec } } }) === 'shop/web:3'
      ? { failure: 'CrashLoopBackOff' }
      : undefined,
  );
  await bed.commit('v3', { 'web.json': deployment('shop/web:3') });
  await waitForPhase(bed, 'Failed');
  await bed.pass(10_000);
  bed.sandbox.requests.clear();
  await bed.pass(60_000);
  expect(bed.sandbox.requests.all().filter(isNotIdle)).toEqual([]);
  undo();
  await bed.commit('v4', { 'web.json': deployment('shop/web:4') });
  await waitForPhase(bed, 'Succeeded');
  expect(await primaryImage(bed)).toBe('shop/web:4');
});

test('git revert of a released commit takes the fast lane', async () => {
  await runTwoReleases();
  const iterations = follow(bed, (store) => storedStatus(store).iterations ?? 0);
  await bed.commit('Revert "v2"', { 'web.json': deployment('shop/web:1') });
  await eventually('v1 is live again', async () => {
    const { phase } = statusOf(await bed.canary());
    return (await primaryImage(bed)) === 'shop/web:1' && phase === 'Succeeded';
  });
  expect([...iterations]).toEqual([0]);
});
