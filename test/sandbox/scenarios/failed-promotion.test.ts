/**
 * What Flagger 1.44 was seen to do around a failed promotion (scenarios 1-4, 7 and 12 of the thirteen that issue 4 names), and the safe end
 * that Holdfast reaches instead.
 */
import { describe, expect, test } from 'vitest';
import { imageOf, replicasOf } from '../../objects.ts';
import { condition } from '../../shop.ts';
import { useShops } from './shop.ts';

const shops = useShops();
const neverReady = { PRIMARY_READY: 'false' };

describe.concurrent('around a failed promotion', () => {
  test('1: [hold-heals] a primary that comes up after the deadline is promoted, not left behind as Failed', async () => {
    const shop = await shops.openRunning('heals-late', {
      primaryDeadlineSeconds: 6,
      postPromotion: { onFailure: 'hold' },
    });
    const load = shop.startLoad();
    const heals = shop.pods(({ isPrimary, version }) =>
      isPrimary && version === 'v2' ? { failure: 'NotReady' } : undefined,
    );
    const commit = await shop.release('v2');
    await shop.until('held', (status) => status.postPromotion?.state === 'Held');
    await shop.until('all traffic on the canary', (status) => status.canaryWeight === 100);
    heals();
    const ended = await shop.until('v2 succeeded', (status) => status.phase === 'Succeeded' && !status.run);
    expect(load.stop().failures).toEqual([]);
    expect(ended.lastPromotedCommit).toBe(commit);
    expect(ended.rejected ?? []).toEqual([]);
    expect(ended.canaryWeight).toBe(0);
    expect(replicasOf(await shop.workload('podinfo'))).toBe(0);
  });

  test.each(['RollingUpdate', 'Recreate'])(
    '2: [hold-fix] a fix pushed while the primary is past its deadline gets through, and nobody sees an error (%s)',
    async (type) => {
      const shop = await shops.openRunning(`fix-while-held-${type.toLowerCase()}`, {
        strategy: { type },
        primaryDeadlineSeconds: 6,
        postPromotion: { onFailure: 'hold' },
      });
      const load = shop.startLoad();
      await shop.release('v2', neverReady);
      await shop.until(
        'v2 held',
        (status) => status.postPromotion?.state === 'Held' && status.canaryWeight === 100,
      );
      const fix = await shop.release('v3');
      const ended = await shop.until(
        'v3 succeeded',
        (status) => status.lastPromotedCommit === fix && !status.run,
      );
      expect(load.stop().failures).toEqual([]);
      expect(ended.phase).toBe('Succeeded');
      expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v3');
    },
  );

  test('3: [pushed-early] a revision pushed while the primary is not ready yet is not swallowed', async () => {
    const shop = await shops.openRunning('pushed-early');
    const load = shop.startLoad();
    const heals = shop.pods(({ isPrimary, version }) =>
      isPrimary && version === 'v2' ? { failure: 'NotReady' } : undefined,
    );
    await shop.release('v2');
    await shop.until('v2 converging', (status) => status.postPromotion?.state === 'Converging');
    const newest = await shop.release('v3');
    await shop.untilRead(newest);
    heals();
    const ended = await shop.until(
      'v3 succeeded',
      (status) => status.lastPromotedCommit === newest && !status.run,
    );
    expect(load.stop().failures).toEqual([]);
    expect(ended.lastAppliedCommit).toBe(newest);
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v3');
  });

  test('3: a pod lost while a revision arrives after a failed analysis does not swallow it either', async () => {
    const shop = await shops.openRunning('blip');
    const load = shop.startLoad();
    await shop.release('v2', { ERROR_PERCENT: '100' });
    await shop.until('v2 failed', (status) => status.phase === 'Failed' && !status.run);
    const [pod] = shop.podsOf('podinfo-primary');
    const fix = await shop.release('v3');
    await shops.bed().send('DELETE', `/api/v1/namespaces/blip/pods/${pod?.metadata.name}`);
    await shop.until('v3 succeeded', (status) => status.lastPromotedCommit === fix && !status.run);
    expect(load.stop().failures.filter(({ of }) => of !== 'podinfo')).toEqual([]);
  });

  test('4: [revert-steps-again] after a failed promotion the next revision is tried by steps from nothing', async () => {
    const shop = await shops.openRunning('steps-again', {
      primaryDeadlineSeconds: 6,
      postPromotion: { onFailure: 'revert' },
    });
    const load = shop.startLoad();
    await shop.release('v2', neverReady);
    await shop.until('v2 reverted', (status) => status.phase === 'Failed' && !status.run);
    const fix = await shop.release('v3', {}, { primaryDeadlineSeconds: 60 });
    const weights: number[] = [];
    await shop.until('v3 succeeded', (status) => {
      const weight = status.canaryWeight ?? 0;
      if (status.phase === 'Progressing' && weights.at(-1) !== weight) weights.push(weight);
      return status.lastPromotedCommit === fix && !status.run;
    });
    expect(load.stop().failures).toEqual([]);
    expect(weights).toEqual([0, 10, 40, 70]);
  });

  test('7: a broken third revision during promotion fails; status, primary and route agree on who serves', async () => {
    const shop = await shops.openRunning('broken-third', {
      analysis: {
        interval: '3s',
        threshold: 2,
        stepWeights: [20, 60],
        stepWeightPromotion: 30,
        metrics: [],
      },
    });
    const load = shop.startLoad();
    const second = await shop.release('v2');
    await shop.until(
      'part of the traffic back on the primary',
      (status) => status.phase === 'Promoting' && status.canaryWeight === 30,
    );
    const third = await shop.release('v3', { READY: 'false' }, { canaryDeadlineSeconds: 10 });
    const ended = await shop.until(
      'v3 failed',
      (status) =>
        status.phase === 'Failed' &&
        status.lastAppliedCommit === third &&
        status.serving?.[0]?.commit === status.lastPromotedCommit &&
        !status.run,
    );
    expect(load.stop().failures).toEqual([]);
    // v2 is superseded before it was verified, unless it was quicker than the poll that brought v3.
    const good = ended.lastPromotedCommit === second ? 'app:v2' : 'app:v1';
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe(good);
    expect(ended.canaryWeight).toBe(0);
    expect(ended.rejected?.map(({ commit }) => commit)).toEqual([third]);
    expect(condition(ended, 'Promoted')).toBe('False');
  });

  test('12: [skip-analysis] skipAnalysis does not excuse a primary that is dead: it is never Succeeded', async () => {
    const shop = await shops.openRunning('skipped', {
      primaryDeadlineSeconds: 6,
      spec: { skipAnalysis: true },
    });
    const load = shop.startLoad();
    await shop.release('v2', neverReady);
    const phases = new Set<string>();
    const held = await shop.until('v2 held', (status) => {
      phases.add(status.phase ?? '');
      return status.postPromotion?.state === 'Held' && status.canaryWeight === 100;
    });
    expect(held.serving?.[0]?.workload).toBe('podinfo');
    const ended = await shop.until('v2 reverted', (status) => {
      phases.add(status.phase ?? '');
      return status.phase === 'Failed' && !status.run;
    });
    expect(load.stop().failures).toEqual([]);
    expect([...phases]).not.toContain('Succeeded');
    expect(condition(ended, 'Reverted')).toBe('True');
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v1');
  });
});
