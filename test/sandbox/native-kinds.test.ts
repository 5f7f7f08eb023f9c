import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { imageOf } from '../objects.ts';
import {
  canary,
  condition,
  deployment,
  eventually,
  runUntilInitialized,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

const service = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace: 'shop' },
  spec: { selector: { app: 'web' }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
});

/** What differs between the kinds: how it is written, and how many pods there are. */
interface Kind {
  readonly kind: 'StatefulSet' | 'DaemonSet';
  readonly storageKey: string;
  readonly own: Readonly<Record<string, unknown>>;
  readonly pods: number;
  readonly steps: readonly number[];
}

const statefulSet: Kind = {
  kind: 'StatefulSet',
  storageKey: 'apps/statefulsets',
  own: {
    replicas: 5,
    serviceName: 'web',
    ordinals: { start: 3 },
    minReadySeconds: 1,
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
  },
  pods: 5,
  steps: [20, 40, 60],
};
const daemonSet: Kind = {
  kind: 'DaemonSet',
  storageKey: 'apps/daemonsets',
  own: {
    replicas: undefined,
    minReadySeconds: 1,
    revisionHistoryLimit: 4,
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: '34%' } },
  },
  pods: 3,
  steps: [33, 66],
};

function web({ kind, own }: Kind, image: string, more: Record<string, unknown> = {}): string {
  const object = JSON.parse(deployment(image));
  return JSON.stringify({ ...object, kind, spec: { ...object.spec, ...own, ...more } });
}

function canaryOf({ kind, steps }: Kind, analysis: Record<string, unknown> = {}): string {
  return canary({
    spec: {
      provider: 'native',
      service: undefined,
      targetRef: { apiVersion: 'apps/v1', kind, name: 'web' },
    },
    analysis: { iterations: undefined, stepWeights: steps, ...analysis },
  });
}

function live({ kind }: Kind): Promise<KubernetesObject | undefined> {
  return bed.get('apps/v1', kind, 'web');
}

function settingsOf(object: KubernetesObject | undefined): Record<string, unknown> {
  const { template: _, ...settings } = (object?.spec ?? {}) as Record<string, unknown>;
  return settings;
}

function podsOf(image: string): KubernetesObject[] {
  const pods = bed.sandbox.store.list('/pods', 'shop');
  return pods.filter(
    (pod) =>
      !pod.metadata.deletionTimestamp &&
      (pod.spec as { containers: Array<{ image: string }> }).containers[0]?.image === image,
  );
}

/** Moments at which there were more pods of the new template than the step lets, at any event of the store. */
function watchSteps(
  { storageKey, pods: all }: Kind,
  image: string,
): { readonly beyond: string[]; most(): number } {
  const beyond: string[] = [];
  let most = 0;
  bed.sandbox.store.subscribe(() => {
    const annotations = bed.sandbox.store.get(storageKey, 'shop', 'web')?.metadata.annotations ?? {};
    if (annotations['holdfast.dev/promoted'] === undefined) return;
    const pods = podsOf(image).length;
    most = Math.max(most, pods);
    const share = Number(annotations['holdfast.dev/share']);
    if (pods > Math.ceil((share * all) / 100)) beyond.push(`${pods} pods at ${share} %`);
  });
  return { beyond, most: () => most };
}

/** A budget that forbids every eviction: rolling updates, and what stands for one here, are none. */
const budget = JSON.stringify({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: 'web', namespace: 'shop' },
  spec: { maxUnavailable: 0, selector: { matchLabels: { app: 'web' } } },
});

async function runFirst(kind: Kind, analysis: Record<string, unknown> = {}): Promise<void> {
  await bed.commit('v1', {
    'web.json': web(kind, 'shop/web:1'),
    'service.json': service,
    'budget.json': budget,
    'canary.json': canaryOf(kind, analysis),
  });
  await runUntilInitialized(bed);
}

function readyMessage(text: string): Promise<unknown> {
  return eventually(text, async () => condition(await bed.canary(), 'Ready')?.message?.includes(text), {
    seen: async () => condition(await bed.canary(), 'Ready')?.message,
  });
}

describe.each([statefulSet, daemonSet])('a $kind', (kind) => {
  test('is promoted by steps in place, and has its own settings back', async () => {
    await runFirst(kind);
    const before = await live(kind);
    const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
    const seen = watchSteps(kind, 'shop/web:2');
    const steps: unknown[] = [];
    const v2 = await bed.commit('v2', { 'web.json': web(kind, 'shop/web:2') });
    await eventually(
      'the promotion',
      async () => {
        const { canaryWeight, phase, lastPromotedCommit } = statusOf(await bed.canary());
        if (phase === 'Progressing' && steps.at(-1) !== canaryWeight) steps.push(canaryWeight);
        return phase === 'Succeeded' && lastPromotedCommit === v2;
      },
      { timeoutMs: 120_000, seen: async () => [statusOf(await bed.canary()), await live(kind)] },
    );
    sampler.stop();
    expect(sampler.totals()).toMatchObject({ failed: 0 });
    expect([seen.beyond, seen.most()]).toEqual([[], Math.ceil((kind.pods * (kind.steps.at(-1) ?? 0)) / 100)]);
    expect(steps.filter((weight) => Number(weight) > 0)).toEqual(kind.steps);
    const after = await live(kind);
    expect([imageOf(after), podsOf('shop/web:2').length]).toEqual(['shop/web:2', kind.pods]);
    expect(settingsOf(after)).toEqual(settingsOf(before));
    expect(Object.keys(after?.metadata.annotations ?? {})).toEqual(
      Object.keys(before?.metadata.annotations ?? {}),
    );
  });

  test('goes back at its first step when its pods never become ready, and nothing fails', async () => {
    await runFirst(kind);
    const before = await live(kind);
    const seen = watchSteps(kind, 'missing/web:2');
    const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
    await bed.commit('v2', { 'web.json': web(kind, 'missing/web:2') });
    await waitForPhase(bed, 'Failed');
    await eventually('all pods of v1 are back', async () => podsOf('shop/web:1').length === kind.pods);
    sampler.stop();
    expect(sampler.totals()).toMatchObject({ failed: 0 });
    expect([seen.beyond, seen.most()]).toEqual([[], 1]);
    expect(imageOf(await live(kind))).toBe('shop/web:1');
    expect(settingsOf(await live(kind))).toEqual(settingsOf(before));
  });

  test('goes back when it fails after promotion, also over a pod that its controller waits for', async () => {
    await runFirst(kind);
    bed.sandbox.behaviour.rule((pod) => {
      const { containers, nodeName } = pod.spec as {
        containers: Array<{ image: string }>;
        nodeName?: string;
      };
      const isLast = pod.metadata.name === 'web-3' || nodeName === 'sandbox-node-c';
      return isLast && containers[0]?.image === 'shop/web:2' ? { failure: 'NotReady' } : undefined;
    });
    await bed.commit('v2', { 'web.json': web(kind, 'shop/web:2') });
    await waitForPhase(bed, 'Failed');
    await eventually('all pods of v1 are back', async () => podsOf('shop/web:1').length === kind.pods);
    expect(imageOf(await live(kind))).toBe('shop/web:1');
  });

  test('that a policy would not let be held at a step is left as it is, and it is told; without the policy the release goes on', async () => {
    await runFirst(kind);
    const end = bed.sandbox.webhook((key, object) => {
      const { updateStrategy } = kind.own;
      return key === kind.storageKey
        ? { ...object, spec: { ...(object.spec as object), updateStrategy } }
        : object;
    });
    await bed.commit('v2', { 'web.json': web(kind, 'shop/web:2') });
    await readyMessage('if it were written, so nothing was: an admission webhook or policy changes it');
    await bed.pass(20_000);
    expect(condition(await bed.canary(), 'Ready')?.message).toMatch(
      /web: spec\.updateStrategy\S* would be \S+, not \S+, if it were written/,
    );
    expect(podsOf('shop/web:1')).toHaveLength(kind.pods);
    end();
    await waitForPhase(bed, 'Succeeded');
    expect(podsOf('shop/web:2')).toHaveLength(kind.pods);
  });

  test('is refused with OnDelete before anything is written', async () => {
    await runFirst(kind);
    await bed.commit('OnDelete', {
      'web.json': web(kind, 'shop/web:2', { updateStrategy: { type: 'OnDelete' } }),
    });
    await readyMessage('must be RollingUpdate for provider native, not OnDelete');
    expect([imageOf(await live(kind)), podsOf('shop/web:2').length]).toEqual(['shop/web:1', 0]);
  });
});

test('a StatefulSet that somebody scales at a step gets its number back, and no further pod of the release', async () => {
  await runFirst(statefulSet, { interval: '10m' });
  await bed.commit('v2', { 'web.json': web(statefulSet, 'shop/web:2') });
  await eventually(
    'the step',
    async () => podsOf('shop/web:2').length === 1 && podsOf('shop/web:1').length === 4,
  );
  const scale = bed.sandbox.store.get('apps/statefulsets', 'shop', 'web')?.metadata.generation ?? 0;
  await bed.send('PATCH', '/apis/apps/v1/namespaces/shop/statefulsets/web', { spec: { replicas: 7 } });
  await eventually('5 pods again', async () => {
    const object = await live(statefulSet);
    const pods = [podsOf('shop/web:1').length, podsOf('shop/web:2').length].join();
    return Number(object?.metadata.generation) > scale + 1 && pods === '4,1';
  });
});

test('a node that joins a DaemonSet at a step, and a pod that dies there, get the release before', async () => {
  await runFirst(daemonSet, { interval: '10m' });
  await bed.commit('v2', { 'web.json': web(daemonSet, 'shop/web:2') });
  const counts = () => [podsOf('shop/web:1').length, podsOf('shop/web:2').length].join();
  const stands = async () =>
    (await live(daemonSet))?.metadata.annotations?.['holdfast.dev/tried-revision'] !== undefined;
  await eventually('the step', async () => (await stands()) && counts() === '2,1');
  await bed.send('POST', '/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'sandbox-node-d', labels: { 'kubernetes.io/os': 'linux' } },
  });
  // A third of four nodes is two.
  await eventually('the share of four nodes', async () => (await stands()) && counts() === '2,2', {
    seen: async () => counts(),
  });
  const [old] = podsOf('shop/web:1');
  await bed.send('DELETE', `/api/v1/namespaces/shop/pods/${old?.metadata.name}`);
  await eventually(
    'it is back',
    async () => !podsOf('shop/web:1').includes(old as KubernetesObject) && counts() === '2,2',
  );
});

test('the nodes of one zone come first where the Canary says so', async () => {
  const label = 'topology.kubernetes.io/zone';
  for (const [node, zone] of [
    ['sandbox-node-a', 'east'],
    ['sandbox-node-c', 'west'],
  ])
    await bed.send('PATCH', `/api/v1/nodes/${node}`, { metadata: { labels: { [label]: zone } } });
  await runFirst(daemonSet, { interval: '10m', nodeOrder: { label, values: ['west'] } });
  await bed.commit('v2', { 'web.json': web(daemonSet, 'shop/web:2') });
  await eventually('the step', async () => podsOf('shop/web:2').length === 1);
  expect(podsOf('shop/web:2').map(({ spec }) => (spec as { nodeName: string }).nodeName)).toEqual([
    'sandbox-node-c',
  ]);
});
