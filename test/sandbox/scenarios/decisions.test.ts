/** Rows of the decision table in docs/guides/failed-promotion.md, each named in brackets; rows that are not here are named by other scenarios. */
import { describe, expect, test } from 'vitest';
import type { CanaryStatus } from '../../../src/api/canary/status.ts';
import { imageOf, replicasOf } from '../../objects.ts';
import { condition, isHeldByCanary, type ShopOptions } from '../../shop.ts';
import { type LoadResult, type Shop, useShops } from './shop.ts';

const shops = useShops();
const neverReady = { PRIMARY_READY: 'false' };
const steps = { interval: '2s', threshold: 2, stepWeights: [30, 60], metrics: [] };
const recreate = { strategy: { type: 'Recreate' } };

const running = (namespace: string, options: ShopOptions = {}) =>
  shops.openRunning(namespace, { primaryDeadlineSeconds: 6, analysis: steps, ...options });

const isHeld = ({ postPromotion }: CanaryStatus) => postPromotion?.state === 'Held';
const isReverted = ({ phase, run }: CanaryStatus) => phase === 'Failed' && !run;

/** What is true after every revert: the former release serves, and the canary rests. */
async function expectRevertedTo(shop: Shop, image: string): Promise<void> {
  const status = shop.status();
  expect(condition(status, 'Reverted')).toBe('True');
  expect(status.canaryWeight).toBe(0);
  expect(imageOf(await shop.workload('podinfo-primary'))).toBe(image);
  expect(replicasOf(await shop.workload('podinfo'))).toBe(0);
}

describe.concurrent('the primary does not come up', () => {
  test('[halt] halt leaves the template as it is until a person or Git decides', async () => {
    const shop = await running('halt', { postPromotion: { onFailure: 'halt' } });
    const load = shop.startLoad();
    await shop.release('v2', neverReady);
    await shop.until('held', isHeldByCanary);
    // Longer than the deadline after which auto would revert.
    await shops.pass(8000);
    const later = shop.status();
    const image = imageOf(await shop.workload('podinfo-primary'));
    const reverted = await shop.release('v1');
    const ended = await shop.until('back', ({ phase, run }) => phase === 'Succeeded' && !run);
    expect(load.stop().failures).toEqual([]);
    expect(isHeldByCanary(later)).toBe(true);
    expect(image).toBe('app:v2');
    expect(ended.lastPromotedCommit).toBe(reverted);
    expect(ended.rejected ?? []).toEqual([]);
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v1');
  });

  test('[lkg-not-ready] a last known good that cannot come up leaves the traffic with the canary, and heals', async () => {
    // On hold until there is no room: then a person ends the release.
    const shop = await running('lkg-not-ready', { ...recreate, postPromotion: { onFailure: 'hold' } });
    const load = shop.startLoad();
    const bad = await shop.release('v2', neverReady);
    await shop.until('held', isHeldByCanary);
    const room = shop.pods(({ isPrimary }) => (isPrimary ? { failure: 'Unschedulable' } : undefined));
    await shop.annotate('holdfast.dev/abort', bad);
    const fallen = await shop.until(
      'the last known good does not come up',
      (status) => status.phase === 'Failed' && isHeld(status),
    );
    const image = imageOf(await shop.workload('podinfo-primary'));
    room();
    await shop.until('reverted', isReverted);
    expect(load.stop().failures).toEqual([]);
    expect(fallen.postPromotion?.reason).toBe('LKGNotReady');
    expect(fallen.canaryWeight).toBe(100);
    expect(condition(fallen, 'Held')).toBe('True');
    expect(image).toBe('app:v1');
    await expectRevertedTo(shop, 'app:v1');
  });
});

describe.concurrent('the primary serves and is bad', () => {
  test('[hold-checks-fail] hold gives the traffic back to the healthy canary', async () => {
    const shop = await running('hold-checks', {
      primaryDeadlineSeconds: 60,
      postPromotion: { onFailure: 'hold' },
    });
    const load = shop.startLoad();
    await shop.release('v2', { PRIMARY_ERROR_PERCENT: '50' });
    const held = await shop.until('held', isHeldByCanary);
    const onPrimary = ({ byWorkload }: LoadResult) => byWorkload['podinfo-primary'] ?? 0;
    const before = load.current();
    await shops.pass(3000);
    const seen = load.stop();
    expect(held.postPromotion?.reason).toBe('ChecksFailed');
    expect(seen.requests).toBeGreaterThan(before.requests);
    expect([seen.failed, onPrimary(seen)]).toEqual([before.failed, onPrimary(before)]);
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v2');
  });

  test('[crashes] a primary whose pods crash under traffic is reverted at once, and its incident says so', async () => {
    const shop = await running('crashes', {
      primaryDeadlineSeconds: 300,
      postPromotion: { successThreshold: 100 },
    });
    await shop.release('v2');
    await shop.until('verifying', ({ postPromotion }) => postPromotion?.state === 'Verifying');
    shop.pods(({ isPrimary, version }) =>
      isPrimary && version === 'v2' ? { failure: 'CrashLoopBackOff' } : undefined,
    );
    const ended = await shop.until('reverted', isReverted);
    expect(ended.rejected?.map(({ reason }) => reason)).toEqual(['PrimaryUnhealthy']);
    expect(ended.incidents?.find(({ outcome }) => outcome === 'Reverted')).toMatchObject({
      reason: 'PrimaryUnhealthy',
      finding: expect.stringMatching(/CrashLoopBackOff in container app/),
    });
    await expectRevertedTo(shop, 'app:v1');
  });

  test('[checks-unavailable] checks that cannot be had end in Held, never in a revert', async () => {
    const shop = await running('unknowable', {
      primaryDeadlineSeconds: 60,
      postPromotion: {
        metrics: [{ name: 'request-success-rate', thresholdRange: { min: 99 }, interval: '5s' }],
      },
      spec: { metricsServer: 'http://127.0.0.1:9' },
    });
    const load = shop.startLoad();
    await shop.release('v2');
    const held = await shop.until('held', isHeld);
    expect(held.postPromotion?.reason).toBe('ChecksUnavailable');
    expect(held.canaryWeight).toBe(0);
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v2');
    expect(held.rejected ?? []).toEqual([]);
    expect(load.stop().failures).toEqual([]);
  });

  test('[lkg-fails-too] a check that the last known good fails as well marks the cause as another', async () => {
    const address = shops.bed().sandbox.prometheusUrl;
    const template = {
      apiVersion: 'flagger.app/v1beta1',
      kind: 'MetricTemplate',
      metadata: { name: 'always-bad' },
      spec: { provider: { type: 'prometheus', address }, query: 'vector(0)' },
    };
    const metric = { name: 'always-bad', templateRef: { name: 'always-bad' }, thresholdRange: { min: 1 } };
    const shop = await running('lkg-fails-too', {
      primaryDeadlineSeconds: 60,
      files: { always: template },
      postPromotion: { metrics: [{ ...metric, interval: '2s' }] },
    });
    const load = shop.startLoad();
    await shop.release('v2');
    const ended = await shop.until(
      'the last known good fails too',
      (status) => status.phase === 'Failed' && isHeld(status),
    );
    expect(load.stop().failures).toEqual([]);
    expect(ended.postPromotion?.reason).toBe('LKGFailsToo');
    expect(ended.canaryWeight).toBe(0);
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v1');
  });
});

describe.concurrent('what Git says meanwhile', () => {
  test('[git-reverts-converging] a git revert while the primary comes up goes back at once and rejects nothing', async () => {
    const shop = await running('converging', { primaryDeadlineSeconds: 60 });
    const load = shop.startLoad();
    await shop.release('v2', neverReady);
    await shop.until('converging', ({ postPromotion }) => postPromotion?.state === 'Converging');
    await expectGitRevert(shop);
    expect(load.stop().failures).toEqual([]);
  });

  test('[git-reverts-verifying] a git revert during verification goes back at once and rejects nothing', async () => {
    const shop = await running('verifying', {
      primaryDeadlineSeconds: 60,
      postPromotion: { successThreshold: 100 },
    });
    const load = shop.startLoad();
    await shop.release('v2');
    await shop.until('verifying', ({ postPromotion }) => postPromotion?.state === 'Verifying');
    await expectGitRevert(shop);
    expect(load.stop().failures).toEqual([]);
  });

  test('[superseded] a newer revision ends verification after one check and is rolled out', async () => {
    const shop = await running('superseded', {
      primaryDeadlineSeconds: 60,
      postPromotion: { successThreshold: 100 },
    });
    const load = shop.startLoad();
    const second = await shop.release('v2');
    await shop.until('verifying', ({ postPromotion }) => postPromotion?.state === 'Verifying');
    const third = await shop.release('v3');
    const superseded = await shop.until('v3 under way', (status) => status.lastAppliedCommit === third);
    expect(superseded.lastPromotedCommit).not.toBe(second);
    expect(superseded.history?.[0]).toMatchObject({
      commit: second,
      subject: 'Release v2',
      result: 'Superseded',
    });
    await shop.until('v3 verifying', ({ postPromotion }) => postPromotion?.state === 'Verifying');
    expect(load.stop().failures).toEqual([]);
  });

  test('[retry] a rejected commit is tried again on request', async () => {
    const shop = await running('retry', { postPromotion: { onFailure: 'revert' } });
    const commit = await shop.release('v2', neverReady);
    await shop.until('reverted', isReverted);
    await shop.annotate('holdfast.dev/retry', `${commit}@again`);
    await shop.until('the request is handled', ({ handled }) => handled?.retry !== undefined);
    const again = await shop.until('tried again', ({ phase }) => phase === 'Progressing');
    expect(again.rejected ?? []).toEqual([]);
    expect(again.lastAppliedCommit).toBe(commit);
  });
});

/** Git goes back to v1: so does the primary, at once, and nothing is held against v2. */
async function expectGitRevert(shop: Shop): Promise<void> {
  const reverted = await shop.release('v1');
  const ended = await shop.until(
    'back on v1',
    (status) => status.phase === 'Succeeded' && status.lastAppliedCommit === reverted && !status.run,
  );
  expect(ended.lastPromotedCommit).toBe(reverted);
  expect(ended.rejected ?? []).toEqual([]);
  expect(ended.history?.[0]?.reason).toBe('RevertedInGit');
  expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v1');
}
