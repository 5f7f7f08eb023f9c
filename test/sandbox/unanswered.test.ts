/** What the API server does not answer, or refuses, for longer than anybody waits. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ApiRequest } from '../../sandbox/api-server/request.ts';
import {
  canary,
  condition,
  createSource,
  deployment,
  eventually,
  imageOf,
  onGateway,
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
  await createSource(bed, source);
  await bed.start();
  await waitForPhase(bed, 'Initialized');
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await eventually('v2 is tried', async () => Number(statusOf(await bed.canary()).iterations) > 1);
}

const primaryImage = async () => imageOf(await bed.get('apps/v1', 'Deployment', 'web-primary'));

test("an account's rights that nobody answers for minutes hold up its Source alone, which says so, and not what runs", async () => {
  await trying({ serviceAccountName: 'deployer' });
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
  const answers = bed.sandbox.fault((request) =>
    ours(request) && request.path.includes('subjectaccessreviews') ? { code: 500 } : undefined,
  );
  await bed.commit('v2 with a note', { 'note.json': JSON.stringify(note) });
  await waitForPhase(bed, 'Succeeded');
  expect(await primaryImage()).toBe('shop/web:2');
  // What was answered is believed for a minute.
  await bed.pass(70_000);
  const v3 = await bed.commit('v3', { 'web.json': deployment('shop/web:3') });
  await bed.pass(60_000);
  expect(await primaryImage()).toBe('shop/web:2');
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
  expect(await primaryImage()).toBe('shop/web:1');

  isBound = true;
  refuses();
  await waitForPhase(bed, 'Succeeded');
  sampler.stop();
  expect(await primaryImage()).toBe('shop/web:2');
  expect(sampler.totals().failed).toBe(0);
});

test('a release is given up although what it is judged by cannot be read anew: after 30 s that is done without', async () => {
  bed.sandbox.behaviour.rule((pod) =>
    imageOf({ spec: { template: { spec: pod.spec } } }) === 'shop/web:2'
      ? { failure: 'ImagePullBackOff' }
      : undefined,
  );
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  await createSource(bed);
  await bed.start({}, undefined, bed.clock);
  await waitForPhase(bed, 'Initialized');
  // What was read at the start is fresh no more.
  await bed.pass(20_000);
  bed.sandbox.fault((request) => (ours(request) && isList(request) ? 'hang' : undefined));
  const beganMs = bed.clock.nowMs();
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Failed');
  const seconds = (bed.clock.nowMs() - beganMs) / 1000;
  expect(seconds).toBeGreaterThan(30);
  expect(seconds).toBeLessThan(240);
  expect(await primaryImage()).toBe('shop/web:1');
});

test('a deletion ends in its time although nothing can be read anew meanwhile', async () => {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1') });
  await bed.send(
    'POST',
    '/apis/flagger.app/v1beta1/namespaces/shop/canaries',
    JSON.parse(canary({ spec: { revertOnDeletion: true } })),
  );
  await createSource(bed);
  await bed.start({}, undefined, bed.clock);
  await waitForPhase(bed, 'Initialized');
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
      return phase === 'Succeeded' && lastPromotedCommit !== undefined && primaryImage();
    },
    { seen: bed.canary },
  );
  await eventually('it is applied', async () => statusOf(await bed.source()).appliedCommit === commit);
  await bed.pass(5_000);
  sampler.stop();
  expect(await primaryImage()).toBe('shop/web:2');
  expect(sampler.totals().failed).toBe(0);
  const { body } = await bed.send('GET', '/apis/gateway.networking.k8s.io/v1/namespaces/shop/httproutes/web');
  expect(JSON.stringify(body)).toContain('web-primary');
});
