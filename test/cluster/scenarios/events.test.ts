/**
 * What somebody takes away meanwhile, under load: events of the table of docs/guides/state-by-event.md that end with real controllers, the
 * garbage collector and Envoy. The whole table is played on the core (test/rollout/matrix.test.ts), more of it in the sandbox
 * (test/sandbox/scenarios/events.test.ts, test/sandbox/matrix.test.ts).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { CanaryStatus } from '../../../src/api/canary/status.ts';
import { imageOf } from '../../objects.ts';
import { condition } from '../../shop.ts';
import { type BedClient, useBed, waitFor } from '../bed/client.ts';
import { untilStandsStill } from './answers.ts';
import { rate, type Shop, type ShopOptions, shareHoldfast } from './shop.ts';

const bed: BedClient = useBed();
const shops = shareHoldfast(bed, ['event-delete', 'event-target', 'scaled-away']);
const steps = { interval: '2s', threshold: 2, stepWeights: [30, 60], metrics: [] };
const neverReady = { PRIMARY_READY: 'false' };

const running = (namespace: string, options: ShopOptions = {}) =>
  shops.openRunning(namespace, { analysis: steps, ...options });
const isAtRest =
  (phase: CanaryStatus['phase']) =>
  ({ phase: now, run }: CanaryStatus) =>
    now === phase && !run;
const remove = ({ namespace }: Shop, object: string) =>
  bed.kubectl(['-n', namespace, 'delete', object, '--wait=false']);

describe.concurrent('under constant traffic', () => {
  test('Held: the Canary is deleted, and the only healthy copy goes on serving', async () => {
    const spec = { revertOnDeletion: true };
    const strategy = { type: 'Recreate' };
    const postPromotion = { onFailure: 'hold' as const };
    const shop = await running('event-delete', { spec, strategy, postPromotion, primaryDeadlineSeconds: 8 });
    const load = shop.startLoad();
    await shop.release('v2', neverReady);
    await shop.until(
      'held',
      (status) => status.postPromotion?.state === 'Held' && status.canaryWeight === 100,
    );
    await shop.repo.commit({ 'canary.yaml': null }, 'Take the Canary out');
    await remove(shop, 'canary/podinfo');
    await waitFor(async () => !(await bed.readObject('Canary', shop.namespace, 'podinfo')), {
      timeoutMs: 120_000,
      what: 'the Canary is gone',
      describe: () => shop.status(),
    });
    await sleep(3000);
    expect((await load.stop()).failures).toEqual([]);
    expect(imageOf(await shop.workload('podinfo'))).toBe('app:v2');
    await shop.close();
  });

  test('Initialized: the target is deleted, and comes back without pods', async () => {
    const shop = await running('event-target');
    const load = shop.startLoad();
    const uid = (await shop.workload('podinfo'))?.metadata.uid;
    await remove(shop, 'deployment/podinfo');
    const isBack = async () => {
      const target = await shop.workload('podinfo');
      return target !== undefined && target.metadata.uid !== uid;
    };
    await waitFor(isBack, { timeoutMs: 120_000, what: 'the target is back' });
    await shop.until('at rest', isAtRest('Initialized'));
    expect((await load.stop()).failures).toEqual([]);
    await shop.close();
  });

  test('13: a canary that somebody scales to nothing gets no larger share, and comes back', async () => {
    // Requests fail until the gateway has moved, however long that takes here: the checks of these moments do not decide.
    const analysis = { interval: '2s', threshold: 20, stepWeights: [10, 40, 70], metrics: [rate] };
    const shop = await shops.openRunning('scaled-away', { analysis });
    const load = shop.startLoad();
    const commit = await shop.release('v2');
    await shop.until('10 %', (status) => status.canaryWeight === 10);
    const before = await load.current();
    await bed.kubectl(['-n', 'scaled-away', 'scale', 'deployment', 'podinfo', '--replicas=0']);
    await shop.until('no share for what is gone', ({ canaryWeight = 0 }) => canaryWeight === 0);
    const moved = await untilStandsStill(load, 'no request fails', ({ failed }) => failed);
    const ended = await shop.until(
      'v2 ended',
      (status) => status.lastAppliedCommit === commit && status.run === undefined && !!status.phase,
    );
    const { failed, failures } = await load.stop();
    expect(ended.phase).toBe('Succeeded');
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v2');
    // Nothing can answer for the share of a canary that is gone, until the route has moved: 10 % for some moments, and never again.
    expect(failures.filter(({ version }) => version !== undefined)).toEqual([]);
    expect(moved.failed - before.failed).toBeLessThan(3 + (moved.requests - before.requests) * 0.25);
    expect(failed).toBe(moved.failed);
    expect(condition(ended, 'Promoted')).toBe('True');
    await shop.close();
  });
});
