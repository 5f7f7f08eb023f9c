import { describe, expect, test } from 'vitest';
import type { SourceStatus } from '../../../src/api/source/status.ts';
import { type BedClient, useBed, waitFor } from '../bed/client.ts';
import { condition, imageOf, openRunningShop, type Shop } from './shop.ts';

const bed: BedClient = useBed();

/** The good release after the bad one, which fails by its deadline. */
const patient = { primaryDeadlineSeconds: 60 };

/** Puts one commit without parents, with the files of `commit`, in the place of all history; returns it. */
async function replaceHistory({ repo }: Shop, commit: string): Promise<string> {
  const orphan = await repo.git('commit-tree', `${commit}^{tree}`, '-m', 'All of it in one commit');
  await repo.forcePush(orphan);
  await repo.collectGarbage();
  return orphan;
}

async function untilSourceSays({ namespace }: Shop, reason: string): Promise<string> {
  return waitFor(
    async () => {
      const source = await bed.readObject('Source', namespace, 'shop');
      const { conditions } = (source?.status ?? {}) as SourceStatus;
      return conditions?.find((entry) => entry.type === 'Ready' && entry.reason === reason)?.message;
    },
    { timeoutMs: 120_000, what: `${namespace}: Source says ${reason}` },
  );
}

describe('what Git may say meanwhile', () => {
  test('force-push and garbage collection on the server lose nothing, although Holdfast starts anew on an empty disk', async () => {
    const shop = await openRunningShop(bed, 'git-gone', {
      primaryDeadlineSeconds: 6,
      analysis: { interval: '2s', threshold: 2, stepWeights: [30, 60], metrics: [] },
      postPromotion: { onFailure: 'revert' },
      strategy: { type: 'Recreate' },
    });
    const good = (await shop.status()).lastKnownGood;
    const load = shop.startLoad();
    await shop.release('v2', { PRIMARY_READY: 'false' });
    await shop.until('v2 is reverted', ({ postPromotion }) => postPromotion?.state === 'Reverting');
    await shop.program.kill();
    shop.program.wipe();
    const fix = await replaceHistory(shop, await shop.release('v3', {}, patient));
    shop.program.start();

    const ended = await shop.until('v2 reverted', ({ phase, run }) => phase === 'Failed' && !run);
    expect(await untilSourceSays(shop, 'HistoryRewritten')).toContain('gone from Git');
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v1');
    expect(condition(ended, 'Reverted')).toBe('True');
    expect(condition(ended, 'RollbackReady')).toBe('True');
    expect(ended.lastKnownGood).toEqual(good);

    const approve = `holdfast.dev/approve=${fix}`;
    await bed.kubectl(['-n', shop.namespace, 'annotate', 'sources.holdfast.dev/shop', approve]);
    await shop.until('v3 is promoted', (status) => status.lastPromotedCommit === fix && !status.run);
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v3');
    expect((await load.stop()).failures).toEqual([]);
    await shop.close();
  });
});
