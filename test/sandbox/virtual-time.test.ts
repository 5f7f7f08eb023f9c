import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { canary, createSource, deployment, imageOf, isNotIdle, statusOf } from './holdfast-bed.ts';
import { isAtRest, startVirtualBed, type VirtualBed } from './virtual-bed.ts';

const POLLS = 1000;
let bed: VirtualBed;
beforeEach(async () => {
  bed = await startVirtualBed();
});
afterEach(() => bed.close());

test(`a rejected commit at head is polled ${POLLS} times and nothing is written or fetched (S13, S14)`, async () => {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  await createSource(bed, { interval: '10s' });
  await bed.start();
  await bed.pass('v1 initialized', () => isAtRest(bed, 'Initialized'));
  bed.sandbox.behaviour.rule((pod) =>
    pod.metadata.name.startsWith('web-primary-') &&
    imageOf({ spec: { template: { spec: pod.spec } } }) === 'shop/web:2'
      ? { failure: 'ImagePullBackOff' }
      : undefined,
  );
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await bed.pass('v2 reverted', () => isAtRest(bed, 'Failed'));
  await bed.passMs(80_000);
  const before = JSON.stringify(statusOf(await bed.canary()));
  bed.sandbox.requests.clear();
  const requests = bed.git.requests();

  const startedMs = bed.clock.nowMs();
  while (bed.git.requests() - requests < 2 * POLLS) {
    bed.clock.advance(5000);
    await sleep(2);
  }

  expect(bed.clock.nowMs() - startedMs).toBeGreaterThanOrEqual(POLLS * 8000);
  expect(bed.sandbox.requests.all().filter(isNotIdle)).toEqual([]);
  expect(JSON.stringify(statusOf(await bed.canary()))).toBe(before);
  expect(imageOf(await bed.get('apps/v1', 'Deployment', 'web-primary'))).toBe('shop/web:1');
});
