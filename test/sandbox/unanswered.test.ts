/** What the API server does not answer, or refuses, for longer than anybody waits. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ApiRequest } from '../../sandbox/api-server/request.ts';
import type { CanaryStatus } from '../../src/api/canary/status.ts';
import type { App } from '../../src/server/app.ts';
import { imageOf } from '../objects.ts';
import {
  canary,
  condition,
  deployment,
  eventually,
  failPods,
  onGateway,
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

const ours = ({ userAgent }: ApiRequest) => userAgent.startsWith('holdfast/');
/** A whole state: what a cache reads anew. */
const isList = ({ method, path, query }: ApiRequest) =>
  method === 'GET' &&
  (query.get('watch') !== 'true' || query.get('sendInitialEvents') === 'true') &&
  /\/(pods|deployments|replicasets|services)$/.test(path);

/** v1 is live, and v2 is tried for some seconds. */
async function trying(
  source: Record<string, unknown>,
  more: Parameters<typeof canary>[0] = {},
): Promise<void> {
  const analysis = { iterations: 8, ...more.analysis };
  await bed.commit('v1', {
    'web.json': deployment('shop/web:1'),
    'canary.json': canary({ ...more, analysis }),
  });
  await runUntilInitialized(bed, source);
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await eventually('v2 is tried', async () => Number(statusOf(await bed.canary()).iterations) > 1);
}

test("an account's rights that nobody answers for minutes hold up its Source alone, which says so, and not what runs", async () => {
  await trying({ serviceAccountName: 'deployer' });
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
  const answers = bed.sandbox.fault((request) =>
    ours(request) && request.path.includes('subjectaccessreviews') ? { code: 500 } : undefined,
  );
  await bed.commit('v2 with a note', { 'note.json': JSON.stringify(note) });
  await waitForPhase(bed, 'Succeeded');
  expect(await primaryImage(bed)).toBe('shop/web:2');
  // What was answered is believed for a minute.
  await bed.pass(70_000);
  const v3 = await bed.commit('v3', { 'web.json': deployment('shop/web:3') });
  await bed.pass(60_000);
  expect(await primaryImage(bed)).toBe('shop/web:2');
  expect(condition(await bed.source(), 'Ready')).toMatchObject({ status: 'False' });

  answers();
  await eventually('v3 is promoted', async () => statusOf(await bed.canary()).lastPromotedCommit === v3);
  sampler.stop();
  expect(sampler.totals().failed).toBe(0);
});

const note = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'note', namespace: 'shop' }, data: {} };

test('a release whose account loses its role meanwhile is not promoted, says whose right is missing, and goes on with it', async () => {
  let isBound = true;
  bed.sandbox.authorize(() => isBound);
  await trying({ serviceAccountName: 'deployer' }, { spec: { progressDeadlineSeconds: 600 } });
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
  const refuses = bed.sandbox.fault((request) =>
    ours(request) && request.method === 'PATCH' && request.impersonated !== ''
      ? { code: 403, reason: 'Forbidden', message: `${request.impersonated} cannot patch ${request.path}` }
      : undefined,
  );
  isBound = false;
  await eventually(
    'it is told',
    async () => condition(await bed.canary(), 'Ready')?.message?.includes('shop:deployer cannot patch'),
    { seen: bed.canary },
  );
  await bed.pass(60_000);
  expect(await primaryImage(bed)).toBe('shop/web:1');

  isBound = true;
  refuses();
  await waitForPhase(bed, 'Succeeded');
  sampler.stop();
  expect(await primaryImage(bed)).toBe('shop/web:2');
  expect(sampler.totals().failed).toBe(0);
});

test('a release is given up although what it is judged by cannot be read anew: after 30 s that is done without', async () => {
  failPods(bed, 'shop/web:2');
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  await runUntilInitialized(bed, {}, {}, undefined, bed.clock);
  // What was read at the start is fresh no more.
  await bed.pass(20_000);
  bed.sandbox.fault((request) => (ours(request) && isList(request) ? 'hang' : undefined));
  const beganMs = bed.clock.nowMs();
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Failed');
  const seconds = (bed.clock.nowMs() - beganMs) / 1000;
  expect(seconds).toBeGreaterThan(30);
  expect(seconds).toBeLessThan(240);
  expect(await primaryImage(bed)).toBe('shop/web:1');
});

test('a deletion ends in its time although nothing can be read anew meanwhile', async () => {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1') });
  await bed.send(
    'POST',
    '/apis/flagger.app/v1beta1/namespaces/shop/canaries',
    JSON.parse(canary({ spec: { revertOnDeletion: true } })),
  );
  await runUntilInitialized(bed, {}, {}, undefined, bed.clock);
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
  bed.sandbox.fault((request) => (ours(request) && isList(request) ? 'hang' : undefined));
  await bed.send('DELETE', '/apis/flagger.app/v1beta1/namespaces/shop/canaries/web');
  await eventually('the Canary is gone', async () => !(await bed.canary()), { seen: bed.canary });
  await bed.pass(1_000);
  sampler.stop();
  expect(sampler.totals().failed).toBe(0);
  expect(await bed.get('apps/v1', 'Deployment', 'web')).toMatchObject({ spec: { replicas: 2 } });
});

test('another provider in the middle of a release: it is promoted under the new one, and no request fails', async () => {
  await trying({});
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
  const commit = await bed.commit('to the gateway', { 'canary.json': canary({ spec: onGateway }) });
  await eventually(
    'v2 is promoted',
    async () => {
      const { phase, lastPromotedCommit } = statusOf(await bed.canary());
      return phase === 'Succeeded' && lastPromotedCommit !== undefined && primaryImage(bed);
    },
    { seen: bed.canary },
  );
  await eventually('it is applied', async () => statusOf(await bed.source()).appliedCommit === commit);
  await bed.pass(5_000);
  sampler.stop();
  expect(await primaryImage(bed)).toBe('shop/web:2');
  expect(sampler.totals().failed).toBe(0);
  const { body } = await bed.send('GET', '/apis/gateway.networking.k8s.io/v1/namespaces/shop/httproutes/web');
  expect(JSON.stringify(body)).toContain('web-primary');
});

/** The pods of v2 that have this in their names do not start. */
function breakV2(name: string): void {
  bed.sandbox.behaviour.rule((pod) =>
    pod.metadata.name.includes(name) && imageOf({ spec: { template: pod } }) === 'shop/web:2'
      ? { failure: 'ImagePullBackOff' }
      : undefined,
  );
}

const ofFirst = ({ userAgent }: ApiRequest) => userAgent === 'holdfast/1.0.0';

/** The first copy is at work, with v1 live. The second one leads beside it: its Lease is elsewhere. */
async function firstOfTwo(spec: Record<string, unknown> = {}): Promise<{ startSecond: () => Promise<App> }> {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary({ spec }) });
  await runUntilInitialized(bed, {}, { version: '1.0.0' }, undefined, bed.clock);
  return { startSecond: () => bed.start({ namespace: 'shop', version: '2.0.0' }, undefined, bed.clock) };
}

test('of two leaders, one that reads everything anew before it gives a release up writes nothing over what the other made of it', async () => {
  breakV2('web');
  const { startSecond } = await firstOfTwo({ progressDeadlineSeconds: 20 });
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
  let isReading = false;
  let answer = () => {};
  const until = new Promise<void>((resolve) => {
    answer = resolve;
  });
  bed.sandbox.fault((request) => {
    if (!ofFirst(request) || request.path.includes('/leases')) return undefined;
    isReading ||= isList(request);
    // What it decides then takes as long to arrive.
    return isReading && (isList(request) || request.method !== 'GET') ? { until } : undefined;
  });
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await eventually('it reads everything anew', async () => isReading, { seen: bed.canary });
  const v3 = await bed.commit('v3', { 'web.json': deployment('shop/web:3') });
  await startSecond();
  await eventually('v3 is promoted', async () => statusOf(await bed.canary()).lastPromotedCommit === v3, {
    seen: bed.canary,
  });
  answer();
  await bed.pass(40_000);
  sampler.stop();
  expect(statusOf(await bed.canary())).toMatchObject({
    phase: 'Succeeded',
    lastPromotedCommit: v3,
    rejected: [],
  });
  expect(await primaryImage(bed)).toBe('shop/web:3');
  expect(sampler.totals().failed).toBe(0);
});

test.each([
  ['Promoting', 'Succeeded', 'shop/web:2'],
  ['Reverting', 'Failed', 'shop/web:1'],
])(
  'a process ends between the write of a packed status and its answer, %s: the next one goes on from it',
  async (word, phase, image) => {
    if (phase === 'Failed') breakV2('web-primary');
    const { startSecond } = await firstOfTwo();
    const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
    let isOver = false;
    bed.sandbox.fault((request) => {
      if (!ofFirst(request)) return undefined;
      if (isOver) return 'drop';
      const isStatus = request.method === 'PATCH' && request.path.endsWith('/canaries/web/status');
      if (!isStatus || !request.body.includes(word)) return undefined;
      isOver = true;
      return 'cut';
    });
    const v2 = await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
    await eventually('the write without an answer', async () => isOver, { seen: bed.canary });
    await startSecond();
    await waitForPhase(bed, phase);
    await bed.pass(10_000);
    sampler.stop();
    const { history, rejected, incidents } = statusOf(await bed.canary()) as CanaryStatus;
    expect(history?.map(({ commit, result }) => `${commit} ${result}`)).toEqual([`${v2} ${phase}`]);
    expect(rejected?.length).toBe(phase === 'Failed' ? 1 : 0);
    const keys = incidents?.map(({ key }) => key) ?? [];
    expect(new Set(keys).size).toBe(keys.length);
    expect(await primaryImage(bed)).toBe(image);
    expect(sampler.totals().failed).toBe(0);
  },
);

test('a status whose writes are answered with 409 for good is reported, and not tried five times a second', async () => {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  await runUntilInitialized(bed);
  const isStatus = ({ method, path }: { method: string; path: string }) =>
    method === 'PATCH' && path.endsWith('/canaries/web/status');
  const allow = bed.sandbox.fault((request) =>
    isStatus(request) ? { code: 409, message: 'denied by a webhook' } : undefined,
  );
  const v2 = await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  const told = await eventually('a conflict is told', async () => {
    const { body } = await bed.send('GET', '/apis/events.k8s.io/v1/namespaces/shop/events');
    const { items } = body as { items: Array<{ reason: string; note: string }> };
    return items.find(({ reason }) => reason === 'Conflict');
  });
  await bed.pass(10_000);
  bed.sandbox.requests.clear();
  await bed.pass(20_000);
  const writes = bed.sandbox.requests.all().filter(isStatus).length;
  allow();
  await eventually('v2 is promoted', async () => statusOf(await bed.canary()).lastPromotedCommit === v2);

  expect(writes).toBeLessThan(20);
  expect(told.note).toContain('denied by a webhook');
});

test('the creation of a primary that reaches the API server long after it was tried again changes nothing', async () => {
  let lost: ApiRequest | undefined;
  bed.sandbox.fault((request) => {
    const isCreation = request.method === 'PATCH' && request.path.endsWith('/deployments/web-primary');
    if (!ours(request) || !isCreation || lost) return undefined;
    lost = request;
    return 'drop';
  });
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  await runUntilInitialized(bed);
  const v2 = await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await eventually('v2 is promoted', async () => statusOf(await bed.canary()).lastPromotedCommit === v2);
  await waitForPhase(bed, 'Succeeded');

  const { method, path, query, body, contentType } = lost as unknown as ApiRequest;
  const arrival = await bed.send(method, `${path}?${query}`, JSON.parse(body), contentType);

  expect(arrival.status).toBe(409);
  expect(await primaryImage(bed)).toBe('shop/web:2');
});
