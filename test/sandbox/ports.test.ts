/** Which port requests go to is part of a release: what nobody can be reached by never becomes the last-known-good. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startHookServer } from '../hook-server.ts';
import {
  canary,
  condition,
  deployment,
  eventually,
  failPrimary,
  onGateway,
  primaryImage,
  runUntilInitialized,
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

/** A workload with one port of this name. */
function workload(image: string, name: string, containerPort = 8080): string {
  const object = JSON.parse(deployment(image)) as {
    spec: { template: { spec: { containers: object[] } } };
  };
  const pod = object.spec.template.spec;
  pod.containers = pod.containers.map((container) => ({ ...container, ports: [{ name, containerPort }] }));
  return JSON.stringify(object, undefined, 1);
}

const to = (targetPort: number | string, more: Record<string, unknown> = {}) =>
  canary({ spec: { service: { port: 80, targetPort }, ...more } });

/** Without an analysis of its own that could tell. */
const unchecked = (targetPort: number | string) => to(targetPort, { skipAnalysis: true });

async function lastKnownGood(): Promise<string | undefined> {
  return (statusOf(await bed.canary()).lastKnownGood as { digest?: string } | undefined)?.digest;
}

async function targetPortOf(service: string): Promise<unknown> {
  const spec = (await bed.get('v1', 'Service', service))?.spec as
    | { ports?: Array<{ targetPort: unknown }> }
    | undefined;
  return spec?.ports?.[0]?.targetPort;
}

async function checkOf(name: string): Promise<Record<string, unknown> | undefined> {
  const { checks = [] } = statusOf(await bed.canary()) as { checks?: Array<Record<string, unknown>> };
  return checks.find((check) => check.name === name);
}

describe('a targetPort whose name the template lacks never becomes the last-known-good (issue 11, 8)', () => {
  test('from Git it is refused with file and line, and the release before goes on', async () => {
    await bed.commit('v1', { 'web.json': workload('shop/web:1', 'http'), 'canary.json': unchecked('http') });
    await runUntilInitialized(bed);
    const good = await lastKnownGood();
    const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });

    await bed.commit('v2', { 'web.json': workload('shop/web:2', 'http'), 'canary.json': unchecked('web') });
    const message = await eventually('the Source says so', async () => {
      const ready = condition(await bed.source(), 'Ready');
      return ready?.reason === 'InvalidManifests' ? ready.message : undefined;
    });
    await bed.pass(20_000);
    expect(message).toMatch(
      /canary\.json:\d+: spec\.service\.targetPort: .*"web" is not the name of a TCP port/,
    );
    expect(await primaryImage(bed)).toBe('shop/web:1');
    expect(await lastKnownGood()).toBe(good);
    expect(await targetPortOf('web-primary')).toBe('http');

    await bed.commit('v3', { 'web.json': workload('shop/web:3', 'web') });
    await waitForPhase(bed, 'Succeeded');
    sampler.stop();
    expect(sampler.totals().failed).toBe(0);
    expect(await targetPortOf('web-primary')).toBe('web');
  });

  test('from a live target it is refused, and the Canary says which names there are', async () => {
    const flux = otherTool(bed);
    await flux.apply(workload('shop/web:1', 'http'), unchecked('web'));
    await bed.start();
    const ready = await eventually('the Canary says so', async () => {
      const found = condition(await bed.canary(), 'Ready');
      return found?.reason === 'InvalidManifests' ? found : undefined;
    });
    await bed.pass(20_000);
    expect(ready.message).toContain('"web" is not the name of a TCP port of Deployment shop/web');
    expect(ready.message).toContain('http (8080)');
    expect(await lastKnownGood()).toBeUndefined();
    expect(await bed.get('apps/v1', 'Deployment', 'web-primary')).toBeUndefined();

    await flux.apply(workload('shop/web:1', 'http'), unchecked('http'));
    await waitForPhase(bed, 'Initialized');
  });
});

describe('ports change with the template and come back with it', () => {
  test.each<[string, number | string, number | string]>([
    ['another name', 'http', 'web'],
    ['another number', 8080, 9090],
  ])('%s', async (_, before, after) => {
    const files = (image: string, port: number | string) => ({
      'web.json': typeof port === 'string' ? workload(image, port) : workload(image, 'http', port),
      'canary.json': to(port),
    });
    await bed.commit('v1', files('shop/web:1', before));
    await runUntilInitialized(bed);
    const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });

    await bed.commit('v2', files('shop/web:2', after));
    await waitForPhase(bed, 'Succeeded');
    const good = await lastKnownGood();
    expect(await primaryImage(bed)).toBe('shop/web:2');
    expect(await targetPortOf('web-primary')).toBe(after);
    expect(await targetPortOf('web')).toBe(after);
    expect(await checkOf('endpoints')).toMatchObject({ verdict: 'pass', value: 2, min: 2 });

    failPrimary(bed, 'shop/web:3');
    await bed.commit('v3', files('shop/web:3', before));
    await waitForPhase(bed, 'Failed');
    sampler.stop();

    expect(await primaryImage(bed)).toBe('shop/web:2');
    expect(await targetPortOf('web-primary')).toBe(after);
    expect(await targetPortOf('web')).toBe(after);
    expect(await lastKnownGood()).toBe(good);
    expect(sampler.totals().failed).toBe(0);
  });
});

describe.each(['gatewayapi:v1', 'contour'])('a Service with another port number behind %s', (provider) => {
  const { service } = onGateway;
  const files = (image: string, port: number, more: Record<string, unknown> = {}) => ({
    'web.json': workload(image, 'http'),
    'canary.json': canary({
      spec: { provider, service: { ...service, port } },
      analysis: { interval: '1s', iterations: undefined, stepWeight: 40, maxWeight: 80, ...more },
    }),
  });

  test('loses no request while its release waits, on the way up, and on the way back', async () => {
    await bed.commit('v1', files('shop/web:1', 80));
    await runUntilInitialized(bed);
    const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });

    const webhooks = [{ name: 'gate', type: 'confirm-rollout', url: 'http://127.0.0.1:1/', timeout: '1s' }];
    await bed.commit('v2', files('shop/web:2', 90, { webhooks }));
    await waitForPhase(bed, 'Waiting');
    await bed.pass(5_000);
    expect(sampler.totals().failed).toBe(0);

    await bed.commit('v2, without the gate', files('shop/web:2', 90));
    await waitForPhase(bed, 'Succeeded');
    expect(await primaryImage(bed)).toBe('shop/web:2');
    expect(sampler.totals().failed).toBe(0);

    failPrimary(bed, 'shop/web:3');
    await bed.commit('v3', files('shop/web:3', 80));
    await waitForPhase(bed, 'Failed');
    sampler.stop();
    expect(await primaryImage(bed)).toBe('shop/web:2');
    expect(sampler.totals().failed).toBe(0);
  });
});

describe('a release with other ports whose checks fail after its promotion', () => {
  test.each<[string, Record<string, unknown>, number]>([
    ['another port of the Service', { port: 90 }, 8080],
    ['another target', { targetPort: 9090 }, 9090],
  ])('%s: the way back loses no request', async (_, change, containerPort) => {
    const hooks = await startHookServer();
    const webhooks = [{ name: 'smoke', url: hooks.url('smoke'), timeout: '1s' }];
    const postPromotion = { interval: '1s', successThreshold: 2, onFailure: 'revert', webhooks };
    const files = (image: string, more: Record<string, unknown>, port: number) => ({
      'web.json': workload(image, 'http', port),
      'canary.json': canary({
        spec: { ...onGateway, service: { ...onGateway.service, ...more }, postPromotion },
        analysis: { interval: '1s', iterations: undefined, stepWeight: 50 },
      }),
    });
    await bed.commit('v1', files('shop/web:1', {}, 8080));
    await runUntilInitialized(bed);
    const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });

    hooks.answer('smoke', 500);
    await bed.commit('v2', files('shop/web:2', change, containerPort));
    await eventually('v2 is verified', async () => hooks.seen('smoke').length > 0);
    await waitForPhase(bed, 'Failed');
    await hooks.close();
    sampler.stop();

    expect(await primaryImage(bed)).toBe('shop/web:1');
    expect(sampler.totals().failed).toBe(0);
  });
});

test('a number that the template does not declare is told by a condition, also where nothing else looks (issue 11, 8)', async () => {
  const flux = otherTool(bed);
  await flux.apply(workload('shop/web:1', 'http'), unchecked(9999));
  await bed.start();
  await waitForPhase(bed, 'Initialized');
  const warned = async () => condition(await bed.canary(), 'SpecWarnings');
  expect((await eventually('the warning', warned)).message).toContain(
    'spec.service.targetPort: sends requests to port 9999, which no container of Deployment shop/web declares',
  );
  await flux.apply(workload('shop/web:2', 'http'));
  await waitForPhase(bed, 'Succeeded');
  expect(await checkOf('ports')).toMatchObject({ verdict: 'pass', detail: expect.stringContaining('9999') });

  await flux.apply(unchecked(8080));
  await eventually('the warning is gone', async () => !(await warned()));
});

test('nobody is promoted while no endpoint tells that requests arrive (issue 11, 8)', async () => {
  await bed.commit('v1', { 'web.json': workload('shop/web:1', 'http'), 'canary.json': to('http') });
  await runUntilInitialized(bed);
  const good = await lastKnownGood();
  const release = bed.sandbox.holdEndpoints();

  await bed.commit('v2', { 'web.json': workload('shop/web:2', 'http') });
  await waitForPhase(bed, 'Failed');
  expect(await lastKnownGood()).toBe(good);
  release();
});

test('a canary that a second port of its Service keeps from its traffic says which port, and a person is called at the deadline', async () => {
  const analysis = { interval: '1s', threshold: 2, stepWeight: 50, maxWeight: 50 };
  const spec = { ...onGateway, progressDeadlineSeconds: 10, analysis };
  await bed.commit('v1', { 'web.json': workload('shop/web:1', 'http'), 'canary.json': canary({ spec }) });
  await runUntilInitialized(bed);
  const more = { name: 'metrics', port: 9090, targetPort: 'metrics' };
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web-canary', namespace: 'shop' },
    spec: { ports: [more] },
  };
  await otherTool(bed, 'kubectl').apply(JSON.stringify(service));
  const v2 = await bed.commit('v2', { 'web.json': workload('shop/web:2', 'http') });
  const stalled = await eventually('a person is called', async () => {
    const found = condition(await bed.canary(), 'Stalled');
    return found?.status === 'True' && found;
  });
  await otherTool(bed, 'kubectl').apply(JSON.stringify({ ...service, spec: {} }));

  expect(stalled.reason).toBe('WaitingForCapacity');
  expect(stalled.message).toMatch(/endpoints of its Service at port metrics \(9090\) .* targetPort/);
  await eventually('v2 is promoted', async () => statusOf(await bed.canary()).lastPromotedCommit === v2);
});
