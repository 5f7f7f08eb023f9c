import { expect, test } from 'vitest';
import { imageOf } from '../../objects.ts';
import { condition } from '../../shop.ts';
import { type BedClient, useBed, waitFor } from '../bed/client.ts';
import { type Shop, shareHoldfast } from './shop.ts';

const bed: BedClient = useBed();
const shops = shareHoldfast(bed, ['daemon']);

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

test('a DaemonSet under 50 requests a second: a good release goes through the canary on every node and is promoted; one whose primary never becomes ready is held by the canary, then reverted; and no request fails', async () => {
  const shop = await shops.openRunning('daemon', { targetKind: 'DaemonSet' });
  const load = shop.startLoad();
  const commit = await shop.release('v2');
  const weights = new Set<number>();
  await shop.until('v2 succeeded', (status) => {
    weights.add(status.canaryWeight ?? 0);
    return status.phase === 'Succeeded' && status.lastPromotedCommit === commit;
  });
  // All traffic leaves the primary before its template is written.
  expect([...weights]).toEqual(expect.arrayContaining([10, 40, 70, 100]));
  await expectAtRest(shop);
  expect(condition(await shop.status(), 'Ready')).toBe('True');

  const bad = await shop.release('v3', { PRIMARY_READY: 'false' }, { primaryDeadlineSeconds: 10 });
  await shop.until(
    'v3 held',
    (status) => status.postPromotion?.state === 'Held' && status.canaryWeight === 100,
  );
  const ended = await shop.until(
    'v3 reverted',
    ({ lastAppliedCommit, phase, run }) => lastAppliedCommit === bad && phase === 'Failed' && !run,
  );
  expect((await load.stop()).failures).toEqual([]);
  expect(condition(ended, 'Reverted')).toBe('True');
  expect(ended.lastPromotedCommit).toBe(commit);
  await expectAtRest(shop);
  await shop.close();
});

/** v2 runs as the primary on every node, and nothing as the canary. */
async function expectAtRest(shop: Shop): Promise<void> {
  expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v2');
  const primary = await countsOf(shop, 'podinfo-primary');
  expect(primary).toMatchObject({ updatedNumberScheduled: 2, numberAvailable: 2 });
  await untilAtRest(shop);
}
