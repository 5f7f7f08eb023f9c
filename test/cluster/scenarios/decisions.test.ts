/** Rows of the decision table in docs/guides/failed-promotion.md, each named in brackets; rows that are not here are named by other scenarios. */
import { describe, expect, test } from 'vitest';
import type { CanaryStatus } from '../../../src/api/canary/status.ts';
import { type BedClient, useBed, waitFor } from '../bed/client.ts';
import type { LoadResult } from '../bed/load.ts';
import { untilStandsStill } from './answers.ts';
import { condition, imageOf, replicasOf, type Shop, type ShopOptions, shareHoldfast } from './shop.ts';
import { createSignal } from './signal.ts';

const bed: BedClient = useBed();
const shops = shareHoldfast(bed, [
  'auto-heals',
  'fails-too',
  'halt',
  'lkg-not-ready',
  'hold-checks',
  'crashes',
  'unknowable',
  'lkg-fails-too',
  'converging',
  'verifying',
  'superseded',
  'retry',
]);
const neverReady = { PRIMARY_READY: 'false' };
const steps = { interval: '2s', threshold: 2, stepWeights: [30, 60], metrics: [] };
const recreate = { strategy: { type: 'Recreate' } };

const running = (namespace: string, options: ShopOptions = {}) =>
  shops.openRunning(namespace, { primaryDeadlineSeconds: 6, analysis: steps, ...options });

const isHeld = ({ postPromotion }: CanaryStatus) => postPromotion?.state === 'Held';
const isHeldByCanary = (status: CanaryStatus) => isHeld(status) && status.canaryWeight === 100;
const isReverted = ({ phase, run }: CanaryStatus) => phase === 'Failed' && !run;

/** What is true after every revert: the former release serves, and the canary rests. */
async function expectRevertedTo(shop: Shop, image: string): Promise<void> {
  const status = await shop.status();
  expect(condition(status, 'Reverted')).toBe('True');
  expect(status.canaryWeight).toBe(0);
  expect(imageOf(await shop.workload('podinfo-primary'))).toBe(image);
  expect(replicasOf(await shop.workload('podinfo'))).toBe(0);
}

describe.concurrent('the primary does not come up', () => {
  test('[auto-heals] auto holds, and goes on when the primary comes up in time', async () => {
    const shop = await running('auto-heals', { ...recreate, primaryDeadlineSeconds: 20 });
    const load = shop.startLoad();
    const heals = createSignal(shop.namespace);
    const commit = await shop.release('v2', { PRIMARY_READY_FILE: heals.path });
    await shop.until('held', isHeldByCanary);
    heals.give();
    const ended = await shop.until('promoted', ({ phase, run }) => phase === 'Succeeded' && !run);
    expect((await load.stop()).failures).toEqual([]);
    expect(ended.lastPromotedCommit).toBe(commit);
    expect(ended.rejected ?? []).toEqual([]);
    heals.remove();
    await shop.close();
  });

  test('[auto-canary-fails-too] auto does not wait when the canary is not healthy either', async () => {
    const shop = await running('fails-too', { primaryDeadlineSeconds: 12 });
    const fault = createSignal(shop.namespace);
    await shop.release('v2', { ...neverReady, CRASH_FILE: fault.path });
    await shop.until('converging', ({ postPromotion }) => postPromotion?.state === 'Converging');
    fault.give();
    const ended = await shop.until('reverted', isReverted);
    expect(ended.rejected).toHaveLength(1);
    await expectRevertedTo(shop, 'app:v1');
    fault.remove();
    await shop.close();
  });

  test('[halt] halt leaves the template as it is until a person or Git decides', async () => {
    const shop = await running('halt', { postPromotion: { onFailure: 'halt' } });
    const load = shop.startLoad();
    await shop.release('v2', neverReady);
    await shop.until('held', isHeldByCanary);
    // Longer than the deadline after which auto would revert.
    await new Promise((resolve) => setTimeout(resolve, 8000));
    const later = await shop.status();
    const image = imageOf(await shop.workload('podinfo-primary'));
    const reverted = await shop.release('v1');
    const ended = await shop.until('back', ({ phase, run }) => phase === 'Succeeded' && !run);
    expect((await load.stop()).failures).toEqual([]);
    expect(isHeldByCanary(later)).toBe(true);
    expect(image).toBe('app:v2');
    expect(ended.lastPromotedCommit).toBe(reverted);
    expect(ended.rejected ?? []).toEqual([]);
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v1');
    await shop.close();
  });

  test('[lkg-not-ready] a last known good that cannot come up leaves the traffic with the canary, and heals', async () => {
    // On hold until the quota is there: then a person ends the release.
    const shop = await running('lkg-not-ready', { ...recreate, postPromotion: { onFailure: 'hold' } });
    const load = shop.startLoad();
    const bad = await shop.release('v2', neverReady);
    await shop.until('held', isHeldByCanary);
    // Two pods of the canary fill it: once the primary's are replaced, none may start.
    await bed.kubectl(['-n', 'lkg-not-ready', 'create', 'quota', 'full', '--hard=pods=2']);
    await bed.kubectl(['-n', 'lkg-not-ready', 'annotate', 'canary/podinfo', `holdfast.dev/abort=${bad}`]);
    const fallen = await shop.until(
      'the last known good does not come up',
      (status) => status.phase === 'Failed' && isHeld(status),
    );
    const image = imageOf(await shop.workload('podinfo-primary'));
    await bed.kubectl(['-n', 'lkg-not-ready', 'delete', 'quota', 'full']);
    await shop.until('reverted', isReverted);
    expect((await load.stop()).failures).toEqual([]);
    expect(fallen.postPromotion?.reason).toBe('LKGNotReady');
    expect(fallen.canaryWeight).toBe(100);
    expect(condition(fallen, 'Held')).toBe('True');
    expect(image).toBe('app:v1');
    await expectRevertedTo(shop, 'app:v1');
    await shop.close();
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
    const onPrimary = ({ byVersionAndRole }: LoadResult) => byVersionAndRole['v2/primary'] ?? 0;
    const before = await untilStandsStill(load, 'nothing goes to the primary', onPrimary);
    await new Promise((resolve) => setTimeout(resolve, 3000));
    const seen = await load.stop();
    expect(held.postPromotion?.reason).toBe('ChecksFailed');
    expect(seen.requests).toBeGreaterThan(before.requests);
    expect([seen.failed, onPrimary(seen)]).toEqual([before.failed, onPrimary(before)]);
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v2');
    await shop.close();
  });

  test('[crashes] a primary whose pods crash under traffic is reverted at once', async () => {
    const shop = await running('crashes', {
      primaryDeadlineSeconds: 60,
      postPromotion: { successThreshold: 100 },
    });
    const fault = createSignal(shop.namespace);
    await shop.release('v2', { PRIMARY_CRASH_FILE: fault.path });
    await shop.until('verifying', ({ postPromotion }) => postPromotion?.state === 'Verifying');
    fault.give();
    const ended = await shop.until('reverted', isReverted);
    expect(ended.rejected?.map(({ reason }) => reason)).toEqual(['PrimaryUnhealthy']);
    await expectRevertedTo(shop, 'app:v1');
    fault.remove();
    await shop.close();
  });

  test('[checks-unavailable] checks that cannot be had end in Held, never in a revert', async () => {
    const shop = await running('unknowable', {
      primaryDeadlineSeconds: 60,
      spec: { metricsServer: 'http://127.0.0.1:9' },
    });
    const load = shop.startLoad();
    await shop.release('v2');
    const held = await shop.until('held', isHeld);
    expect(held.postPromotion?.reason).toBe('ChecksUnavailable');
    expect(held.canaryWeight).toBe(0);
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v2');
    expect(held.rejected ?? []).toEqual([]);
    expect((await load.stop()).failures).toEqual([]);
    await shop.close();
  });

  test('[lkg-fails-too] a check that the last known good fails as well marks the cause as another', async () => {
    const address = bed.prometheusUrl;
    const template = {
      apiVersion: 'flagger.app/v1beta1',
      kind: 'MetricTemplate',
      metadata: { name: 'always-bad' },
      spec: { provider: { type: 'prometheus', address }, query: 'vector(0)' },
    };
    const metric = { name: 'always-bad', templateRef: { name: 'always-bad' }, thresholdRange: { min: 1 } };
    const shop = await running('lkg-fails-too', {
      primaryDeadlineSeconds: 60,
      files: { template },
      postPromotion: { metrics: [{ ...metric, interval: '2s' }] },
    });
    const load = shop.startLoad();
    await shop.release('v2');
    const ended = await shop.until(
      'the last known good fails too',
      (status) => status.phase === 'Failed' && isHeld(status),
    );
    expect((await load.stop()).failures).toEqual([]);
    expect(ended.postPromotion?.reason).toBe('LKGFailsToo');
    expect(ended.canaryWeight).toBe(0);
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v1');
    await shop.close();
  });
});

describe.concurrent('what Git says meanwhile', () => {
  test('[git-reverts-converging] a git revert while the primary comes up goes back at once and rejects nothing', async () => {
    const shop = await running('converging', { primaryDeadlineSeconds: 60 });
    const load = shop.startLoad();
    await shop.release('v2', neverReady);
    await shop.until('converging', ({ postPromotion }) => postPromotion?.state === 'Converging');
    await expectGitRevert(shop);
    expect((await load.stop()).failures).toEqual([]);
    await shop.close();
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
    expect((await load.stop()).failures).toEqual([]);
    await shop.close();
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
    expect(superseded.history?.[0]).toMatchObject({ commit: second, result: 'Superseded' });
    await shop.until('v3 verifying', ({ postPromotion }) => postPromotion?.state === 'Verifying');
    expect((await load.stop()).failures).toEqual([]);
    await shop.close();
  });

  test('[retry] a rejected commit is tried again on request', async () => {
    const shop = await running('retry', { postPromotion: { onFailure: 'revert' } });
    const commit = await shop.release('v2', neverReady);
    await shop.until('reverted', isReverted);
    const token = `holdfast.dev/retry=${commit}@again`;
    await bed.kubectl(['-n', 'retry', 'annotate', 'canary', 'podinfo', token]);
    await waitFor(async () => (await shop.status()).handled?.retry !== undefined, {
      timeoutMs: 120_000,
      what: 'the request is handled',
    });
    const again = await shop.until('tried again', ({ phase }) => phase === 'Progressing');
    expect(again.rejected ?? []).toEqual([]);
    expect(again.lastAppliedCommit).toBe(commit);
    await shop.close();
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
