/**
 * What Flagger 1.44 was seen to do after a failed promotion, where most of the users got errors (scenario 2 of the thirteen that issue 4
 * names), and a last known good without room. The others are played in the sandbox (test/sandbox/scenarios/failed-promotion.test.ts).
 */
import { describe, expect, test } from 'vitest';
import { imageOf, replicasOf } from '../../objects.ts';
import { condition, isHeldByCanary } from '../../shop.ts';
import { type BedClient, useBed } from '../bed/client.ts';
import { type ShopOptions, shareHoldfast } from './shop.ts';

const bed: BedClient = useBed();
const shops = shareHoldfast(bed, ['fix-while-held', 'lkg-not-ready', 'lkg-no-room']);
const neverReady = { PRIMARY_READY: 'false' };
const options: ShopOptions = {
  strategy: { type: 'Recreate' },
  primaryDeadlineSeconds: 6,
  postPromotion: { onFailure: 'hold' },
};

describe.concurrent('around a failed promotion', () => {
  test('2: [hold-fix] a fix pushed while the primary is past its deadline gets through, and nobody sees an error', async () => {
    const shop = await shops.openRunning('fix-while-held', options);
    const load = shop.startLoad();
    await shop.release('v2', neverReady);
    await shop.until('v2 held', isHeldByCanary);
    const fix = await shop.release('v3');
    const ended = await shop.until(
      'v3 succeeded',
      (status) => status.lastPromotedCommit === fix && !status.run,
    );
    expect((await load.stop()).failures).toEqual([]);
    expect(ended.phase).toBe('Succeeded');
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v3');
    await shop.close();
  });

  test('[lkg-not-ready] a last known good that cannot come up leaves the traffic with the canary, and heals', async () => {
    // On hold until the quota is there: then a person ends the release.
    const shop = await shops.openRunning('lkg-not-ready', {
      ...options,
      analysis: { interval: '2s', threshold: 2, stepWeights: [30, 60], metrics: [] },
    });
    const load = shop.startLoad();
    const bad = await shop.release('v2', neverReady);
    await shop.until('held', isHeldByCanary);
    // Two pods of the canary fill it: once the primary's are replaced, none may start.
    await bed.kubectl(['-n', 'lkg-not-ready', 'create', 'quota', 'full', '--hard=pods=2']);
    // Nothing is refused before its controller has counted the pods.
    const counted = ['wait', 'quota/full', '--timeout=2m', '--for=jsonpath={.status.hard.pods}=2'];
    await bed.kubectl(['-n', 'lkg-not-ready', ...counted]);
    await bed.kubectl(['-n', 'lkg-not-ready', 'annotate', 'canary/podinfo', `holdfast.dev/abort=${bad}`]);
    const fallen = await shop.until(
      'the last known good does not come up',
      ({ phase, postPromotion }) => phase === 'Failed' && postPromotion?.state === 'Held',
    );
    const image = imageOf(await shop.workload('podinfo-primary'));
    await bed.kubectl(['-n', 'lkg-not-ready', 'delete', 'quota', 'full']);
    const ended = await shop.until('reverted', ({ phase, run }) => phase === 'Failed' && !run);
    expect((await load.stop()).failures).toEqual([]);
    expect(fallen.postPromotion?.reason).toBe('LKGNotReady');
    expect(fallen.canaryWeight).toBe(100);
    expect(condition(fallen, 'Held')).toBe('True');
    expect(image).toBe('app:v1');
    expect(condition(ended, 'Reverted')).toBe('True');
    expect(ended.canaryWeight).toBe(0);
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v1');
    expect(replicasOf(await shop.workload('podinfo'))).toBe(0);
    await shop.close();
  });

  test('[lkg-no-room] a last known good without room beside the idle canary gets that of the canary', async () => {
    const shop = await shops.openRunning('lkg-no-room', {
      primaryDeadlineSeconds: 60,
      analysis: { interval: '2s', threshold: 2, stepWeights: [60], metrics: [] },
      postPromotion: { interval: '2s', successThreshold: 1000, metrics: [] },
    });
    const load = shop.startLoad();
    const bad = await shop.release('v2');
    await shop.until('verifying', ({ postPromotion }) => postPromotion?.state === 'Verifying');
    // Two pods of each side fill it; the surge of the revert would be the fifth.
    await bed.kubectl(['-n', 'lkg-no-room', 'create', 'quota', 'full', '--hard=pods=4']);
    const counted = ['wait', 'quota/full', '--timeout=2m', '--for=jsonpath={.status.used.pods}=4'];
    await bed.kubectl(['-n', 'lkg-no-room', ...counted]);
    await bed.kubectl(['-n', 'lkg-no-room', 'annotate', 'canary/podinfo', `holdfast.dev/abort=${bad}`]);
    const ended = await shop.until('reverted', ({ phase, run }) => phase === 'Failed' && !run);
    expect((await load.stop()).failures).toEqual([]);
    expect(condition(ended, 'Reverted')).toBe('True');
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v1');
    expect(replicasOf(await shop.workload('podinfo'))).toBe(0);
    await shop.close();
  });
});
