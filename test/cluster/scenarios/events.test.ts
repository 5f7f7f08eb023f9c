/**
 * One event in each state of a release, under load: a row through the table of docs/guides/state-by-event.md on real parts. The whole table
 * is played on the core (test/rollout/matrix.test.ts), more of it on the sandbox.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CanaryStatus } from '../../../src/api/canary/status.ts';
import { type HookServer, startHookServer } from '../../hook-server.ts';
import { type BedClient, useBed, waitFor } from '../bed/client.ts';
import { imageOf, type Shop, type ShopOptions, shareHoldfast } from './shop.ts';

const bed: BedClient = useBed();
const shops = shareHoldfast(bed, [
  'event-abort',
  'event-suspend',
  'event-newer',
  'event-delete',
  'event-rollback',
  'event-target',
  'event-primary',
]);
const steps = { interval: '2s', threshold: 2, stepWeights: [30, 60], metrics: [] };
const neverReady = { PRIMARY_READY: 'false' };

let hooks: HookServer;

beforeAll(async () => {
  hooks = await startHookServer();
});

afterAll(() => hooks.close());

/** The release comes to its first step, and stays there until `hooks.answer(name, 200)`. */
function heldAtStep(name: string): ShopOptions {
  hooks.answer(name, 200, 403);
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

async function ask({ namespace }: Shop, verb: string, value: string): Promise<void> {
  await bed.kubectl(['-n', namespace, 'annotate', 'canary/podinfo', `holdfast.dev/${verb}=${value}`]);
}

async function suspend({ namespace }: Shop, isSuspended: boolean): Promise<void> {
  const patch = JSON.stringify({ spec: { suspend: isSuspended } });
  await bed.kubectl(['-n', namespace, 'patch', 'canary/podinfo', '--type=merge', '-p', patch]);
}

const remove = ({ namespace }: Shop, object: string) =>
  bed.kubectl(['-n', namespace, 'delete', object, '--wait=false']);

const primaryImage = async (shop: Shop) => imageOf(await shop.workload('podinfo-primary'));

describe.concurrent('one event in each state, under 50 requests a second', () => {
  test('Progressing: aborted by a person, the release ends and is rejected', async () => {
    const shop = await running('event-abort', heldAtStep('event-abort'));
    const load = shop.startLoad();
    const commit = await shop.release('v2');
    await shop.until('at a step', isAtStep);
    await ask(shop, 'abort', commit);
    const ended = await shop.until('aborted', isAtRest('Failed'));
    expect((await load.stop()).failures).toEqual([]);
    expect(ended.rejected).toHaveLength(1);
    expect(await primaryImage(shop)).toBe('app:v1');
    await shop.close();
  });

  test('Progressing: suspended, nothing moves; resumed, it goes on to the end', async () => {
    const shop = await running('event-suspend', heldAtStep('event-suspend'));
    const load = shop.startLoad();
    const commit = await shop.release('v2');
    await shop.until('at a step', isAtStep);
    await suspend(shop, true);
    await shop.until('suspended', isSuspended);
    const before = (await shop.status()).canaryWeight;
    hooks.answer('event-suspend', 200);
    await sleep(6000);
    const after = (await shop.status()).canaryWeight;
    await suspend(shop, false);
    const ended = await shop.until('promoted', isAtRest('Succeeded'));
    expect((await load.stop()).failures).toEqual([]);
    expect([before, after]).toEqual([30, 30]);
    expect(ended.lastPromotedCommit).toBe(commit);
    await shop.close();
  });

  test('Verifying: a newer commit takes the place of the release', async () => {
    const shop = await running('event-newer', { postPromotion: { interval: '2s', successThreshold: 100 } });
    const load = shop.startLoad();
    await shop.release('v2');
    await shop.until('verifying', ({ postPromotion }) => postPromotion?.state === 'Verifying');
    const commit = await shop.release('v3');
    await shop.until('v3 on the primary', ({ serving = [] }) =>
      serving.some(({ workload, commit: of }) => workload === 'podinfo-primary' && of === commit),
    );
    expect((await load.stop()).failures).toEqual([]);
    expect(await primaryImage(shop)).toBe('app:v3');
    expect((await shop.status()).rejected ?? []).toEqual([]);
    await shop.close();
  });

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

  test('Succeeded: a person goes back to an older release', async () => {
    const shop = await running('event-rollback');
    const first = (await shop.status()).lastPromotedCommit ?? '';
    // The checks after promotion need requests to look at.
    const load = shop.startLoad();
    await shop.release('v2');
    await shop.until('v2 promoted', isAtRest('Succeeded'));
    await ask(shop, 'rollback-to', first);
    await shop.until('back', (status) => status.lastPromotedCommit === first && !status.run);
    expect((await load.stop()).failures).toEqual([]);
    expect(await primaryImage(shop)).toBe('app:v1');
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

  test('Failed: the primary is deleted, and comes back as the last known good', async () => {
    const shop = await running('event-primary', { primaryDeadlineSeconds: 6 });
    await shop.release('v2', neverReady);
    await shop.until('reverted', isAtRest('Failed'));
    await remove(shop, 'deployment/podinfo-primary');
    await waitFor(
      async () => {
        const { readyReplicas } = ((await shop.workload('podinfo-primary'))?.status ?? {}) as Record<
          string,
          number
        >;
        return readyReplicas === 2 && (await primaryImage(shop)) === 'app:v1';
      },
      { timeoutMs: 120_000, what: 'the primary is back', describe: () => shop.status() },
    );
    expect((await shop.status()).rejected).toHaveLength(1);
    await shop.close();
  });
});
