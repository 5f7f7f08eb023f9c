import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { leaveBehind, type Scene } from '../flagger/left-behind.ts';
import { imageOf } from '../objects.ts';
import { scene, settings, version } from './flagger-scenes.ts';
import {
  condition,
  createSource,
  eventually,
  isNotIdle,
  podUids,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';
import { otherTool } from './other-tool.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

const workload = (name: string) => bed.get('apps/v1', 'Deployment', name);
const primaryPods = () => podUids(bed, /^web-primary-/);
const canaryPods = () => podUids(bed, /^web-(?!primary-)/);
const route = async () => {
  const found = await bed.get('gateway.networking.k8s.io/v1', 'HTTPRoute', 'web');
  const { rules } = (found?.spec ?? {}) as { rules?: Array<{ backendRefs: Array<{ weight: number }> }> };
  return rules?.[0]?.backendRefs.map(({ weight }) => weight);
};

/** Everything as Flagger left it, and up. */
async function leave(left: Scene): Promise<{ primary: string[]; canary: string[] }> {
  await leaveBehind(bed.send, left);
  await eventually('the pods are ready', async () => {
    const [primary, target] = await Promise.all([workload('web-primary'), workload('web')]);
    const ready = (object: KubernetesObject | undefined) => Number(statusOf(object).readyReplicas ?? 0);
    return ready(primary) >= 1 && ready(target) >= Math.min(1, left.targetReplicas);
  });
  return { primary: primaryPods(), canary: canaryPods() };
}

async function untilAdopted(): Promise<void> {
  await eventually(
    'the primary is taken over',
    async () => (await workload('web-primary'))?.metadata.annotations?.['holdfast.dev/digest'],
    { seen: async () => statusOf(await bed.canary()) },
  );
}

describe('what Flagger left is taken over without a restart', () => {
  test.each(['Initialized', 'Succeeded'])(
    'in phase %s: nothing is rolled out, and it comes to rest',
    async (phase) => {
      const before = await leave(scene({ status: { phase } }));
      const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
      await bed.start();
      await untilAdopted();
      await eventually('ready', async () => condition(await bed.canary(), 'Ready')?.status === 'True', {
        seen: async () => statusOf(await bed.canary()),
      });
      await bed.pass(20_000);
      bed.sandbox.requests.clear();
      await bed.pass(20_000);
      sampler.stop();

      const status = statusOf(await bed.canary());
      expect(status).toMatchObject({
        phase,
        lastAppliedSpec: expect.stringMatching(/^v1:/),
        canaryWeight: 0,
      });
      expect(status.history).toBeUndefined();
      expect(status.incidents).toBeUndefined();
      expect(condition(await bed.canary(), 'Drifted')?.status).toBe('False');
      expect(condition(await bed.canary(), 'Promoted')?.status).toBe('True');
      expect(primaryPods()).toEqual(before.primary);
      expect(canaryPods()).toEqual([]);
      expect(sampler.totals().failed).toBe(0);
      expect(bed.sandbox.requests.all().filter(isNotIdle)).toEqual([]);
    },
  );

  test('a route keeps the ingress class and whatever else Holdfast does not write', async () => {
    const left = scene({ status: { phase: 'Initialized' } });
    Object.assign(left.canary.spec as object, { provider: 'contour', service: { port: 80 } });
    await leave(left);
    await bed.start();
    await untilAdopted();
    const path = '/apis/projectcontour.io/v1/namespaces/shop/httpproxies/web';
    const proxy = async () => (await bed.send('GET', path)).body as KubernetesObject;
    await eventually('Holdfast wrote the route', async () =>
      JSON.stringify(await proxy()).includes('l5d-dst-override'),
    );
    await bed.pass(5_000);

    expect((await proxy()).spec).toMatchObject({ ingressClassName: 'internal' });
    expect((await proxy()).metadata.annotations).toMatchObject({
      'projectcontour.io/ingress.class': 'internal',
    });
  });

  test('a policy that takes the marks from the primary is told, and the takeover goes on without it', async () => {
    await leave(scene({ status: { phase: 'Initialized' } }));
    const { store } = bed.sandbox;
    const { put } = store;
    Object.assign(store, {
      put(key: string, sent: KubernetesObject): KubernetesObject {
        const changed = structuredClone(sent);
        if (key === 'apps/deployments') delete changed.metadata.annotations?.['holdfast.dev/digest'];
        return put(key, changed);
      },
    });
    await bed.start();
    const ready = await eventually('it is told', async () => {
      const found = condition(await bed.canary(), 'Ready');
      return found?.reason === 'ForeignChange' && found;
    });
    expect(ready.message).toMatch(
      /web-primary: metadata.annotations.*holdfast.dev\/digest.* is gone, not v1:.*an admission webhook or policy changes it/,
    );
    Object.assign(store, { put });
    await untilAdopted();
  });

  test('in phase Failed: what failed is not tried again, the promoted release is the last-known-good', async () => {
    const before = await leave(
      scene({
        target: version(2),
        configs: [settings('two')],
        promotedConfigs: [settings('one')],
        status: { phase: 'Failed' },
      }),
    );
    await bed.start();
    await untilAdopted();
    await eventually('told', async () =>
      String(statusOf(await bed.canary()).message).includes('FailedUnderFlagger'),
    );
    const status = statusOf(await bed.canary());
    expect(status.phase).toBe('Failed');
    expect(status.rejected).toMatchObject([{ reason: 'FailedUnderFlagger', digest: status.lastAppliedSpec }]);
    expect((status.lastKnownGood as { digest: string }).digest).not.toBe(status.lastAppliedSpec);
    expect(primaryPods()).toEqual(before.primary);
    expect(canaryPods()).toEqual([]);

    const flux = otherTool(bed);
    await flux.apply(JSON.stringify(version(3)));
    await waitForPhase(bed, 'Succeeded');
    expect(imageOf(await workload('web-primary'))).toBe('shop/web:3');
  });

  test.each([
    ['Progressing', { canaryWeight: 40 }],
    ['WaitingPromotion', { canaryWeight: 0, iterations: -1 }],
  ])(
    'in phase %s: the release is tried from the start, with the pods that are there',
    async (phase, status) => {
      const before = await leave(
        scene({ target: version(2), targetReplicas: 2, canaryWeight: 40, status: { phase, ...status } }),
      );
      const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
      await bed.start();
      await untilAdopted();
      expect(primaryPods()).toEqual(before.primary);
      await eventually('it starts at 0', async () => (await route())?.[1] === 0);
      await eventually('its first step', async () => (await route())?.[1] === 40);
      expect(canaryPods()).toEqual(before.canary);
      expect(primaryPods()).toEqual(before.primary);
      await waitForPhase(bed, 'Succeeded');
      sampler.stop();
      expect(sampler.totals().failed).toBe(0);
      expect(imageOf(await workload('web-primary'))).toBe('shop/web:2');
    },
  );

  test('in phase Waiting: the release goes through its gates again', async () => {
    const before = await leave(scene({ target: version(2), status: { phase: 'Waiting' } }));
    await bed.start();
    await untilAdopted();
    expect(primaryPods()).toEqual(before.primary);
    expect(statusOf(await bed.canary()).phase).not.toBe('Succeeded');
    await waitForPhase(bed, 'Succeeded');
    expect(imageOf(await workload('web-primary'))).toBe('shop/web:2');
  });

  test.each([
    ['Promoting', 60],
    ['Finalising', 0],
  ])('in phase %s: the promotion is carried to its end', async (phase, canaryWeight) => {
    const left = { target: version(2), promoted: version(2), targetReplicas: 2, canaryWeight };
    const before = await leave(scene({ ...left, status: { phase, canaryWeight } }));
    const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
    await bed.start();
    await untilAdopted();
    await eventually('ready', async () => condition(await bed.canary(), 'Ready')?.status === 'True', {
      seen: async () => statusOf(await bed.canary()),
    });
    sampler.stop();
    expect(await route()).toEqual([100, 0]);
    expect(primaryPods()).toEqual(before.primary);
    await eventually('the target rests', async () => canaryPods().length === 0);
    expect(sampler.totals().failed).toBe(0);
  });

  test('in phase Failed after a failed promotion: the canary serves on until the primary is up', async () => {
    const undo = bed.sandbox.behaviour.rule((pod) =>
      pod.metadata.name.startsWith('web-primary-') ? { failure: 'NotReady' } : undefined,
    );
    const left = { target: version(2), promoted: version(2), targetReplicas: 2, canaryWeight: 100 };
    await leaveBehind(bed.send, scene({ ...left, status: { phase: 'Failed', canaryWeight: 100 } }));
    await eventually('the canary is up', async () => statusOf(await workload('web')).readyReplicas === 2);
    const before = primaryPods();
    const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
    await bed.start();
    await untilAdopted();
    await bed.pass(20_000);
    expect(await route()).toEqual([0, 100]);
    undo();
    await eventually('ready', async () => condition(await bed.canary(), 'Ready')?.status === 'True', {
      seen: async () => statusOf(await bed.canary()),
    });
    sampler.stop();
    expect(await route()).toEqual([100, 0]);
    expect(primaryPods()).toEqual(before);
    expect(sampler.totals().failed).toBe(0);
  });

  test('in phase Initializing: it is brought to its end', async () => {
    const before = await leave(scene({ targetReplicas: 2, status: { phase: 'Initializing' } }));
    await bed.start();
    await waitForPhase(bed, 'Initialized');
    expect(primaryPods()).toEqual(before.primary);
  });
});

describe('beside what was promoted', () => {
  test('a revision that came while nobody acted is rolled out by the usual steps', async () => {
    const before = await leave(scene({ target: version(2), status: { phase: 'Succeeded' } }));
    await bed.start();
    await untilAdopted();
    expect(primaryPods()).toEqual(before.primary);
    await waitForPhase(bed, 'Progressing');
    await waitForPhase(bed, 'Succeeded');
    expect(imageOf(await workload('web-primary'))).toBe('shop/web:2');
  });

  test('fields that only an older release had are taken out by the next one', async () => {
    const withMore = version(1);
    const { template } = withMore.spec as {
      template: { spec: { containers: Array<Record<string, unknown>> } };
    };
    const [container] = template.spec.containers;
    Object.assign(container as object, { env: [{ name: 'OLD', value: 'yes' }] });
    await leave(scene({ target: withMore, promoted: withMore, status: { phase: 'Succeeded' } }));
    await bed.start();
    await untilAdopted();
    const { spec: next } = version(2);
    await bed.send('PATCH', '/apis/apps/v1/namespaces/shop/deployments/web', {
      spec: { template: { spec: (next as { template: { spec: object } }).template.spec } },
    });
    await eventually(
      'version 2 is promoted',
      async () => imageOf(await workload('web-primary')) === 'shop/web:2',
    );
    const { spec } = (await workload('web-primary')) as unknown as {
      spec: {
        template: { metadata: { annotations: object }; spec: { containers: Array<{ env?: unknown }> } };
      };
    };
    expect(spec.template.spec.containers[0]?.env).toBeUndefined();
  });

  test('a Source that holds the same manifests changes nothing', async () => {
    const before = await leave(scene({ status: { phase: 'Succeeded' } }));
    const { canary: manifest } = scene({ status: { phase: 'Succeeded' } });
    await bed.commit('as it is', {
      'canary.json': JSON.stringify(manifest),
      'web.json': JSON.stringify({
        ...version(1),
        metadata: { name: 'web', namespace: 'shop', annotations: { 'holdfast.dev/adopt': 'true' } },
      }),
      'settings.json': JSON.stringify(settings('one')),
    });
    await createSource(bed);
    await bed.start();
    await untilAdopted();
    await eventually('ready', async () => condition(await bed.canary(), 'Ready')?.status === 'True', {
      seen: async () => statusOf(await bed.canary()),
    });
    expect(statusOf(await bed.canary()).history).toBeUndefined();
    expect(primaryPods()).toEqual(before.primary);
  });
});
