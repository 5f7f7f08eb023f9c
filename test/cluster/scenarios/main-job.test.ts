import { describe, expect, test } from 'vitest';
import { imageOf, replicasOf } from '../../objects.ts';
import { condition } from '../../shop.ts';
import { type BedClient, useBed, waitFor } from '../bed/client.ts';
import { type ShopOptions, shareHoldfast } from './shop.ts';

const bed: BedClient = useBed();
const shops = shareHoldfast(bed, ['unready', 'late', 'bad-head']);

const running = (namespace: string, options?: ShopOptions) => shops.openRunning(namespace, options);

/** (a) a good release, and (b) one that is stopped at its step: shares.test.ts; (c) with strategy Recreate: killed.test.ts. */
describe.concurrent('the main job under 50 requests a second', () => {
  test('(c) [auto-reverts] a release whose primary never becomes ready goes back, and no request fails', async () => {
    const shop = await running('unready', { primaryDeadlineSeconds: 10 });
    const before = await shop.status();
    const load = shop.startLoad();
    await shop.release('v2', { PRIMARY_READY: 'false' });
    const held = await shop.until('v2 held', (status) => status.postPromotion?.state === 'Held');
    expect(held.phase).toBe('Promoting');
    await shop.until('all traffic on the canary', (status) => status.canaryWeight === 100);
    const ended = await shop.until('v2 reverted', (status) => status.phase === 'Failed' && !status.run);
    const seen = await load.stop();
    expect(seen.failures).toEqual([]);
    expect(condition(ended, 'Reverted')).toBe('True');
    expect(ended.lastPromotedCommit).toBe(before.lastPromotedCommit);
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v1');
    expect((await shop.workload('podinfo'))?.spec).toMatchObject({ replicas: 0 });
    await shop.close();
  });

  test('(d) [checks-fail] a release whose errors come only after promotion is reverted within two checks', async () => {
    const shop = await running('late');
    const load = shop.startLoad();
    await shop.release('v2', { PRIMARY_ERROR_PERCENT: '50' });
    let passed = 0;
    await shop.until('v2 verified', (status) => status.postPromotion?.state === 'Verifying');
    const reverting = await shop.until('v2 reverting', ({ postPromotion }) => {
      passed = Math.max(passed, postPromotion?.passedChecks ?? 0);
      return postPromotion?.state === 'Reverting';
    });
    expect(passed).toBe(0);
    expect(reverting.failedChecks).toBeGreaterThan(0);
    expect(reverting.failedChecks).toBeLessThanOrEqual(2);
    const ended = await shop.until('v2 reverted', (status) => status.phase === 'Failed' && !status.run);
    const seen = await load.stop();
    expect(seen.failures.filter((failure) => failure.version !== 'v2')).toEqual([]);
    expect(ended.rejected?.map((entry) => entry.reason)).toEqual(['ChecksFailed']);
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v1');
    await shop.close();
  });

  test('(e,f) [bad-head] a bad head causes no write; replicas alone are applied; git revert needs no analysis', async () => {
    const shop = await running('bad-head', { source: { interval: '1s' } });
    const bad = await shop.release('v2', { ERROR_PERCENT: '100' });
    const load = shop.startLoad();
    await shop.until('v2 failed', (status) => status.phase === 'Failed');
    const user = `holdfast`;
    const untilPolled = (times: number) =>
      waitFor(async () => (await shop.repo.counts()).refs >= times, {
        timeoutMs: 300_000,
        what: `${times} polls`,
      });
    // What the end of the release still has to write is written by then: five polls in a row have led to no more.
    let before: string[] = [];
    const isAtRest = async () => {
      await shop.repo.counts({ reset: true });
      before = writesIn('bad-head', user);
      await untilPolled(5);
      return writesIn('bad-head', user).length === before.length;
    };
    await waitFor(isAtRest, { timeoutMs: 120_000, what: 'the release has come to rest' });
    await untilPolled(20);
    expect(writesIn('bad-head', user)).toEqual(before);

    await shop.release('v2', { ERROR_PERCENT: '100' }, { replicas: 3 });
    await waitFor(async () => replicasOf(await shop.workload('podinfo-primary')) === 3, {
      timeoutMs: 120_000,
      what: 'replicas of a rejected head',
    });
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v1');
    expect((await bed.listObjects('Pod', 'bad-head', 'app=podinfo')).length).toBe(0);

    await shop.repo.revert();
    const reverted = await shop.repo.revert(bad);
    const ended = await shop.until('git revert', (status) => status.lastPromotedCommit === reverted);
    await load.stop();
    expect(ended.phase).toBe('Succeeded');
    expect((await shop.workload('podinfo'))?.spec).toMatchObject({ replicas: 0 });
    await shop.close();
  });
});

/** Writes of the program in a namespace, but for its Lease. */
function writesIn(namespace: string, userAgent: string): string[] {
  return bed
    .auditedRequests({ userAgent })
    .filter(({ verb }) => ['create', 'update', 'patch', 'delete'].includes(verb))
    .filter(({ objectRef }) => objectRef?.namespace === namespace && objectRef.resource !== 'leases')
    .map(({ verb, requestURI }) => `${verb} ${requestURI}`);
}
