import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type HookServer, startHookServer } from '../../hook-server.ts';
import { imageOf } from '../../objects.ts';
import type { TargetKind } from '../../shop.ts';
import { type BedClient, useBed } from '../bed/client.ts';
import { httpRoute, service } from '../bed/manifests.ts';
import { openShop, type Shop, untilAnswered } from './shop.ts';
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

  test('a good release is promoted by steps in place, whenever the program is killed, and no request fails; one whose checks fail goes back at its first step, though the program is killed there, and only its own pods answered with errors; one that fails after promotion goes back in place', async () => {
    const shop = await running(namespace, kind);
    const before = await shop.workload('podinfo');
    const comesBack = async () => {
      const after = await shop.workload('podinfo');
      expect([imageOf(after), settingsOf(after)]).toEqual(['app:v2', settingsOf(before)]);
    };

    const good = shop.startLoad();
    const watchGood = await watchSteps(shop.namespace, plural);
    const killed = shop.killAt(steps.map((step) => (status) => status.canaryWeight === step));
    const commit = await shop.release('v2', {}, { replicas: pods });
    await killed;
    await shop.until(
      'v2 succeeded',
      (status) => status.phase === 'Succeeded' && status.lastPromotedCommit === commit,
    );
    expect((await good.stop()).failures).toEqual([]);
    expect(await watchGood('app:v2', pods)).toMatchObject({ beyond: [], most: shareOf(kind, steps.at(-1)) });
    await comesBack();

    const bad = shop.startLoad();
    const watchBad = await watchSteps(shop.namespace, plural);
    const killedAgain = shop.killAt([(status) => status.canaryWeight === steps[0]]);
    const stopped = await shop.release('v3', { ERROR_PERCENT: '100' }, { replicas: pods });
    await killedAgain;
    await shop.until(
      'v3 reverted',
      ({ lastAppliedCommit, phase, run }) => lastAppliedCommit === stopped && phase === 'Failed' && !run,
    );
    const { failures } = await bad.stop();
    expect(new Set(failures.map(({ version, status }) => `${version} ${status}`))).toEqual(
      new Set(['v3 500']),
    );
    expect(await watchBad('app:v3', pods)).toMatchObject({ beyond: [], most: shareOf(kind, steps[0]) });
    await comesBack();

    await failAfterPromotion(shop, kind);
    await comesBack();
    await shop.close();
  });
});

/** Pods that a step of so many percent may have. */
function shareOf({ pods }: Kind, percent = 0): number {
  return Math.ceil((pods * percent) / 100);
}

/** All pods run v4 when its webhook refuses; the template before comes back in place, and nobody is without an answer. */
async function failAfterPromotion(shop: Shop, { pods }: Kind): Promise<void> {
  // A pod of v3 on its way out still answers while Envoy knows it.
  await untilAnswered(shop.namespace, () => shop.startLoad(), ['v2']);
  const load = shop.startLoad();
  const commit = await shop.release('v4', {}, { replicas: pods });
  hooks.answer(shop.namespace, (call) => (call.commit === commit ? 403 : 200));
  const ended = await shop.until(
    'v4 reverted',
    (status) => status.lastAppliedCommit === commit && status.phase === 'Failed' && !status.run,
  );
  const { failures, byVersion } = await load.stop();
  expect(failures).toEqual([]);
  expect(Object.keys(byVersion).sort()).toEqual(['v2', 'v4']);
  const asked = hooks.seen(shop.namespace).filter((call) => call.commit === commit);
  expect(asked.length).toBeGreaterThan(0);
  expect(ended.rejected?.map(({ commit: rejected }) => rejected)).toContain(commit);
  const left = await bed.listObjects('Pod', shop.namespace, 'app=podinfo');
  const stays = left.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  expect(
    stays.map((pod) => (pod.spec as { containers: Array<{ image: string }> }).containers[0]?.image),
  ).toEqual(Array(pods).fill('app:v2'));
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
