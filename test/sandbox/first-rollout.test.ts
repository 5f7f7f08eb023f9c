import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type Bed,
  canary,
  condition,
  createSource,
  deployment,
  eventually,
  startBed,
  statusOf,
} from './holdfast-bed.ts';

let bed: Bed;
beforeEach(async () => {
  bed = await startBed();
});
afterEach(() => bed.close());

function phase(wanted: string): Promise<unknown> {
  return eventually(`phase ${wanted}`, async () => statusOf(await bed.canary()).phase === wanted, {
    seen: async () => ({ canary: statusOf(await bed.canary()), source: statusOf(await bed.source()) }),
  });
}

function imageOf(object: unknown): string | undefined {
  const spec = (
    object as { spec?: { template?: { spec?: { containers?: Array<{ image?: string }> } } } } | undefined
  )?.spec;
  return spec?.template?.spec?.containers?.[0]?.image;
}

test('v1 becomes the primary, v2 goes through its analysis and is promoted', async () => {
  const v1 = await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  await createSource(bed);
  await bed.start();
  await phase('Initialized');
  expect(imageOf(await bed.get('apps/v1', 'Deployment', 'web-primary'))).toBe('shop/web:1');
  const first = statusOf(await bed.canary());
  expect(first.lastPromotedCommit).toBe(v1);
  const v2 = await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await phase('Succeeded');
  const second = statusOf(await bed.canary());
  expect(second.lastPromotedCommit).toBe(v2);
  expect(imageOf(await bed.get('apps/v1', 'Deployment', 'web-primary'))).toBe('shop/web:2');
  await eventually('the Source is ready at v2', async () => {
    const source = await bed.source();
    return condition(source, 'Ready')?.status === 'True' && statusOf(source).appliedCommit === v2;
  });
});
