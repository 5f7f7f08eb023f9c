import { describe, expect, test } from 'vitest';
import { type BedClient, useBed, waitFor } from '../bed/client.ts';
import { condition, imageOf, type Shop, type ShopOptions, shareHoldfast } from './shop.ts';

const bed: BedClient = useBed();
const shops = shareHoldfast(bed, ['daemon-good', 'daemon-unready']);

const running = (namespace: string, options: ShopOptions = {}) =>
  shops.openRunning(namespace, { ...options, targetKind: 'DaemonSet' });

async function countsOf(shop: Shop, name: 'podinfo' | 'podinfo-primary') {
  return (await shop.workload(name))?.status as Record<string, number>;
}

/** Its controller tells of the pods it took away a moment after it was asked to. */
function untilAtRest(shop: Shop): Promise<true> {
  const look = async () => {
    const { desiredNumberScheduled, numberReady } = await countsOf(shop, 'podinfo');
    return desiredNumberScheduled === 0 && numberReady === 0;
  };
  return waitFor(async () => ((await look()) ? true : undefined), {
    timeoutMs: 120_000,
    what: `${shop.namespace}: no pods of the canary`,
    describe: () => countsOf(shop, 'podinfo'),
  });
}

describe.concurrent('a DaemonSet under 50 requests a second', () => {
  test('a good release goes through the canary on every node and is promoted with no failed request', async () => {
    const shop = await running('daemon-good');
    const load = shop.startLoad();
    const commit = await shop.release('v2');
    const weights = new Set<number>();
    await shop.until('v2 succeeded', (status) => {
      weights.add(status.canaryWeight ?? 0);
      return status.phase === 'Succeeded' && status.lastPromotedCommit === commit;
    });
    const seen = await load.stop();
    expect(seen.failures).toEqual([]);
    // All traffic leaves the primary before its template is written.
    expect([...weights]).toEqual(expect.arrayContaining([10, 40, 70, 100]));
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v2');
    expect(await countsOf(shop, 'podinfo-primary')).toMatchObject({
      updatedNumberScheduled: 2,
      numberAvailable: 2,
    });
    await untilAtRest(shop);
    expect(condition(await shop.status(), 'Ready')).toBe('True');
    await shop.close();
  });

  test('a release whose primary never becomes ready is held by the canary, then reverted, and no request fails', async () => {
    const shop = await running('daemon-unready', { primaryDeadlineSeconds: 10 });
    const before = await shop.status();
    const load = shop.startLoad();
    await shop.release('v2', { PRIMARY_READY: 'false' });
    await shop.until(
      'v2 held',
      (status) => status.postPromotion?.state === 'Held' && status.canaryWeight === 100,
    );
    const ended = await shop.until('v2 reverted', (status) => status.phase === 'Failed' && !status.run);
    const seen = await load.stop();
    expect(seen.failures).toEqual([]);
    expect(condition(ended, 'Reverted')).toBe('True');
    expect(ended.lastPromotedCommit).toBe(before.lastPromotedCommit);
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v1');
    expect(await countsOf(shop, 'podinfo-primary')).toMatchObject({
      updatedNumberScheduled: 2,
      numberAvailable: 2,
    });
    await untilAtRest(shop);
    await shop.close();
  });
});
