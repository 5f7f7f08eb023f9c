import { describe, expect, test } from 'vitest';
import { imageOf } from '../../objects.ts';
import { condition } from '../../shop.ts';
import { type BedClient, useBed } from '../bed/client.ts';
import { type Moment, openShop, type Shop, type ShopOptions } from './shop.ts';

const bed: BedClient = useBed();

const state =
  (wanted: string): Moment =>
  (status) =>
    status.postPromotion?.state === wanted;
const weight =
  (percent: number): Moment =>
  (status) =>
    status.phase === 'Progressing' && status.canaryWeight === percent;
const bringingUp: Moment = (status) => status.phase === 'Progressing';

async function running(namespace: string, options: ShopOptions = {}): Promise<Shop> {
  const shop = await openShop(bed, namespace, options);
  await shop.release('v1');
  await shop.until('v1 initialized', (status) => status.phase === 'Initialized');
  return shop;
}

/**
 * S13, S14, L1: killed at seven moments over two stories, each reaches the end it reaches undisturbed. Plans of faults kill it at any write
 * (test/plans).
 */
describe.concurrent('killed without warning and started again', () => {
  test('a good release is promoted all the same (4 kills)', async () => {
    const shop = await running('killed-good');
    const load = shop.startLoad();
    const commit = await shop.release('v2');
    const killed = shop.killAt([bringingUp, weight(40), state('Converging'), state('Verifying')]);
    const ended = await shop.until(
      'v2 succeeded',
      (status) => status.lastPromotedCommit === commit && !status.run,
    );
    await killed;
    const seen = await load.stop();
    expect(seen.failures).toEqual([]);
    expect(ended.phase).toBe('Succeeded');
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v2');
    expect((await shop.workload('podinfo'))?.spec).toMatchObject({ replicas: 0 });
    await shop.close();
  });

  test('a release whose primary never becomes ready goes back all the same (3 kills)', async () => {
    const shop = await running('killed-unready', {
      strategy: { type: 'Recreate' },
      primaryDeadlineSeconds: 10,
    });
    const before = await shop.status();
    const load = shop.startLoad();
    await shop.release('v2', { PRIMARY_READY: 'false' });
    const killed = shop.killAt([state('Converging'), state('Held'), state('Reverting')]);
    const ended = await shop.until('v2 reverted', (status) => status.phase === 'Failed' && !status.run);
    await killed;
    const seen = await load.stop();
    expect(seen.failures).toEqual([]);
    expect(condition(ended, 'Reverted')).toBe('True');
    expect(ended.rejected?.length).toBe(1);
    expect(ended.lastPromotedCommit).toBe(before.lastPromotedCommit);
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v1');
    expect((await shop.workload('podinfo'))?.spec).toMatchObject({ replicas: 0 });
    await shop.close();
  });
});
