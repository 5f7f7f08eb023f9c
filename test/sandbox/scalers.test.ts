import { afterEach, beforeEach, expect, test } from 'vitest';
import type { CanaryStatus } from '../../src/api/canary/status.ts';
import { scaledObjectCrd } from '../documents/scaled-object-crd.ts';
import {
  canary,
  condition,
  createSource,
  deployment,
  eventually,
  isNotIdle,
  notesOf,
  primaryImage,
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

const hpaApi = 'autoscaling/v2';
const hpa = 'HorizontalPodAutoscaler';
const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };

function scaler(apiVersion: string, kind: string, spec: object): string {
  return JSON.stringify({
    apiVersion,
    kind,
    metadata: { name: 'web', namespace: 'shop' },
    spec: { scaleTargetRef, ...spec },
  });
}

function canaryWith(apiVersion: string, kind: string, more: Record<string, unknown> = {}): string {
  return canary({ spec: { autoscalerRef: { apiVersion, kind, name: 'web' }, ...more } });
}

async function read(apiVersion: string, kind: string, name: string) {
  const found = await bed.get(apiVersion, kind, name);
  return {
    spec: (found?.spec ?? {}) as Record<string, unknown>,
    annotations: found?.metadata.annotations ?? {},
  };
}

async function replicasOf(name: string): Promise<unknown> {
  return (await read('apps/v1', 'Deployment', name)).spec.replicas;
}

/** As an autoscaler does under load. */
async function scaleTo(name: string, replicas: number): Promise<void> {
  const path = `/apis/apps/v1/namespaces/shop/deployments/${name}/scale`;
  await bed.send('PATCH', path, { spec: { replicas } });
  await eventually(`${replicas} pods of ${name}`, async () => {
    return statusOf(await bed.get('apps/v1', 'Deployment', name)).readyReplicas === replicas;
  });
}

async function runScaled(): Promise<void> {
  await bed.commit('v1', {
    'web.json': deployment('shop/web:1', { replicas: 1 }),
    'hpa.json': scaler(hpaApi, hpa, { minReplicas: 1, maxReplicas: 12 }),
    'canary.json': canaryWith(hpaApi, hpa),
  });
  await runUntilInitialized(bed);
  await eventually(
    'both scalers',
    async () => (await read(hpaApi, hpa, 'web-primary')).spec.maxReplicas === 12,
  );
  await scaleTo('web-primary', 10);
}

async function expectRestored(): Promise<void> {
  for (const name of ['web', 'web-primary']) {
    const { spec, annotations } = await read(hpaApi, hpa, name);
    expect(spec).toMatchObject({ minReplicas: 1, maxReplicas: 12 });
    expect(annotations).not.toHaveProperty(['holdfast.dev/min-replicas']);
  }
  expect(await replicasOf('web')).toBe(0);
}

test('10 primary pods against a canary of one: a release is promoted without a failed request, and bounds are restored', async () => {
  await runScaled();
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
  await bed.commit('v2', { 'web.json': deployment('shop/web:2', { replicas: 1 }) });
  await waitForPhase(bed, 'Succeeded');
  sampler.stop();
  expect(sampler.totals()).toMatchObject({ failed: 0 });
  expect(await primaryImage(bed)).toBe('shop/web:2');
  expect(await replicasOf('web-primary')).toBe(10);
  await expectRestored();
});

/** The manifest of a target, in which Git says no number. */
function withoutNumber(image: string): string {
  const object = JSON.parse(deployment(image));
  delete object.spec.replicas;
  return JSON.stringify(object);
}

async function runScaledByHand(): Promise<void> {
  await bed.commit('v1', { 'web.json': withoutNumber('shop/web:1'), 'canary.json': canary() });
  await runUntilInitialized(bed);
  await scaleTo('web-primary', 10);
}

test.each([
  ['its scaler', runScaled, deployment('shop/web:2', { replicas: 1 })],
  ['somebody', runScaledByHand, withoutNumber('shop/web:2')],
])(
  'a primary that is deleted comes back with as many pods as %s gave it, who may change the number',
  async (_name, begin, next) => {
    await begin();
    const seen = async () => statusOf(await bed.canary()) as CanaryStatus;
    await eventually('it is known', async () => (await seen()).serving?.[0]?.ready === 10, { seen });
    const primary = () => bed.get('apps/v1', 'Deployment', 'web-primary');
    const { uid } = (await primary())!.metadata;

    await bed.send('DELETE', '/apis/apps/v1/namespaces/shop/deployments/web-primary');

    const isNew = async () => ![undefined, uid].includes((await primary())?.metadata.uid);
    await eventually('it is made anew', isNew, { seen });
    expect(await replicasOf('web-primary')).toBe(10);
    await scaleTo('web-primary', 6);
    await bed.commit('v2', { 'web.json': next });
    await waitForPhase(bed, 'Succeeded');
    expect(await replicasOf('web-primary')).toBe(6);
  },
);

test('a primary keeps its pods where Git takes the number out', async () => {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1', { replicas: 4 }), 'canary.json': canary() });
  await runUntilInitialized(bed);
  await bed.commit('v2', { 'web.json': withoutNumber('shop/web:2') });
  await waitForPhase(bed, 'Succeeded');
  expect(await replicasOf('web-primary')).toBe(4);
});

test('a primary that does not come up is held by as many canary pods, then reverted without a failed request', async () => {
  await runScaled();
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
  const env = { PRIMARY_READY: 'false' };
  await bed.commit('v2', { 'web.json': deployment('shop/web:2', { replicas: 1, env }) });
  await eventually(
    'all traffic is on the canary',
    async () => {
      const { postPromotion, canaryWeight } = statusOf(await bed.canary());
      return (postPromotion as { state?: string } | undefined)?.state === 'Held' && canaryWeight === 100;
    },
    { timeoutMs: 120_000, seen: async () => statusOf(await bed.canary()) },
  );
  expect(statusOf(await bed.get('apps/v1', 'Deployment', 'web')).readyReplicas).toBe(10);
  await waitForPhase(bed, 'Failed');
  sampler.stop();
  expect(sampler.totals()).toMatchObject({ failed: 0 });
  expect(await primaryImage(bed)).toBe('shop/web:1');
  expect(await replicasOf('web-primary')).toBe(10);
  await expectRestored();
});

test('a scaler that changes in Git reaches both copies, and a Canary that gets one keeps its pods', async () => {
  const files = { 'web.json': deployment('shop/web:1', { replicas: 4 }), 'canary.json': canary() };
  await bed.commit('v1', files);
  await runUntilInitialized(bed);
  await bed.commit('with a scaler', {
    'hpa.json': scaler(hpaApi, hpa, { minReplicas: 2, maxReplicas: 12 }),
    'canary.json': canaryWith(hpaApi, hpa),
  });
  await eventually(
    'the scaler of the primary',
    async () => (await read(hpaApi, hpa, 'web-primary')).spec.minReplicas === 2,
  );
  await bed.commit('v2', { 'web.json': deployment('shop/web:2', { replicas: 4 }) });
  await waitForPhase(bed, 'Succeeded');
  expect(await replicasOf('web-primary')).toBe(4);
  await bed.commit('more', { 'hpa.json': scaler(hpaApi, hpa, { minReplicas: 5, maxReplicas: 6 }) });
  await eventually('the scaler of the primary follows', async () => {
    return (
      (await read(hpaApi, hpa, 'web-primary')).spec.minReplicas === 5 &&
      (await replicasOf('web-primary')) === 5
    );
  });
  expect((await read(hpaApi, hpa, 'web')).spec.maxReplicas).toBe(6);
});

test('a scaler that is nowhere is named', async () => {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canaryWith(hpaApi, hpa) });
  await createSource(bed);
  await bed.start();
  await eventually(
    'the reason',
    async () => condition(await bed.canary(), 'Ready')?.reason === 'ScalerMissing',
  );
});

test('bounds that cannot be are named, and nothing else is written', async () => {
  const autoscalerRef = {
    apiVersion: hpaApi,
    kind: hpa,
    name: 'web',
    primaryScalerReplicas: { minReplicas: 20 },
  };
  await bed.commit('v1', {
    'web.json': deployment('shop/web:1', { replicas: 1 }),
    'hpa.json': scaler(hpaApi, hpa, { minReplicas: 1, maxReplicas: 12 }),
    'canary.json': canary({ spec: { autoscalerRef } }),
  });
  await createSource(bed);
  await bed.start();
  await eventually('the reason', async () => {
    const { reason, message } = condition(await bed.canary(), 'Ready') ?? {};
    return reason === 'TargetInvalid' && message?.includes('at least 20 and at most 12 pods') === true;
  });
});

test('a ScaledObject is paused while the canary rests, goes on for a release, and the primary is never paused', async () => {
  await bed.send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', scaledObjectCrd);
  const keda = 'keda.sh/v1alpha1';
  const paused = 'autoscaling.keda.sh/paused-replicas';
  const triggers = [{ type: 'prometheus', metadata: { query: 'rate(x{app="web"}[1m])', threshold: '5' } }];
  await bed.commit('v1', {
    'web.json': deployment('shop/web:1', { replicas: 1 }),
    'scaler.json': scaler(keda, 'ScaledObject', { minReplicaCount: 1, maxReplicaCount: 5, triggers }),
    'canary.json': canaryWith(keda, 'ScaledObject'),
  });
  await runUntilInitialized(bed);
  const object = (name: string) => read(keda, 'ScaledObject', name);
  await eventually('the canary rests', async () => (await object('web')).annotations[paused] === '0');
  expect((await object('web-primary')).spec).toMatchObject({
    scaleTargetRef: { name: 'web-primary' },
    triggers: [{ metadata: { query: 'rate(x{app="web-primary"}[1m])' } }],
  });
  await bed.commit('v2', { 'web.json': deployment('shop/web:2', { replicas: 1 }) });
  await eventually('the canary goes on', async () => {
    return (await object('web')).annotations[paused] === undefined && (await replicasOf('web')) === 1;
  });
  await waitForPhase(bed, 'Succeeded');
  expect((await object('web')).annotations[paused]).toBe('0');
  expect((await object('web-primary')).annotations).not.toHaveProperty([paused]);
  expect((await object('web-primary')).annotations).not.toHaveProperty(['holdfast.dev/min-replicas']);
  // What was taken away is not taken for what somebody else changes.
  expect(notesOf(bed, 'ForeignChange')).toEqual([]);
});

test("a pause in Git and KEDA's own label are not written again and again", async () => {
  await bed.send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', scaledObjectCrd);
  const keda = 'keda.sh/v1alpha1';
  const triggers = [{ type: 'cron', metadata: { timezone: 'UTC' } }];
  const object = JSON.parse(scaler(keda, 'ScaledObject', { triggers }));
  // As it is exported from a cluster in which somebody paused it.
  object.metadata.annotations = { 'autoscaling.keda.sh/paused-replicas': '3' };
  object.metadata.labels = { 'scaledobject.keda.sh/name': 'web' };
  await bed.commit('v1', {
    'web.json': deployment('shop/web:1', { replicas: 1 }),
    'scaler.json': JSON.stringify(object),
    'canary.json': canaryWith(keda, 'ScaledObject'),
  });
  await createSource(bed);
  await bed.start();
  await waitForPhase(bed, 'Initialized');
  const path = `/apis/${keda}/namespaces/shop/scaledobjects/web-primary?fieldManager=keda`;
  const metadata = { labels: { 'scaledobject.keda.sh/name': 'web-primary' } };
  await eventually('the scaler of the primary', async () => bed.get(keda, 'ScaledObject', 'web-primary'));
  await bed.send('PATCH', path, { metadata }, 'application/merge-patch+json');
  await bed.pass(5_000);
  bed.sandbox.requests.clear();
  await bed.pass(30_000);
  expect(bed.sandbox.requests.all().filter(isNotIdle)).toEqual([]);
  expect((await read(keda, 'ScaledObject', 'web')).annotations).toMatchObject({
    'autoscaling.keda.sh/paused-replicas': '0',
  });
  expect((await bed.get(keda, 'ScaledObject', 'web-primary'))?.metadata.labels).toMatchObject(
    metadata.labels,
  );
});

test('an idleReplicaCount is back after a release, and gone once Git has none', async () => {
  await bed.send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', scaledObjectCrd);
  const keda = 'keda.sh/v1alpha1';
  const triggers = [{ type: 'prometheus', metadata: { query: 'vector(1)', threshold: '5' } }];
  const bounds = { minReplicaCount: 1, maxReplicaCount: 5, triggers };
  await bed.commit('v1', {
    'web.json': deployment('shop/web:1', { replicas: 1 }),
    'scaler.json': scaler(keda, 'ScaledObject', { ...bounds, idleReplicaCount: 0 }),
    'canary.json': canaryWith(keda, 'ScaledObject'),
  });
  await runUntilInitialized(bed);
  const idle = () =>
    Promise.all(
      ['web', 'web-primary'].map(
        async (name) => (await read(keda, 'ScaledObject', name)).spec.idleReplicaCount,
      ),
    );
  const until = (wanted: readonly unknown[]) =>
    eventually(`idle ${wanted}`, async () => JSON.stringify(await idle()) === JSON.stringify(wanted), {
      seen: idle,
    });
  await until([0, 0]);

  await bed.commit('v2', { 'web.json': deployment('shop/web:2', { replicas: 1 }) });
  await eventually('it gives way', async () => (await idle()).includes(undefined));
  await waitForPhase(bed, 'Succeeded');
  await until([0, 0]);

  await bed.commit('no idle', { 'scaler.json': scaler(keda, 'ScaledObject', bounds) });
  await until([undefined, undefined]);
});

test('a Canary that names another scaler, or none, leaves no second one on its primary', async () => {
  await runScaled();
  await eventually('it is remembered', async () => statusOf(await bed.canary()).scaler !== undefined);
  const named = { apiVersion: hpaApi, kind: hpa, name: 'other' };
  const other = JSON.parse(scaler(hpaApi, hpa, { minReplicas: 2, maxReplicas: 12 }));
  other.metadata.name = 'other';
  await bed.commit('another scaler', {
    'hpa.json': JSON.stringify(other),
    'canary.json': canary({ spec: { autoscalerRef: named } }),
  });
  await eventually('the copy of the first one is gone', async () => {
    return (await bed.get(hpaApi, hpa, 'web-primary')) === undefined;
  });
  await eventually('the copy of the other', async () => {
    return (await read(hpaApi, hpa, 'other-primary')).spec.minReplicas === 2;
  });
  await bed.commit('none', { 'canary.json': canary() });
  await eventually('no copy is left', async () => {
    return (await bed.get(hpaApi, hpa, 'other-primary')) === undefined;
  });
  expect(await bed.get(hpaApi, hpa, 'web')).toBeDefined();
});

const canaries = '/apis/flagger.app/v1beta1/namespaces/shop/canaries';

/** The Canary is in no repository, so that nobody creates it again. */
async function runDeletable(kind: string, files: Record<string, string>, apiVersion: string): Promise<void> {
  await bed.send('POST', canaries, JSON.parse(canaryWith(apiVersion, kind, { revertOnDeletion: true })));
  await bed.commit('v1', { 'web.json': deployment('shop/web:1', { replicas: 1 }), ...files });
  await runUntilInitialized(bed);
}

test('a deleted Canary leaves the target as many pods as the primary had, and its scaler as it was', async () => {
  await runDeletable(hpa, { 'hpa.json': scaler(hpaApi, hpa, { minReplicas: 1, maxReplicas: 12 }) }, hpaApi);
  await scaleTo('web-primary', 10);
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
  await bed.send('DELETE', `${canaries}/web`);
  await eventually('the Canary is gone', async () => (await bed.canary()) === undefined);
  await eventually('the primary is collected', async () => {
    return (await bed.get('apps/v1', 'Deployment', 'web-primary')) === undefined;
  });
  sampler.stop();
  expect(sampler.totals().failed).toBe(0);
  expect(await replicasOf('web')).toBe(10);
  expect(await bed.get(hpaApi, hpa, 'web-primary')).toBeUndefined();
  const { spec, annotations } = await read(hpaApi, hpa, 'web');
  expect(spec).toMatchObject({ minReplicas: 1, maxReplicas: 12 });
  expect(annotations).not.toHaveProperty(['holdfast.dev/min-replicas']);
});

test('a deleted Canary leaves a ScaledObject that goes on', async () => {
  await bed.send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', scaledObjectCrd);
  const keda = 'keda.sh/v1alpha1';
  const triggers = [{ type: 'cron', metadata: { timezone: 'UTC' } }];
  await runDeletable('ScaledObject', { 'scaler.json': scaler(keda, 'ScaledObject', { triggers }) }, keda);
  const paused = async () =>
    (await read(keda, 'ScaledObject', 'web')).annotations['autoscaling.keda.sh/paused-replicas'];
  await eventually('the target rests', async () => (await paused()) === '0');
  await bed.send('DELETE', `${canaries}/web`);
  await eventually('the Canary is gone', async () => (await bed.canary()) === undefined);
  expect(await paused()).toBeUndefined();
  expect(await replicasOf('web')).toBe(1);
});

test('a primary that stays when the Canary goes keeps its scaler, with its own bounds', async () => {
  await runDeletable(hpa, { 'hpa.json': scaler(hpaApi, hpa, { minReplicas: 1, maxReplicas: 12 }) }, hpaApi);
  await scaleTo('web-primary', 3);
  bed.sandbox.behaviour.rule((pod) =>
    pod.metadata.name.startsWith('web-primary-') ? undefined : { failure: 'ImagePullBackOff' },
  );
  await bed.send('DELETE', `${canaries}/web`);
  await eventually('the Canary is gone', async () => (await bed.canary()) === undefined, {
    timeoutMs: 120_000,
  });
  await bed.pass(5_000);
  const stays = await bed.get(hpaApi, hpa, 'web-primary');
  expect(stays?.metadata.ownerReferences ?? []).toEqual([]);
  for (const name of ['web', 'web-primary'])
    expect((await read(hpaApi, hpa, name)).spec).toMatchObject({ minReplicas: 1 });
  expect(await replicasOf('web-primary')).toBe(3);
});
