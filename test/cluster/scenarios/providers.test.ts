import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CanaryStatus } from '../../../src/api/canary/status.ts';
import { type HookServer, startHookServer } from '../../hook-server.ts';
import { imageOf } from '../../objects.ts';
import { type BedClient, useBed } from '../bed/client.ts';
import { gateway } from '../bed/gateway.ts';
import { deployment, service } from '../bed/manifests.ts';
import { type Shop, type ShopOptions, shareHoldfast, untilAnswered } from './shop.ts';

const bed: BedClient = useBed();
const shops = shareHoldfast(bed, ['by-header', 'by-comparison', 'by-selector', 'by-service']);

let hooks: HookServer;

beforeAll(async () => {
  hooks = await startHookServer();
});

afterAll(() => hooks.close());

/** Holds a release before its promotion until `hooks.answer(name, 200)`. */
function gate(name: string) {
  hooks.answer(name, 403);
  return { name: 'gate', type: 'confirm-promotion' as const, url: hooks.url(name) };
}

const isBeforePromotion = ({ phase }: CanaryStatus) => phase === 'WaitingPromotion';

const rate = {
  name: 'request-success-rate',
  thresholdRange: { min: 99 },
  interval: '5s',
  onNoData: 'wait' as const,
};

async function running(namespace: string, options: ShopOptions): Promise<Shop> {
  const shop = await shops.open(namespace, options);
  await shop.release('v1');
  await shop.until('v1 initialized', (status) => status.phase === 'Initialized');
  return shop;
}

/** Weights through both routers: shares.test.ts. */
describe.concurrent('every provider and strategy', () => {
  test('gatewayapi:v1: only requests that match reach an A/B canary', async () => {
    const analysis = {
      interval: '2s',
      threshold: 2,
      iterations: 3,
      match: [{ headers: { 'x-canary': { exact: 'insider' } } }],
      metrics: [rate],
      webhooks: [gate('by-header')],
    };
    const shop = await running('by-header', { analysis });
    await untilAnswered(shop.namespace, () => shop.startLoad());
    const insiders = shop.startLoad({ 'x-canary': 'insider' });
    const others = shop.startLoad();
    await shop.release('v2');
    await shop.until('waiting for promotion', isBeforePromotion);
    const outside = await others.current();
    const inside = await insiders.current();
    hooks.answer('by-header', 200);
    await shop.until('v2 succeeded', (status) => status.phase === 'Succeeded' && !status.run);
    const all = [await insiders.stop(), await others.stop()];
    expect(inside.byVersion.v2).toBeGreaterThan(0);
    expect(outside.byVersionAndRole['v2/canary'] ?? 0).toBe(0);
    expect(all.flatMap((seen) => seen.failures)).toEqual([]);
    await shop.close();
  });

  test('a route that Git keeps: metrics are compared with the primary, and a Job decides too; what is slower fails, and what is not is promoted', async () => {
    const seconds = (part: string) =>
      `sum(rate(http_request_duration_seconds_${part}{${pods}}[{{ interval }}]))`;
    const pods = 'kubernetes_namespace="{{ namespace }}", kubernetes_pod_name=~"{{ pods }}"';
    const template = {
      apiVersion: 'flagger.app/v1beta1',
      kind: 'MetricTemplate',
      metadata: { name: 'latency' },
      spec: {
        provider: { type: 'prometheus', address: bed.prometheusUrl },
        query: `${seconds('sum')} / ${seconds('count')}`,
      },
    };
    // A pod that ends as it is told, with a Job's restart policy.
    const { spec } = deployment({ name: 'smoke', image: 'app:smoke', env: { CRASH_AFTER_MS: '500' } });
    const pod = (spec as { template: { spec: object } }).template;
    const jobTemplate = {
      spec: { backoffLimit: 0, template: { ...pod, spec: { ...pod.spec, restartPolicy: 'Never' } } },
    };
    const smoke = {
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: { name: 'smoke' },
      spec: { schedule: '@yearly', suspend: true, jobTemplate },
    };
    const outcome = {
      apiVersion: 'flagger.app/v1beta1',
      kind: 'MetricTemplate',
      metadata: { name: 'smoke' },
      spec: { provider: { type: 'job' }, query: 'cronjob/smoke?CRASH_EXIT_CODE={{ variables.code }}' },
    };
    const apiVersion = 'gateway.networking.k8s.io/v1';
    const front = {
      apiVersion,
      kind: 'HTTPRoute',
      metadata: { name: 'front' },
      spec: {
        parentRefs: [gateway],
        hostnames: ['by-comparison.example.com'],
        rules: [{ backendRefs: [{ name: 'podinfo', port: 80 }] }],
      },
    };
    const job = { templateRef: { name: 'smoke' }, thresholdRange: { min: 1 } };
    // Five times as slow: what two sound releases differ by on a busy machine is less.
    const latency = { templateRef: { name: 'latency' }, interval: '3s', maxRelativeIncrease: 400 };
    const compare = { method: 'mannWhitney' as const, confidence: 99, step: '1s', minPoints: 6 };
    const shop = await running('by-comparison', {
      analysis: {
        interval: '11s',
        threshold: 1,
        stepWeights: [50],
        metrics: [
          { ...latency, name: 'at once', compareWith: 'primary', onNoData: 'wait' },
          { ...latency, name: 'over time', compare, maxSampleAge: '10s' },
          { ...job, name: 'smoke', templateVariables: { code: '0' } },
        ],
      },
      postPromotion: { metrics: [] },
      spec: { routeRef: { apiVersion, kind: 'HTTPRoute', name: 'front' } },
      files: { template, smoke, outcome, front },
    });
    await untilAnswered(shop.namespace, () => shop.startLoad());
    const load = shop.startLoad();
    const slow = await shop.release('v2', { DELAY_MS: '100', PRIMARY_DELAY_MS: '0' });
    const failed = await shop.until('v2 failed', ({ phase, run }) => phase === 'Failed' && !run);
    const sound = await shop.release('v3');
    const ended = await shop.until('v3 succeeded', ({ phase, run }) => phase === 'Succeeded' && !run);
    expect((await load.stop()).failures).toEqual([]);
    expect(failed.rejected?.map(({ commit }) => commit)).toEqual([slow]);
    expect(failed.checks).toMatchObject([
      { name: 'at once', verdict: 'fail', detail: expect.stringMatching(/^the primary has /) },
      { name: 'over time', verdict: 'fail', detail: expect.stringContaining('Mann-Whitney p 0.0') },
      { name: 'smoke', verdict: 'pass', value: 1, detail: expect.stringContaining('completed') },
    ]);
    expect(await bed.listObjects('Job', shop.namespace)).toEqual([]);
    const routes = await bed.listObjects('HTTPRoute', shop.namespace);
    expect(routes.map(({ metadata, spec }) => [metadata.name, spec])).toMatchObject([
      [
        'front',
        {
          hostnames: front.spec.hostnames,
          rules: [
            {
              backendRefs: [
                { name: 'podinfo-primary', weight: 100 },
                { name: 'podinfo-canary', weight: 0 },
              ],
            },
          ],
        },
      ],
    ]);
    expect(ended.lastPromotedCommit).toBe(sound);
    await shop.close();
  });

  test('gatewayapi:v1: a Service as target divides requests between pods that nobody rolls out', async () => {
    const selecting = (app: string) => {
      const { spec, ...rest } = service('podinfo', app);
      return { ...rest, spec: { ...(spec as object), type: 'NodePort' } };
    };
    const shop = await running('by-selector', {
      spec: { targetRef: { apiVersion: 'v1', kind: 'Service', name: 'podinfo' } },
      analysis: { interval: '2s', threshold: 2, stepWeights: [30, 60], webhooks: [gate('by-selector')] },
      postPromotion: { metrics: [] },
      files: {
        service: selecting('podinfo'),
        next: deployment({ name: 'next', image: 'app:v2', replicas: 2 }),
      },
    });
    await untilAnswered(shop.namespace, () => shop.startLoad());
    const load = shop.startLoad();
    const commit = await shop.repo.commit({ 'service.yaml': JSON.stringify(selecting('next')) }, 'v2');
    await shop.until('waiting for promotion', isBeforePromotion);
    const during = await bed.readObject('Service', shop.namespace, 'podinfo');
    hooks.answer('by-selector', 200);
    await shop.until('v2 succeeded', (status) => status.lastPromotedCommit === commit && !status.run);
    await shop.repo.commit({ 'service.yaml': JSON.stringify(selecting('nobody')) }, 'v3');
    const ended = await shop.until('v3 failed', (status) => status.phase === 'Failed' && !status.run);
    const seen = await load.stop();
    const after = await bed.readObject('Service', shop.namespace, 'podinfo-primary');
    expect(seen.failures).toEqual([]);
    expect(seen.byVersion.v1).toBeGreaterThan(0);
    expect(seen.byVersion.v2).toBeGreaterThan(0);
    expect(during?.spec).toMatchObject({ selector: { app: 'podinfo' } });
    expect(after?.spec).toMatchObject({ type: 'ClusterIP', selector: { app: 'next' } });
    expect(ended.lastPromotedCommit).toBe(commit);
    await shop.close();
  });

  test('kubernetes: no mesh, the apex Service follows what is ready', async () => {
    const analysis = { interval: '2s', threshold: 2, iterations: 2 };
    const options = { provider: 'kubernetes' as const, analysis, postPromotion: { metrics: [] } };
    const shop = await running('by-service', options);
    const empty: string[] = [];
    const watching = setInterval(
      () => void readyBehindApex(shop.namespace).then((count) => count === 0 && empty.push('none')),
      200,
    );
    const commit = await shop.release('v2');
    await shop.until('v2 succeeded', (status) => status.lastPromotedCommit === commit && !status.run);
    await shop.release('v3', { PRIMARY_READY: 'false' }, { primaryDeadlineSeconds: 10 });
    const held = await shop.until(
      'v3 held',
      (status) => status.postPromotion?.state === 'Held' && status.canaryWeight === 100,
    );
    const ended = await shop.until('v3 reverted', (status) => status.phase === 'Failed' && !status.run);
    clearInterval(watching);
    expect(held.serving?.[0]?.workload).toBe('podinfo');
    expect(ended.serving?.[0]?.workload).toBe('podinfo-primary');
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v2');
    expect(empty).toEqual([]);
    await shop.close();
  });
});

/** Ready addresses behind the apex Service, as its EndpointSlices say. */
async function readyBehindApex(namespace: string): Promise<number> {
  const slices = await bed.listObjects('EndpointSlice', namespace, 'kubernetes.io/service-name=podinfo');
  const endpoints = slices.flatMap(
    (slice) => (slice.endpoints as Array<{ conditions: { ready?: boolean } }> | null) ?? [],
  );
  return endpoints.filter((endpoint) => endpoint.conditions.ready !== false).length;
}
