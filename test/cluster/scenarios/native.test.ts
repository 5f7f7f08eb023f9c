import { beforeAll, describe, expect, inject, test } from 'vitest';
import { allCrds } from '../../../src/api/crd.ts';
import { httpTarget, type Json } from '../../conformance/target.ts';
import { type BedClient, useBed } from '../bed/client.ts';
import { httpRoute, service } from '../bed/manifests.ts';
import { imageOf, openShop, type Shop, untilAnswered } from './shop.ts';

const bed: BedClient = useBed();
const REPLICAS = 5;
/** The user's own settings, all of which must come back. */
const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 2, maxUnavailable: 0 } };

beforeAll(async () => {
  await bed.apply(allCrds());
  await bed.kubectl(['wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all']);
});

/** A Deployment behind a Service and a route of its own, which Holdfast has nothing to do with. */
async function running(namespace: string): Promise<Shop> {
  const shop = await openShop(bed, namespace, {
    strategy,
    progressDeadlineSeconds: 8,
    analysis: { interval: '1s', threshold: 1, stepWeight: 20, maxWeight: 60 },
    postPromotion: { interval: '1s', successThreshold: 1, metrics: [] },
    spec: { provider: 'native', service: undefined },
    files: {
      service: service('podinfo'),
      route: httpRoute('podinfo', `${namespace}.example.com`, { podinfo: 100 }),
    },
  });
  await release(shop, 'v1');
  await shop.until('v1 initialized', (status) => status.phase === 'Initialized');
  await untilAnswered(namespace, () => shop.startLoad());
  return shop;
}

function release(shop: Shop, version: string, env: Record<string, string> = {}): Promise<string> {
  return shop.release(version, env, { replicas: REPLICAS });
}

/** Looks at every watch event of the Deployment while a release is tried: how many of its pods there are at which share. */
async function watchSteps(namespace: string) {
  const { apiServer, adminToken, ca } = inject('bed');
  const target = httpTarget({ baseUrl: apiServer, token: adminToken, ca });
  const stream = await target.watch(`/apis/apps/v1/namespaces/${namespace}/deployments?watch=true`);
  const seen: Array<{ share: number; pods: number }> = [];
  let stopped = false;
  const look = ({ metadata, status }: Json) => {
    const { annotations = {}, generation } = metadata;
    // Before its controller has looked, its counts are of the template before.
    if (annotations['holdfast.dev/promoted'] === undefined || status.observedGeneration !== generation)
      return;
    seen.push({ share: Number(annotations['holdfast.dev/share']), pods: status.updatedReplicas ?? 0 });
  };
  const running = (async () => {
    while (!stopped) {
      const event = await stream.next().catch(() => undefined);
      if (event) look(event.object);
      else if (!stopped) await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  return async () => {
    stopped = true;
    stream.close();
    await running;
    await target.close();
    return {
      beyond: seen.filter(({ share, pods }) => pods > Math.ceil((share * REPLICAS) / 100)),
      most: Math.max(...seen.map(({ pods }) => pods)),
    };
  };
}

function settingsOf(workload: unknown): Record<string, unknown> {
  const { template: _, ...settings } = (workload as { spec: Record<string, unknown> }).spec;
  return settings;
}

describe.concurrent('provider native under constant traffic', () => {
  test('a good release is promoted by steps in place, and no request fails, whenever the program is killed', async () => {
    const shop = await running('native-good');
    const before = await shop.workload('podinfo');
    const load = shop.startLoad();
    const watch = await watchSteps(shop.namespace);
    const killed = shop.killAt([20, 40, 60].map((step) => (status) => status.canaryWeight === step));
    const commit = await release(shop, 'v2');
    await killed;
    await shop.until(
      'v2 succeeded',
      (status) => status.phase === 'Succeeded' && status.lastPromotedCommit === commit,
    );
    const { failures } = await load.stop();
    const { beyond, most } = await watch();
    expect(failures).toEqual([]);
    expect([beyond, most]).toEqual([[], 3]);
    const after = await shop.workload('podinfo');
    expect(imageOf(after)).toBe('app:v2');
    expect(settingsOf(after)).toEqual(settingsOf(before));
    await shop.close();
  });

  test('a release whose pods do not become ready goes back at its first step, and no request fails', async () => {
    const shop = await running('native-bad');
    const load = shop.startLoad();
    const watch = await watchSteps(shop.namespace);
    await release(shop, 'v2', { READY: 'false' });
    await shop.until('v2 reverted', (status) => status.phase === 'Failed' && !status.run);
    const { failures, byVersion } = await load.stop();
    const { beyond, most } = await watch();
    expect([failures, Object.keys(byVersion)]).toEqual([[], ['v1']]);
    expect([beyond, most]).toEqual([[], 1]);
    expect(imageOf(await shop.workload('podinfo'))).toBe('app:v1');
    await shop.close();
  });
});
