/** Flagger's end-to-end scripts (docs/flagger-checklist.md), as far as no other test plays them; the number is the script's in that list. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { type HookServer, startHookServer } from '../hook-server.ts';
import {
  canary,
  condition,
  createSource,
  deployment,
  eventually,
  onGateway,
  primaryImage,
  runUntilInitialized,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
let hooks: HookServer;
beforeEach(async () => {
  bed = await startQuickBed();
  hooks = await startHookServer();
});
afterEach(async () => {
  await bed.close();
  await hooks.close();
});

const onContour = { provider: 'contour', service: { port: 80, targetPort: 8080 } };
const insiders = [{ headers: { 'x-canary': { exact: 'insider' } } }];

/** A template over what the sandbox knows of a workload's traffic. */
function template(name: string, series: string): string {
  const query = `${series}{namespace="{{ namespace }}", workload="{{ target }}"}`;
  const provider = { type: 'prometheus', address: bed.sandbox.prometheusUrl };
  return JSON.stringify({
    apiVersion: 'flagger.app/v1beta1',
    kind: 'MetricTemplate',
    metadata: { name, namespace: 'shop' },
    spec: { provider, query },
  });
}

const successRate = {
  name: 'success-rate',
  interval: '1m',
  thresholdRange: { min: 99 },
  templateRef: { name: 'success-rate' },
};
const latency = {
  name: 'latency',
  interval: '1m',
  thresholdRange: { max: 500 },
  templateRef: { name: 'latency' },
};

/** By weights up to 50 % under both templates; Flagger's script takes steps of 10. */
const byWeight = { iterations: undefined, stepWeight: 25, maxWeight: 50, metrics: [successRate, latency] };

function hook(type: string) {
  return { name: type, type, url: hooks.url(type), timeout: '1s' };
}

async function begin(files: Record<string, string>): Promise<void> {
  const templates = {
    'success.json': template('success-rate', 'sandbox_success_rate'),
    'latency.json': template('latency', 'sandbox_request_duration_ms'),
  };
  await bed.commit('v1', { ...templates, ...files });
  await runUntilInitialized(bed);
}

/** The selector of the Service that users call. */
async function apexSelector(): Promise<unknown> {
  return ((await bed.get('v1', 'Service', 'web'))?.spec as { selector?: unknown } | undefined)?.selector;
}

async function uidsOfPrimaryPods(): Promise<string[]> {
  const { body } = await bed.send('GET', '/api/v1/namespaces/shop/pods');
  const pods = (body as { items: KubernetesObject[] }).items;
  return pods
    .filter(({ metadata }) => /^web-primary-/.test(metadata.name))
    .map(({ metadata }) => metadata.uid ?? '');
}

test('2: contour promotes after an acceptance test, stops errors, and plays an A/B test by header', async () => {
  const spec = { ...onContour };
  await begin({
    'web.json': deployment('shop/web:1'),
    'canary.json': canary({ spec, analysis: { ...byWeight, webhooks: [hook('pre-rollout')] } }),
  });
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Succeeded');
  expect(hooks.seen('pre-rollout')).toHaveLength(1);
  expect(await primaryImage(bed)).toBe('shop/web:2');

  await bed.commit('v3', { 'web.json': deployment('shop/web:3', { env: { ERROR_PERCENT: '50' } }) });
  await waitForPhase(bed, 'Failed');
  expect(await primaryImage(bed)).toBe('shop/web:2');
  expect(statusOf(await bed.canary())).toMatchObject({ canaryWeight: 0 });

  await bed.commit('A/B', {
    'web.json': deployment('shop/web:4'),
    'canary.json': canary({ spec, analysis: { iterations: 5, match: insiders } }),
  });
  await waitForPhase(bed, 'Succeeded');
  expect(await primaryImage(bed)).toBe('shop/web:4');
});

test('3: gatewayapi promotes by templates for errors and latency, and stops what answers too late', async () => {
  await begin({
    'web.json': deployment('shop/web:1'),
    'canary.json': canary({ spec: onGateway, analysis: byWeight }),
  });
  expect(await apexSelector()).toEqual({ app: 'web-primary' });
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Succeeded');
  expect(await primaryImage(bed)).toBe('shop/web:2');
  await bed.commit('v3', { 'web.json': deployment('shop/web:3', { env: { DELAY_MS: '900' } }) });
  await waitForPhase(bed, 'Failed');
  const { incidents } = statusOf(await bed.canary()) as { incidents?: Array<{ finding?: string }> };
  expect(incidents?.[0]?.finding).toContain('latency 9');
  expect(await primaryImage(bed)).toBe('shop/web:2');
});

test('4: gatewayapi blue/green mirrors during five iterations after a smoke test, with a metric of its own bound', async () => {
  const inline = { name: 'always one', interval: '1m', threshold: 2, query: 'vector(1)' };
  const webhooks = [hook('pre-rollout'), hook('rollout')];
  await begin({
    'web.json': deployment('shop/web:1'),
    'canary.json': canary({
      spec: onGateway,
      analysis: { iterations: 5, mirror: true, metrics: [inline], webhooks },
    }),
  });
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await eventually('requests are mirrored', async () => {
    const route = await bed.get('gateway.networking.k8s.io/v1', 'HTTPRoute', 'web');
    return JSON.stringify(route?.spec).includes('RequestMirror');
  });
  await waitForPhase(bed, 'Succeeded');
  expect(await primaryImage(bed)).toBe('shop/web:2');
  expect(hooks.seen('pre-rollout')).toHaveLength(1);
  expect(hooks.seen('rollout').length).toBeGreaterThanOrEqual(5);
});

test('5: gatewayapi plays ten iterations of an A/B test by header', async () => {
  await begin({
    'web.json': deployment('shop/web:1'),
    'canary.json': canary({
      spec: onGateway,
      analysis: { iterations: 10, match: insiders, metrics: [successRate] },
    }),
  });
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await eventually('the tenth iteration', async () => statusOf(await bed.canary()).iterations === 10);
  await waitForPhase(bed, 'Succeeded');
  expect(await primaryImage(bed)).toBe('shop/web:2');
});

test('9: skipAnalysis promotes at once; an image that does not exist fails, and the primary keeps its pod', async () => {
  await begin({
    'web.json': deployment('shop/web:1', { replicas: 1 }),
    'canary.json': canary({ spec: { ...onGateway, skipAnalysis: true, postPromotion: undefined } }),
  });
  await bed.commit('v2', { 'web.json': deployment('shop/web:2', { replicas: 1 }) });
  await waitForPhase(bed, 'Succeeded');
  expect(await primaryImage(bed)).toBe('shop/web:2');
  const pods = await uidsOfPrimaryPods();
  await bed.commit('v3', { 'web.json': deployment('missing/web:3', { replicas: 1 }) });
  await waitForPhase(bed, 'Failed');
  expect(await primaryImage(bed)).toBe('shop/web:2');
  expect(await uidsOfPrimaryPods()).toEqual(pods);
});

test('14: kubernetes keeps Flux away, takes labels by prefix, and promotes after five iterations, a gate and a smoke test', async () => {
  const target = JSON.parse(deployment('shop/web:1'));
  Object.assign(target.metadata, {
    labels: { 'app.kubernetes.io/part-of': 'shop', team: 'store' },
    annotations: { 'app.kubernetes.io/owner': 'store' },
  });
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'shop' },
    spec: { selector: { app: 'web' }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
  };
  await bed.send('POST', '/api/v1/namespaces/shop/services', service);
  hooks.answer('confirm-rollout', 403);
  await bed.commit('v1', {
    'web.json': JSON.stringify(target),
    'canary.json': canary({
      analysis: { iterations: 5, webhooks: [hook('confirm-rollout'), hook('pre-rollout')] },
    }),
  });
  await runUntilInitialized(bed, {}, { includeLabelPrefixes: ['app.kubernetes.io'] });
  const apex = await bed.get('v1', 'Service', 'web');
  expect(apex?.metadata.annotations).toMatchObject({
    'kustomize.toolkit.fluxcd.io/reconcile': 'disabled',
    'helm.toolkit.fluxcd.io/driftDetection': 'disabled',
  });
  const primary = await bed.get('apps/v1', 'Deployment', 'web-primary');
  expect(primary?.metadata.labels).toMatchObject({ 'app.kubernetes.io/part-of': 'shop' });
  expect(primary?.metadata.labels).not.toHaveProperty('team');

  target.spec.template.spec.containers[0].image = 'shop/web:2';
  await bed.commit('v2', { 'web.json': JSON.stringify(target) });
  await waitForPhase(bed, 'Waiting');
  hooks.answer('confirm-rollout', 200);
  await waitForPhase(bed, 'Succeeded');
  expect(await primaryImage(bed)).toBe('shop/web:2');
  expect(hooks.seen('pre-rollout')).toHaveLength(1);
});

test('15: a DaemonSet is promoted, and its pods are back on every node when the Canary is deleted', async () => {
  const daemonSet = (image: string) => {
    const object = JSON.parse(deployment(image));
    delete object.spec.replicas;
    return JSON.stringify({ ...object, kind: 'DaemonSet' });
  };
  const targetRef = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'web' };
  await begin({
    'web.json': daemonSet('shop/web:1'),
    'canary.json': canary({ spec: { targetRef, revertOnDeletion: true } }),
  });
  expect((await bed.canary())?.metadata.finalizers).toEqual(['finalizer.flagger.app']);
  await bed.commit('v2', { 'web.json': daemonSet('shop/web:2') });
  await waitForPhase(bed, 'Succeeded');
  expect(await primaryImage(bed, 'web', 'DaemonSet')).toBe('shop/web:2');
  await bed.commit('without a Canary', { 'canary.json': null });
  await bed.send('DELETE', '/apis/flagger.app/v1beta1/namespaces/shop/canaries/web');
  await eventually('the Canary is gone', async () => (await bed.canary()) === undefined);
  const target = await bed.get('apps/v1', 'DaemonSet', 'web');
  expect(statusOf(target)).toMatchObject({ numberReady: 3, desiredNumberScheduled: 3 });
});

test('16: the primary has a copy of the HorizontalPodAutoscaler, which follows it', async () => {
  const scaler = (averageUtilization: number) => ({
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 'web', namespace: 'shop' },
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
      minReplicas: 1,
      maxReplicas: 4,
      metrics: [
        { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } } },
      ],
    },
  });
  const { apiVersion, kind } = scaler(90);
  await begin({
    'web.json': deployment('shop/web:1', { replicas: 1 }),
    'hpa.json': JSON.stringify(scaler(90)),
    'canary.json': canary({ spec: { autoscalerRef: { apiVersion, kind, name: 'web' } } }),
  });
  const copy = () => bed.get(apiVersion, kind, 'web-primary');
  await eventually('the copy', async () => JSON.stringify(await copy()).includes('"averageUtilization":90'));
  expect((await copy())?.spec).toMatchObject({ maxReplicas: 4, scaleTargetRef: { name: 'web-primary' } });
  await bed.commit('v2', {
    'web.json': deployment('shop/web:2', { replicas: 1 }),
    'hpa.json': JSON.stringify(scaler(50)),
  });
  await waitForPhase(bed, 'Succeeded');
  await eventually('the copy follows', async () =>
    JSON.stringify(await copy()).includes('"averageUtilization":50'),
  );
  expect(await primaryImage(bed)).toBe('shop/web:2');
});

test('21: going back restarts nothing, the same bad release is not tried again, and another template is', async () => {
  await begin({
    'web.json': deployment('shop/web:1'),
    'canary.json': canary({ spec: onGateway, analysis: byWeight }),
  });
  const pods = (await uidsOfPrimaryPods()).sort();
  const bad = deployment('shop/web:2', { env: { ERROR_PERCENT: '100' } });
  await bed.commit('bad', { 'web.json': bad });
  await waitForPhase(bed, 'Failed');
  const back = await bed.commit('back', { 'web.json': deployment('shop/web:1') });
  await eventually('it serves', async () => {
    const { lastAppliedCommit, run, phase } = statusOf(await bed.canary());
    return lastAppliedCommit === back && run === undefined && phase === 'Succeeded';
  });
  expect((await uidsOfPrimaryPods()).sort()).toEqual(pods);

  await bed.commit('bad again', { 'web.json': bad });
  await waitForPhase(bed, 'Failed');
  await bed.pass(10_000);
  expect(statusOf(await bed.canary())).toMatchObject({ phase: 'Failed', canaryWeight: 0 });
  expect((await uidsOfPrimaryPods()).sort()).toEqual(pods);

  const mended = JSON.parse(deployment('shop/web:2'));
  mended.spec.template.metadata.annotations = { 'example.com/attempt': '2' };
  await bed.commit('another template', { 'web.json': JSON.stringify(mended) });
  await waitForPhase(bed, 'Succeeded');
  expect(await primaryImage(bed)).toBe('shop/web:2');
});

test('a tracked ConfigMap that the API server does not give is named, and the release goes on when it does', async () => {
  const settings = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'settings' },
    data: { mode: 'a' },
  };
  await bed.send('POST', '/api/v1/namespaces/shop/configmaps', settings);
  const target = JSON.parse(deployment('shop/web:1'));
  target.spec.template.spec.containers[0].envFrom = [{ configMapRef: { name: 'settings' } }];
  const heal = bed.sandbox.fault(({ method, path }) =>
    method === 'GET' && path.endsWith('/configmaps/settings')
      ? { code: 403, reason: 'Forbidden', message: 'configmaps is forbidden' }
      : undefined,
  );
  await bed.commit('v1', { 'web.json': JSON.stringify(target), 'canary.json': canary() });
  await createSource(bed);
  await bed.start();
  const message = await eventually('the reason', async () => {
    const found = condition(await bed.canary(), 'Ready');
    return found?.message.includes('forbidden') ? found.message : undefined;
  });
  expect(message).toContain('settings');
  expect(await bed.get('apps/v1', 'Deployment', 'web-primary')).toBeUndefined();
  heal();
  await waitForPhase(bed, 'Initialized');
  const copy = await bed.get('v1', 'ConfigMap', 'settings-primary');
  expect(copy?.data).toEqual({ mode: 'a' });
});
