/** What the API server refuses, beside what would save the traffic. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { CanaryStatus } from '../../src/api/canary/status.ts';
import { rejectionsName, rejectionsType } from '../../src/release/rejections.ts';
import { replicasOf } from '../objects.ts';
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

const secrets = '/api/v1/namespaces/shop/secrets';
const services = '/api/v1/namespaces/shop/services';
const canaryPath = '/apis/flagger.app/v1beta1/namespaces/shop/canaries/web';
const rejections = rejectionsName({ namespace: 'shop', name: 'web' });

const status = async () => statusOf(await bed.canary()) as CanaryStatus;

/** Refuses writes of these paths from now on; the returned function allows them. */
function refuseWrites(isRefused: (path: string, body: string) => boolean): () => void {
  return bed.sandbox.fault(({ method, path, body, userAgent }) =>
    method !== 'GET' && userAgent.startsWith('holdfast/') && isRefused(path, body)
      ? { code: 403, reason: 'Forbidden', message: `exceeded quota: ${path}` }
      : undefined,
  );
}

const isRejection = (path: string, body: string) =>
  path.includes(rejections) || (path === secrets && body.includes(`"${rejections}"`));

async function initialized(spec: Record<string, unknown> = {}, analysis: Record<string, unknown> = {}) {
  await bed.commit('v1', {
    'web.json': deployment('shop/web:1'),
    'canary.json': canary({ spec, analysis }),
  });
  await runUntilInitialized(bed);
}

function untilReady(what: string, reason: string, message: RegExp): Promise<unknown> {
  return eventually(
    what,
    async () => {
      const ready = condition(await bed.canary(), 'Ready');
      return ready?.status === 'False' && ready.reason === reason && message.test(ready.message);
    },
    { seen: status },
  );
}

/** Version 2 has 40 % of the requests, for a minute. */
async function untilHalfWay(): Promise<string> {
  await initialized(onGateway, { iterations: undefined, stepWeights: [40, 80], interval: '60s' });
  const v2 = await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await eventually('40 % on the canary', async () => (await status()).canaryWeight === 40, { seen: status });
  return v2;
}

async function annotate(annotations: Record<string, string>): Promise<void> {
  await bed.send('PATCH', canaryPath, { metadata: { annotations } });
}

/** Share of the requests by workload, as users' requests go. */
function shareOf(workload: string): number {
  const found = bed.sandbox.traffic('shop', 'web').workloads.find((one) => one.workload === workload);
  return found?.share ?? 0;
}

/** Writes of the primary with version 1 are refused from now on, as by a policy that came after it; the returned function allows them. */
function refuseFirstVersion(): () => void {
  return refuseWrites(
    (path, body) => path.endsWith('/deployments/web-primary') && body.includes('shop/web:1'),
  );
}

test('a last-known-good that the API server refuses is told at the deadline, and a newer commit gets through', async () => {
  await initialized({ ...onGateway, postPromotion: { onFailure: 'revert', interval: '1s' } });
  failPrimary(bed, 'shop/web:2');
  refuseFirstVersion();
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await eventually(
    'it is held',
    async () => {
      const { phase, postPromotion } = await status();
      return phase === 'Failed' && postPromotion?.reason === 'LKGNotReady';
    },
    { seen: status },
  );
  const { message, incidents } = await status();
  expect(message).toMatch(/^the last-known-good .* cannot be written to the primary: /);
  expect(incidents?.[0]).toMatchObject({ reason: 'LKGNotReady', outcome: 'Held' });
  expect(incidents?.[0]?.message).toContain('exceeded quota');
  expect(incidents?.[0]?.finding).toContain('ImagePullBackOff');
  const v3 = await bed.commit('v3', { 'web.json': deployment('shop/web:3') });
  await waitForPhase(bed, 'Succeeded');
  sampler.stop();
  expect((await status()).lastPromotedCommit).toBe(v3);
  expect(await primaryImage(bed)).toBe('shop/web:3');
  expect(sampler.totals().failed).toBe(0);
});

test('a revert goes on by itself once the API server accepts the last-known-good, also after the deadline', async () => {
  await initialized({ ...onGateway, postPromotion: { onFailure: 'revert', interval: '1s' } });
  failPrimary(bed, 'shop/web:2');
  const allow = refuseFirstVersion();
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await eventually('it is held', async () => (await status()).postPromotion?.reason === 'LKGNotReady', {
    seen: status,
  });
  allow();
  await eventually('it has ended', async () => !(await status()).run, { seen: status });
  sampler.stop();
  expect(await primaryImage(bed)).toBe('shop/web:1');
  expect(condition(await bed.canary(), 'Reverted')?.status).toBe('True');
  expect(sampler.totals().failed).toBe(0);
});

test('a refused rejection Secret does not stop the revert', async () => {
  await initialized({ ...onGateway, postPromotion: { onFailure: 'revert' } });
  failPrimary(bed, 'shop/web:2');
  const allow = refuseWrites(isRejection);
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  // What the server says about a Secret is repeated nowhere (S31).
  await untilReady('the refusal is told', 'Forbidden', /^Reject \(release .*Secret/i);
  await eventually('the last-known-good is written', async () => (await primaryImage(bed)) === 'shop/web:1', {
    seen: status,
  });
  await eventually('and has all of the traffic', async () => shareOf('web-primary') === 1, { seen: status });
  sampler.stop();
  expect(sampler.totals().failed).toBe(0);
  allow();
  await waitForPhase(bed, 'Failed');
  await eventually('the rejection is made up for', async () => {
    return (await status()).rejected?.length === 1 && (await bed.get('v1', 'Secret', rejections));
  });
  expect(condition(await bed.canary(), 'Stalled')?.reason).not.toBe('Forbidden');
});

test('the run ends although its rejection is refused, and the release is not tried again', async () => {
  await initialized({ ...onGateway, postPromotion: { onFailure: 'revert' } });
  failPrimary(bed, 'shop/web:2');
  refuseWrites(isRejection);
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Failed');
  await eventually('the run is over', async () => (await status()).run === undefined, { seen: status });
  expect((await status()).rejected).toMatchObject([{ pending: true }]);
  await bed.pass(30_000);
  expect((await status()).phase).toBe('Failed');
  expect(await primaryImage(bed)).toBe('shop/web:1');
});

test('a retry that cannot lift the rejection is carried out once it can', async () => {
  await initialized({ ...onGateway, postPromotion: { onFailure: 'revert' } });
  failPrimary(bed, 'shop/web:2');
  const v2 = await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Failed');
  await eventually('the rejection is kept', () => bed.get('v1', 'Secret', rejections));
  const allow = refuseWrites(isRejection);
  await annotate({ 'holdfast.dev/retry': `${v2}@1` });
  await untilReady('the refusal is told', 'Forbidden', /Unreject/);
  expect((await status()).handled?.retry).toBeUndefined();
  allow();
  await eventually('it is tried again', async () => (await status()).run?.commit === v2, { seen: status });
  expect((await status()).answers?.retry).toMatchObject({ result: 'Done' });
});

test('a rejection Secret that cannot be read does not stop the revert', async () => {
  await initialized({ ...onGateway, postPromotion: { onFailure: 'revert' } });
  failPrimary(bed, 'shop/web:2');
  await bed.send('POST', secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: rejections,
      namespace: 'shop',
      labels: { 'holdfast.dev/canary': 'web', 'holdfast.dev/record': 'rejections' },
    },
    type: rejectionsType,
    data: { rejections: 'bm90IEpTT04=' },
  });
  await untilReady('it is told', 'RejectionsDamaged', /delete it to forget them/);
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await eventually('version 2 is on the primary', async () => (await primaryImage(bed)) === 'shop/web:2', {
    seen: status,
  });
  await eventually('the last-known-good is written', async () => (await primaryImage(bed)) === 'shop/web:1', {
    seen: status,
  });
  await eventually('and has all of the traffic', async () => shareOf('web-primary') === 1, { seen: status });
  sampler.stop();
  expect(sampler.totals().failed).toBe(0);
  expect(condition(await bed.canary(), 'Ready')?.reason).toBe('RejectionsDamaged');
});

test('a refused Service does not keep requests on a canary that is given up', async () => {
  const v2 = await untilHalfWay();
  const allow = refuseWrites((path, body) => path.startsWith(services) && /web-canary/.test(path + body));
  await bed.send('DELETE', `${services}/web-canary`);
  await annotate({ 'holdfast.dev/abort': v2 });
  await eventually('the primary has all of the traffic', async () => shareOf('web-primary') === 1, {
    seen: status,
  });
  await untilReady('the refusal is told', 'Forbidden', /EnsureServices .*exceeded quota/);
  expect(bed.sandbox.traffic('shop', 'web').successShare).toBe(1);
  allow();
  await waitForPhase(bed, 'Failed');
  await eventually('the Service is back', () => bed.get('v1', 'Service', 'web-canary'));
});

test('a step whose route is refused says so until the route is written', async () => {
  await initialized(onGateway, { iterations: undefined, stepWeights: [40, 80], interval: '20s' });
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await eventually('40 % on the canary', async () => (await status()).canaryWeight === 40, { seen: status });
  const allow = refuseWrites((path) => path.includes('/httproutes/'));
  await untilReady('the refusal is told', 'Forbidden', /SetTraffic .*exceeded quota/);
  for (let second = 0; second < 15; second += 1) {
    await bed.pass(1_000);
    const { message, canaryWeight } = await status();
    expect([message, canaryWeight]).toEqual([expect.stringContaining('exceeded quota'), 40]);
  }
  await eventually('a person is called', async () =>
    (await status()).incidents?.some(
      ({ outcome, reason }) => outcome === 'Stopped' && reason === 'Forbidden',
    ),
  );
  allow();
  await waitForPhase(bed, 'Succeeded');
});

test('a status that cannot be written keeps no requests on a canary that is given up, and its pods stay', async () => {
  const v2 = await untilHalfWay();
  const allow = refuseWrites((path) => path === `${canaryPath}/status`);
  await annotate({ 'holdfast.dev/abort': v2 });
  await eventually('the primary has all of the traffic', async () => shareOf('web-primary') === 1, {
    seen: status,
  });
  await bed.pass(10_000);
  expect(await bed.get('apps/v1', 'Deployment', 'web')).toMatchObject({ status: { readyReplicas: 2 } });
  expect((await status()).phase).toBe('Progressing');
  allow();
  await waitForPhase(bed, 'Failed');
  await eventually('the canary rests', async () => {
    const target = await bed.get('apps/v1', 'Deployment', 'web');
    return replicasOf(target) === 0;
  });
});

test('a finalizer that cannot be written keeps no requests on a canary that is given up', async () => {
  const v2 = await untilHalfWay();
  const allow = refuseWrites((path) => path === canaryPath);
  const annotations = { 'holdfast.dev/abort': v2 };
  const changed = { metadata: { annotations }, spec: { revertOnDeletion: true } };
  await bed.send('PATCH', canaryPath, changed);
  await eventually('the primary has all of the traffic', async () => shareOf('web-primary') === 1, {
    seen: status,
  });
  await untilReady('the refusal is told', 'Forbidden', /exceeded quota/);
  await waitForPhase(bed, 'Failed');
  allow();
  await eventually('the finalizer is there', async () => {
    return (await bed.canary())?.metadata.finalizers?.includes('finalizer.flagger.app');
  });
});

test('without a finalizer nothing is taken over from a target that serves, since a deletion could not hand it back', async () => {
  const allow = refuseWrites((path, body) => path === canaryPath && body.includes('finalizers'));
  const spec = { ...onGateway, revertOnDeletion: true };
  await otherTool(bed).apply(deployment('shop/web:1'), canary({ spec }));
  await bed.start();
  await untilReady('the refusal is told', 'Forbidden', /exceeded quota/);
  expect((await status()).message).toContain('exceeded quota');
  await bed.pass(60_000);
  expect(await primaryImage(bed)).toBeUndefined();
  expect((await bed.get('apps/v1', 'Deployment', 'web'))?.spec).toMatchObject({ replicas: 2 });
  allow();
  await waitForPhase(bed, 'Initialized');
});

test('while a write is refused for good the status is not written over and over', async () => {
  await initialized({ ...onGateway, postPromotion: { onFailure: 'revert' } });
  failPrimary(bed, 'shop/web:2');
  refuseWrites(isRejection);
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await untilReady('the refusal is told', 'Forbidden', /^Reject/);
  await eventually('the last-known-good serves', async () => {
    return (await primaryImage(bed)) === 'shop/web:1' && shareOf('web-primary') === 1;
  });
  await bed.pass(60_000);
  bed.sandbox.requests.clear();
  await bed.pass(120_000);
  const writes = bed.sandbox.requests
    .all()
    .filter(({ method, path }) => method === 'PATCH' && path === `${canaryPath}/status`);
  expect(writes).toEqual([]);
});

test('a record that cannot be read counts as damaged, and is asked again until it can be', async () => {
  await initialized();
  const { record } = (await status()).lastKnownGood ?? {};
  const allow = bed.sandbox.fault(({ method, path }) =>
    method === 'GET' && path === `${secrets}/${record}` ? { code: 500, reason: 'InternalError' } : undefined,
  );
  await bed.start();
  // Another copy reads it anew, once it has the Lease.
  await bed.send('PATCH', `${secrets}/${record}`, { metadata: { annotations: { touched: 'true' } } });
  await eventually(
    'it is told',
    async () => condition(await bed.canary(), 'RollbackReady')?.message.includes('cannot be read'),
    { seen: status },
  );
  allow();
  await eventually(
    'it is read again',
    async () => condition(await bed.canary(), 'RollbackReady')?.reason === 'RecordKept',
    { seen: status },
  );
});
