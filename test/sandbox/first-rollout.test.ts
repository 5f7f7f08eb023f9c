import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type Bed,
  canary,
  condition,
  createSource,
  deployment,
  eventually,
  imageOf,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';
import { startQuickBed } from './quick-bed.ts';

let bed: Bed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

async function replicasOf(name: string): Promise<unknown> {
  const found = await bed.get('apps/v1', 'Deployment', name);
  return (found?.spec as { replicas?: number } | undefined)?.replicas;
}

test('v1 becomes the primary, v2 goes through its analysis and is promoted', async () => {
  const v1 = await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  await createSource(bed);
  await bed.start();
  await waitForPhase(bed, 'Initialized');
  expect(imageOf(await bed.get('apps/v1', 'Deployment', 'web-primary'))).toBe('shop/web:1');
  const first = statusOf(await bed.canary());
  expect(first.lastPromotedCommit).toBe(v1);
  await eventually('the canary rests', async () => (await replicasOf('web')) === 0);
  const v2 = await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await eventually('the canary is scaled up', async () => (await replicasOf('web')) === 2);
  await waitForPhase(bed, 'Succeeded');
  expect(await replicasOf('web')).toBe(0);
  const second = statusOf(await bed.canary());
  expect(second.lastPromotedCommit).toBe(v2);
  expect(imageOf(await bed.get('apps/v1', 'Deployment', 'web-primary'))).toBe('shop/web:2');
  await eventually('the Source is ready at v2', async () => {
    const source = await bed.source();
    return condition(source, 'Ready')?.status === 'True' && statusOf(source).appliedCommit === v2;
  });
});
