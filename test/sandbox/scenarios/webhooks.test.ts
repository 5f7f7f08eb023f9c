import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Canary } from '../../../src/api/canary/canary.ts';
import { type HookServer, startHookServer } from '../../hook-server.ts';
import { imageOf, replicasOf } from '../../objects.ts';
import { condition, type ShopOptions } from '../../shop.ts';
import { useShops } from './shop.ts';

const shops = useShops();
let hooks: HookServer;

beforeAll(async () => {
  hooks = await startHookServer();
});
afterAll(() => hooks.close());

type Analysis = Canary['spec']['analysis'];
type Hook = NonNullable<Analysis['webhooks']>[number];

/** A short analysis with these webhooks; each shop has paths of its own. */
function analysis(shop: string, types: readonly Hook['type'][]): Analysis {
  const webhooks = types.map((type) => ({
    name: `${type}`,
    type,
    url: hooks.url(`${shop}/${type}`),
    timeout: '10s',
  }));
  return { interval: '2s', threshold: 2, stepWeights: [20, 60], webhooks };
}

/** Webhooks after promotion, without metrics, so that only the webhook decides. */
function verification(shop: string): NonNullable<Canary['spec']['postPromotion']> {
  const webhooks = [{ name: 'smoke', url: hooks.url(`${shop}/smoke`), timeout: '10s' }];
  return { interval: '1s', successThreshold: 2, metrics: [], webhooks, progressDeadlineSeconds: 8 };
}

describe.concurrent('webhooks and gates under 50 requests a second', () => {
  test('8: closed gates keep a release where it is, and it goes on when they open', async () => {
    const name = 'gates';
    hooks.answer(`${name}/confirm-rollout`, 403);
    hooks.answer(`${name}/confirm-promotion`, 403);
    const shop = await shops.openRunning(name, {
      analysis: analysis(name, ['confirm-rollout', 'pre-rollout', 'confirm-promotion', 'post-rollout']),
      postPromotion: { metrics: [] },
    });
    const load = shop.startLoad();
    await shop.release('v2');
    await shop.until('waiting', ({ phase }) => phase === 'Waiting');
    const asked = hooks.seen(`${name}/confirm-rollout`).length;
    await shop.until('asked again', () => hooks.seen(`${name}/confirm-rollout`).length > asked + 2);
    expect(replicasOf(await shop.workload('podinfo'))).toBe(0);
    hooks.answer(`${name}/confirm-rollout`, 200);
    await shop.until('waiting for promotion', ({ phase }) => phase === 'WaitingPromotion');
    const again = hooks.seen(`${name}/confirm-promotion`).length;
    const still = await shop.until(
      'asked again',
      () => hooks.seen(`${name}/confirm-promotion`).length > again + 2,
    );
    expect(still).toMatchObject({
      phase: 'WaitingPromotion',
      canaryWeight: 60,
      iterations: 0,
      failedChecks: 0,
    });
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v1');
    hooks.answer(`${name}/confirm-promotion`, 200);
    await shop.until(
      'v2 succeeded and told',
      ({ phase, history }) => phase === 'Succeeded' && history?.[0]?.postRollout === 'Passed',
    );
    expect(load.stop().failures).toEqual([]);
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v2');
    expect(hooks.seen(`${name}/pre-rollout`)).toHaveLength(1);
    expect(hooks.seen(`${name}/post-rollout`)).toHaveLength(1);
  });

  test.each([
    ['Waiting', 'confirm-rollout'],
    ['WaitingPromotion', 'confirm-promotion'],
  ] as const)(
    '9: a rollback webhook takes a release back while it waits at a gate (%s)',
    async (phase, gate) => {
      const name = `rollback-${gate}`;
      hooks.answer(`${name}/${gate}`, 403);
      hooks.answer(`${name}/rollback`, 403);
      const shop = await shops.openRunning(name, {
        analysis: analysis(name, [gate, 'rollback']),
      });
      const load = shop.startLoad();
      await shop.release('v2');
      await shop.until('waiting', (status) => status.phase === phase);
      hooks.answer(`${name}/rollback`, 200);
      const ended = await shop.until('v2 failed', (status) => status.phase === 'Failed' && !status.run);
      expect(load.stop().failures).toEqual([]);
      expect(ended.rejected?.map(({ reason }) => reason)).toEqual(['RolledBackByWebhook']);
      expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v1');
    },
  );

  test.each<[name: string, options: ShopOptions]>([
    ['rolling-update', {}],
    ['recreate', { strategy: { type: 'Recreate' } }],
    ['daemon-set', { targetKind: 'DaemonSet' }],
  ])(
    'a rollback webhook during verification reverts without a failed request (%s)',
    async (kind, options) => {
      const name = `rollback-${kind}`;
      hooks.answer(`${name}/rollback`, 403);
      const shop = await shops.openRunning(name, {
        ...options,
        analysis: analysis(name, ['rollback']),
        postPromotion: { metrics: [], successThreshold: 100 },
      });
      const load = shop.startLoad();
      await shop.release('v2');
      await shop.until('verifying', ({ postPromotion }) => postPromotion?.state === 'Verifying');
      expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v2');
      hooks.answer(`${name}/rollback`, 200);
      const ended = await shop.until('v2 reverted', ({ phase, run }) => phase === 'Failed' && !run);
      expect(load.stop().failures).toEqual([]);
      expect(condition(ended, 'Reverted')).toBe('True');
      expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v1');
    },
  );

  test('a webhook that says no after promotion reverts, and is asked about the last-known-good', async () => {
    const name = 'says-no';
    const shop = await shops.openRunning(name, {
      analysis: analysis(name, []),
      postPromotion: { ...verification(name), progressDeadlineSeconds: 60 },
    });
    const load = shop.startLoad();
    hooks.answer(`${name}/smoke`, 500);
    await shop.release('v2');
    await shop.until('reverting', ({ postPromotion }) => postPromotion?.state === 'Reverting');
    hooks.answer(`${name}/smoke`, 200);
    const ended = await shop.until('v2 reverted', ({ phase, run }) => phase === 'Failed' && !run);
    expect(load.stop().failures).toEqual([]);
    expect(ended.rejected?.map(({ reason }) => reason)).toEqual(['ChecksFailed']);
    expect(new Set(hooks.seen(`${name}/smoke`).map(({ digest }) => digest)).size).toBe(2);
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v1');
  });

  test('a webhook that is down after promotion holds the release and never reverts it', async () => {
    const name = 'is-down';
    const shop = await shops.openRunning(name, {
      analysis: analysis(name, []),
      postPromotion: verification(name),
    });
    const load = shop.startLoad();
    hooks.answer(`${name}/smoke`, 'broken');
    await shop.release('v2');
    const held = await shop.until('held', ({ postPromotion }) => {
      return postPromotion?.state === 'Held' && postPromotion.reason !== 'PrimaryNotReady';
    });
    expect(held.postPromotion?.reason).toBe('ChecksUnavailable');
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v2');
    expect(held.rejected ?? []).toEqual([]);
    hooks.answer(`${name}/smoke`, 200);
    await shop.until('v2 succeeded', ({ phase, run }) => phase === 'Succeeded' && !run);
    expect(load.stop().failures).toEqual([]);
  });
});
