import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { addStoreMetrics, type StoreSizes } from './store-metrics.ts';

async function linesOf(sizes: StoreSizes | undefined): Promise<string[]> {
  const registry = new Registry();
  addStoreMetrics(registry, () => sizes);
  const text = await registry.metrics();
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

test('tells what the stores take of the disk', async () => {
  expect(await linesOf({ stores: 2, packs: 7, bytes: 4_096, compactedMs: 1_500 })).toEqual([
    'holdfast_git_stores 2',
    'holdfast_git_store_packs 7',
    'holdfast_git_store_bytes 4096',
    'holdfast_git_store_compacted_timestamp_seconds 1.5',
  ]);
});

test('a store that was never made smaller has no time, and a copy that follows no Git says nothing', async () => {
  const lines = await linesOf({ stores: 1, packs: 1, bytes: 10, compactedMs: undefined });
  expect(lines).toHaveLength(3);
  expect(await linesOf(undefined)).toEqual([]);
});
