/**
 * One event in each state of a release, under load: a row through the table of docs/guides/state-by-event.md. The whole table is played on
 * the core (test/rollout/matrix.test.ts); two of these events are on the test bed (test/cluster/scenarios/events.test.ts).
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CanaryStatus } from '../../../src/api/canary/status.ts';
import { type HookServer, startHookServer } from '../../hook-server.ts';
import { imageOf } from '../../objects.ts';
import type { ShopOptions } from '../../shop.ts';
import { type Shop, useShops } from './shop.ts';

const shops = useShops();
const steps = { interval: '2s', threshold: 2, stepWeights: [30, 60], metrics: [] };

let hooks: HookServer;

beforeAll(async () => {
  hooks = await startHookServer();
});

afterAll(() => hooks.close());

/** The release comes to its first step, and stays there until `hooks.answer(name, 200)`. */
function heldAtStep(name: string): ShopOptions {
  hooks.answer(name, ({ canaryWeight }) => (canaryWeight < 30 ? 200 : 403));
  const gate = { name: 'gate', type: 'confirm-traffic-increase' as const, url: hooks.url(name) };
  return { analysis: { ...steps, webhooks: [gate] } };
}

const running = (namespace: string, options: ShopOptions = {}) =>
  shops.openRunning(namespace, { analysis: steps, ...options });
const isAtRest =
  (phase: CanaryStatus['phase']) =>
  ({ phase: now, run }: CanaryStatus) =>
    now === phase && !run;
const isAtStep = ({ phase, canaryWeight }: CanaryStatus) => phase === 'Progressing' && canaryWeight === 30;
const isSuspended = ({ conditions = [] }: CanaryStatus) =>
  conditions.some(({ type, reason }) => type === 'Ready' && reason === 'Suspended');

const suspend = (shop: Shop, suspend: boolean) => shop.patchCanary({ spec: { suspend } });

const primaryImage = async (shop: Shop) => imageOf(await shop.workload('podinfo-primary'));

describe.concurrent('one event in each state, under constant traffic', () => {
  test('Progressing: aborted by a person, the release ends and is rejected', async () => {
    const shop = await running('event-abort', heldAtStep('event-abort'));
    const load = shop.startLoad();
    const commit = await shop.release('v2');
    await shop.until('at a step', isAtStep);
    await shop.annotate('holdfast.dev/abort', commit);
    const ended = await shop.until('aborted', isAtRest('Failed'));
    expect(load.stop().failures).toEqual([]);
    expect(ended.rejected).toHaveLength(1);
    expect(await primaryImage(shop)).toBe('app:v1');
  });

  test('Progressing: suspended, nothing moves; resumed, it goes on to the end', async () => {
    const shop = await running('event-suspend', heldAtStep('event-suspend'));
    const load = shop.startLoad();
    const commit = await shop.release('v2');
    await shop.until('at a step', isAtStep);
    await suspend(shop, true);
    await shop.until('suspended', isSuspended);
    const before = shop.status().canaryWeight;
    hooks.answer('event-suspend', 200);
    await shops.pass(6000);
    const after = shop.status().canaryWeight;
    await suspend(shop, false);
    const ended = await shop.until('promoted', isAtRest('Succeeded'));
    expect(load.stop().failures).toEqual([]);
    expect([before, after]).toEqual([30, 30]);
    expect(ended.lastPromotedCommit).toBe(commit);
  });

  test('Succeeded: a person goes back to an older release', async () => {
    const shop = await running('event-rollback');
    const first = shop.status().lastPromotedCommit ?? '';
    // The checks after promotion need requests to look at.
    const load = shop.startLoad();
    await shop.release('v2');
    await shop.until('v2 promoted', isAtRest('Succeeded'));
    await shop.annotate('holdfast.dev/rollback-to', first);
    await shop.until('back', (status) => status.lastPromotedCommit === first && !status.run);
    expect(load.stop().failures).toEqual([]);
    expect(await primaryImage(shop)).toBe('app:v1');
  });
});
