import { describe, expect, test } from 'vitest';
import type { KubernetesObject } from '../../../src/api/kubernetes.ts';
import { replicasOf } from '../../objects.ts';
import { type BedClient, useBed, waitFor } from '../bed/client.ts';
import { deployment, httpRoute, service } from '../bed/manifests.ts';
import { openShop, type Shop, untilAnswered } from './shop.ts';

const bed: BedClient = useBed();
const analysis = { interval: '1s', threshold: 1, stepWeights: [50] };
const postPromotion = { interval: '1s', successThreshold: 1, metrics: [] };

/** The provider that is in effect, once nothing moves any more. */
function arrive(shop: Shop, provider: string): Promise<unknown> {
  return shop.until(`${provider} is in effect`, (status) => status.provider === provider && !status.move);
}

/** Names of the pods of podinfo that are not on their way out, with their uids. */
async function pods(namespace: string): Promise<readonly string[]> {
  const found = await bed.listObjects('Pod', namespace);
  return found
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(({ metadata }) => `${metadata.name} ${metadata.uid}`)
    .sort();
}

describe.concurrent('provider native beside others', () => {
  test('a Canary moves to copies and back under constant traffic, killed on both ways, and nobody is sent where nobody serves', async () => {
    const namespace = 'native-moves';
    const options: Parameters<typeof openShop>[2] & { provider: 'native' | 'gatewayapi:v1' } = {
      ...{ provider: 'native', analysis, postPromotion },
      files: {
        service: service('podinfo'),
        route: httpRoute('podinfo', `${namespace}.example.com`, { podinfo: 100 }),
      },
    };
    const shop = await openShop(bed, namespace, options);
    await shop.release('v1');
    await shop.until('v1 initialized', (status) => status.phase === 'Initialized');
    await untilAnswered(namespace, () => shop.startLoad());
    const load = shop.startLoad();
    const moments = () =>
      shop.killAt([(status) => status.move !== undefined, (status) => status.move?.readyTime !== undefined]);

    options.provider = 'gatewayapi:v1';
    const killedOut = moments();
    await shop.release('v1');
    await killedOut;
    await arrive(shop, 'gatewayapi:v1');
    expect(replicasOf(await shop.workload('podinfo-primary'))).toBe(2);
    const v2 = await shop.release('v2');
    await shop.until(
      'v2 succeeded',
      (status) => status.phase === 'Succeeded' && status.lastPromotedCommit === v2,
    );

    options.provider = 'native';
    const killedBack = moments();
    await shop.release('v2');
    await killedBack;
    await arrive(shop, 'native');
    expect(await shop.workload('podinfo-primary')).toBeUndefined();
    expect(replicasOf(await shop.workload('podinfo'))).toBe(2);
    const { failures, byVersion } = await load.stop();
    expect(Object.keys(byVersion).sort()).toEqual(['v1', 'v2']);
    expect(failures).toEqual([]);
    await shop.close();
  });

  test('a Deployment with a HorizontalPodAutoscaler is taken over by adding one Canary: no pod restarts, and nothing else is made', async () => {
    const namespace = 'native-adopts';
    const workload = deployment({ name: 'podinfo', image: 'app:v1' });
    delete (workload.spec as { replicas?: number }).replicas;
    const scaler = {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'podinfo' },
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'podinfo' },
        minReplicas: 3,
        maxReplicas: 6,
      },
    };
    const running = { deployment: workload, service: service('podinfo'), scaler };
    const shop = await openShop(bed, namespace);
    const commit = (objects: Readonly<Record<string, unknown>>, subject: string) =>
      shop.repo.commit(
        Object.fromEntries(
          Object.entries(objects).map(([name, object]) => [`${name}.yaml`, JSON.stringify(object)]),
        ),
        subject,
      );
    await commit(running, 'What runs');
    const ready = async () => {
      const { readyReplicas } = ((await shop.workload('podinfo'))?.status ?? {}) as {
        readyReplicas?: number;
      };
      return readyReplicas === 3 || undefined;
    };
    await waitFor(ready, { timeoutMs: 60_000, what: 'three pods', describe: () => pods(namespace) });
    const [before, made] = [await pods(namespace), await objects(namespace)];
    const canary = {
      apiVersion: 'flagger.app/v1beta1',
      kind: 'Canary',
      metadata: { name: 'podinfo' },
      spec: {
        provider: 'native',
        targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'podinfo' },
        autoscalerRef: { apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler', name: 'podinfo' },
        ...{ analysis, postPromotion, progressDeadlineSeconds: 60 },
      },
    };
    await commit({ ...running, canary }, 'Roll out in place');
    await shop.until('initialized', (status) => status.phase === 'Initialized');
    expect(await pods(namespace)).toEqual(before);
    expect(await objects(namespace)).toEqual(made);
    await shop.close();
  });
});

/** Everything in the namespace that serves or is read by what serves, but records of releases. */
async function objects(namespace: string): Promise<readonly string[]> {
  const kinds = ['Deployment', 'ReplicaSet', 'Service', 'ConfigMap', 'HorizontalPodAutoscaler', 'HTTPRoute'];
  const isRecord = ({ metadata }: KubernetesObject) => metadata.labels?.['holdfast.dev/record'] !== undefined;
  const lists = await Promise.all(
    [...kinds, 'Secret'].map(async (kind) => {
      const found = await bed.listObjects(kind, namespace);
      return found.filter((object) => !isRecord(object)).map(({ metadata }) => `${kind} ${metadata.name}`);
    }),
  );
  return lists.flat().sort();
}
