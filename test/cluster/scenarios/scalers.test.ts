import { describe, expect, test } from 'vitest';
import { imageOf, replicasOf } from '../../objects.ts';
import { condition } from '../../shop.ts';
import { type BedClient, useBed, waitFor } from '../bed/client.ts';
import { type LoadScaler, startLoadScaler } from './load-scaler.ts';
import { type Shop, shareHoldfast, untilRunning } from './shop.ts';

const bed: BedClient = useBed();
const shops = shareHoldfast(bed, ['scaled-good', 'scaled-unready']);

const bounds = { minReplicas: 1, maxReplicas: 12 };
const scaler = {
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: 'podinfo', annotations: { 'holdfast.dev/settle-time': '10s' } },
  spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'podinfo' }, ...bounds },
};
/** Of 50 requests a second; ten pods have room for unevenness, four have not enough. */
const env = { MAX_PER_SECOND: '12' };

async function running(
  namespace: string,
  strategy: unknown,
): Promise<{ shop: Shop; autoscaler: LoadScaler }> {
  const { apiVersion, kind, metadata } = scaler;
  const shop = await shops.open(namespace, {
    strategy,
    files: { scaler },
    requestsPerSecond: 50,
    env,
    spec: { autoscalerRef: { apiVersion, kind: kind as 'HorizontalPodAutoscaler', name: metadata.name } },
  });
  const autoscaler = startLoadScaler(bed, namespace, { podsForAll: 10, lagMs: 6000 });
  await untilRunning(shop);
  await untilReady(shop, 'podinfo-primary', 10);
  await untilAllAnswer(shop, 10);
  return { shop, autoscaler };
}

function untilReady(shop: Shop, name: 'podinfo' | 'podinfo-primary', pods: number): Promise<unknown> {
  const readyPods = async () => (await shop.workload(name))?.status as { readyReplicas?: number } | undefined;
  const what = `${shop.namespace}: ${pods} ready pods of ${name}`;
  return waitFor(async () => (await readyPods())?.readyReplicas === pods, {
    timeoutMs: 180_000,
    what,
    describe: readyPods,
  });
}

/**
 * Envoy learns of pods a moment after they are ready; up to then the first one had all requests. That counts against what it carries for as
 * long as the second lasts in which it was.
 */
async function untilAllAnswer(shop: Shop, pods: number): Promise<void> {
  const look = async () => {
    const load = shop.startLoad();
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const seen = await load.stop();
    return seen.failed === 0 && seen.pods.size === pods;
  };
  await waitFor(look, { timeoutMs: 120_000, what: `${shop.namespace}: ${pods} pods answer through Envoy` });
  await new Promise((resolve) => setTimeout(resolve, 1_000));
}

async function expectRestored(shop: Shop): Promise<void> {
  for (const name of ['podinfo', 'podinfo-primary']) {
    const found = await bed.readObject('HorizontalPodAutoscaler', shop.namespace, name);
    expect(found?.spec).toMatchObject(bounds);
    expect(found?.metadata.annotations ?? {}).not.toHaveProperty(['holdfast.dev/min-replicas']);
  }
  expect(replicasOf(await shop.workload('podinfo'))).toBe(0);
  await untilReady(shop, 'podinfo-primary', 10);
}

describe('10 primary pods against a canary of one, under as much load as 10 pods carry', () => {
  test('a good release is promoted, and no request fails', async () => {
    const { shop, autoscaler } = await running('scaled-good', { type: 'RollingUpdate' });
    const load = shop.startLoad();
    const commit = await shop.release('v2');
    await shop.until(
      'v2 succeeded',
      (status) => status.phase === 'Succeeded' && status.lastPromotedCommit === commit,
    );
    await expectRestored(shop);
    const seen = await load.stop();
    await autoscaler.stop();
    expect(seen.failures).toEqual([]);
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v2');
    await shop.close();
  });

  test('[scaled-reverts] a primary that never becomes ready is held by as many canary pods and reverted, and no request fails', async () => {
    const { shop, autoscaler } = await running('scaled-unready', { type: 'Recreate' });
    const load = shop.startLoad();
    await shop.release('v2', { PRIMARY_READY: 'false' }, { primaryDeadlineSeconds: 15 });
    await shop.until(
      'v2 held',
      (status) => status.postPromotion?.state === 'Held' && status.canaryWeight === 100,
    );
    await untilReady(shop, 'podinfo', 10);
    const ended = await shop.until('v2 reverted', (status) => status.phase === 'Failed' && !status.run);
    await expectRestored(shop);
    const seen = await load.stop();
    await autoscaler.stop();
    expect(seen.failures).toEqual([]);
    expect(condition(ended, 'Reverted')).toBe('True');
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v1');
    await shop.close();
  });
});
