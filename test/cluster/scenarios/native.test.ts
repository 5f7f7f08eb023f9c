import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type HookServer, startHookServer } from '../../hook-server.ts';
import { type BedClient, useBed } from '../bed/client.ts';
import { httpRoute, service } from '../bed/manifests.ts';
import { imageOf, openShop, type Shop, type TargetKind, untilAnswered } from './shop.ts';
import { watchSteps } from './step-watch.ts';

const bed: BedClient = useBed();
let hooks: HookServer;

/** A kind with the user's own settings, all of which must come back. */
interface Kind {
  readonly kind: TargetKind;
  readonly plural: string;
  /** Pods, of which each step is a share: of a DaemonSet as many as the bed has nodes. */
  readonly pods: number;
  readonly steps: readonly number[];
  readonly strategy: unknown;
}

const kinds: readonly Kind[] = [
  {
    ...{ kind: 'Deployment', plural: 'deployments', pods: 5, steps: [20, 40, 60] },
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 2, maxUnavailable: 0 } },
  },
  {
    ...{ kind: 'StatefulSet', plural: 'statefulsets', pods: 4, steps: [25, 50] },
    strategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
  },
  {
    ...{ kind: 'DaemonSet', plural: 'daemonsets', pods: 2, steps: [50] },
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
  },
];
/** It forbids every eviction, and no rolling update. */
const budget = {
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: 'podinfo' },
  spec: { maxUnavailable: 0, selector: { matchLabels: { app: 'podinfo' } } },
};
const rate = {
  name: 'request-success-rate',
  thresholdRange: { min: 99 },
  interval: '5s',
  onNoData: 'wait' as const,
};

beforeAll(async () => {
  hooks = await startHookServer();
});

afterAll(() => hooks.close());

/** A workload behind a Service and a route of its own, which Holdfast has nothing to do with. */
async function running(
  namespace: string,
  { kind, steps, strategy, pods }: Kind,
  progressDeadlineSeconds = 60,
): Promise<Shop> {
  const order = { label: 'kubernetes.io/hostname', values: ['bed-node-b'] };
  const nodeOrder = kind === 'DaemonSet' ? { nodeOrder: order } : {};
  const shop = await openShop(bed, namespace, {
    targetKind: kind,
    strategy,
    progressDeadlineSeconds,
    analysis: { interval: '1s', threshold: 1, stepWeights: [...steps], metrics: [rate], ...nodeOrder },
    postPromotion: {
      ...{ interval: '1s', successThreshold: 1, metrics: [] },
      webhooks: [{ name: 'smoke', url: hooks.url(namespace), timeout: '5s' }],
    },
    spec: { provider: 'native', service: undefined },
    files: {
      service: service('podinfo'),
      budget,
      route: httpRoute('podinfo', `${namespace}.example.com`, { podinfo: 100 }),
    },
  });
  await shop.release('v1', {}, { replicas: pods });
  await shop.until('v1 initialized', (status) => status.phase === 'Initialized');
  await untilAnswered(namespace, () => shop.startLoad());
  return shop;
}

function settingsOf(workload: unknown): Record<string, unknown> {
  const { template: _, ...settings } = (workload as { spec: Record<string, unknown> }).spec;
  return settings;
}

describe.concurrent.each(kinds)('provider native with a $kind under constant traffic', (kind) => {
  const { plural, pods, steps } = kind;
  const namespace = `native-${kind.kind.toLowerCase()}`;

  test('a good release is promoted by steps in place, and no request fails, whenever the program is killed', async () => {
    const shop = await running(`${namespace}-good`, kind);
    const before = await shop.workload('podinfo');
    const load = shop.startLoad();
    const watch = await watchSteps(shop.namespace, plural);
    const killed = shop.killAt(steps.map((step) => (status) => status.canaryWeight === step));
    const commit = await shop.release('v2', {}, { replicas: pods });
    await killed;
    await shop.until(
      'v2 succeeded',
      (status) => status.phase === 'Succeeded' && status.lastPromotedCommit === commit,
    );
    const { failures } = await load.stop();
    const { beyond, most } = await watch('app:v2', pods);
    expect(failures).toEqual([]);
    expect([beyond, most]).toEqual([[], Math.ceil((pods * (steps.at(-1) ?? 0)) / 100)]);
    const after = await shop.workload('podinfo');
    expect(imageOf(after)).toBe('app:v2');
    expect(settingsOf(after)).toEqual(settingsOf(before));
    await shop.close();
  });

  test('a release whose checks fail goes back at its first step, though the program is killed there, and only its own pods answered with errors; one that fails after promotion goes back in place', async () => {
    const shop = await running(`${namespace}-bad`, kind);
    const before = await shop.workload('podinfo');
    const load = shop.startLoad();
    const watch = await watchSteps(shop.namespace, plural);
    const killed = shop.killAt([(status) => status.canaryWeight === steps[0]]);
    await shop.release('v2', { ERROR_PERCENT: '100' }, { replicas: pods });
    await killed;
    await shop.until('v2 reverted', (status) => status.phase === 'Failed' && !status.run);
    const { failures } = await load.stop();
    const { beyond, most } = await watch('app:v2', pods);
    expect(new Set(failures.map(({ version, status }) => `${version} ${status}`))).toEqual(
      new Set(['v2 500']),
    );
    expect([beyond, most]).toEqual([[], Math.ceil((pods * (steps[0] ?? 0)) / 100)]);
    const after = await shop.workload('podinfo');
    expect([imageOf(after), settingsOf(after)]).toEqual(['app:v1', settingsOf(before)]);
    await failAfterPromotion(shop, kind);
    const last = await shop.workload('podinfo');
    expect([imageOf(last), settingsOf(last)]).toEqual(['app:v1', settingsOf(before)]);
    await shop.close();
  });
});

/** All pods run v3 when its webhook refuses; the template before comes back in place, and nobody is without an answer. */
async function failAfterPromotion(shop: Shop, { pods }: Kind): Promise<void> {
  // A pod of v2 on its way out still answers while Envoy knows it.
  await untilAnswered(shop.namespace, () => shop.startLoad(), ['v1']);
  const load = shop.startLoad();
  const commit = await shop.release('v3', {}, { replicas: pods });
  hooks.answer(shop.namespace, (call) => (call.commit === commit ? 403 : 200));
  const ended = await shop.until(
    'v3 reverted',
    (status) => status.lastAppliedCommit === commit && status.phase === 'Failed' && !status.run,
  );
  const { failures, byVersion } = await load.stop();
  expect(failures).toEqual([]);
  expect(Object.keys(byVersion).sort()).toEqual(['v1', 'v3']);
  const asked = hooks.seen(shop.namespace).filter((call) => call.commit === commit);
  expect(asked.length).toBeGreaterThan(0);
  expect(ended.rejected?.map(({ commit: rejected }) => rejected)).toContain(commit);
  const left = await bed.listObjects('Pod', shop.namespace, 'app=podinfo');
  const stays = left.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  expect(
    stays.map((pod) => (pod.spec as { containers: Array<{ image: string }> }).containers[0]?.image),
  ).toEqual(Array(pods).fill('app:v1'));
}

test.concurrent('a release whose pods do not become ready goes back at its first step over a pod that its StatefulSet waits for', async () => {
  const kind = kinds.find((one) => one.kind === 'StatefulSet') as Kind;
  const shop = await running('native-stuck', kind, 8);
  const load = shop.startLoad();
  const watch = await watchSteps(shop.namespace, kind.plural);
  await shop.release('v2', { READY: 'false' }, { replicas: kind.pods });
  await shop.until('v2 reverted', (status) => status.phase === 'Failed' && !status.run);
  const { failures, byVersion } = await load.stop();
  const { beyond, most } = await watch('app:v2', kind.pods);
  expect([failures, Object.keys(byVersion)]).toEqual([[], ['v1']]);
  expect([beyond, most]).toEqual([[], 1]);
  expect(imageOf(await shop.workload('podinfo'))).toBe('app:v1');
  await shop.close();
});
