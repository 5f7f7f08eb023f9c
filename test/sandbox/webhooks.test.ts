import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createVirtualClock, type VirtualClock } from '../../sandbox/virtual-clock.ts';
import type { App } from '../../src/server/app.ts';
import { type HookServer, startHookServer } from '../hook-server.ts';
import { imageOf } from '../objects.ts';
import {
  type Bed,
  canary,
  createSource,
  deployment,
  isNotIdle,
  primaryImage,
  startBed,
  statusOf,
} from './holdfast-bed.ts';

let bed: Bed;
let clock: VirtualClock;
let hooks: HookServer;
beforeEach(async () => {
  clock = createVirtualClock();
  bed = await startBed(clock);
  hooks = await startHookServer();
});
afterEach(async () => {
  await bed.close();
  await hooks.close();
});

type Status = Record<string, unknown> & { postPromotion?: { state?: string; reason?: string } };

/** Lets virtual time pass, with real time in between for requests to be answered, until the status is as wanted. */
async function until(what: string, holds: (status: Status) => boolean): Promise<Status> {
  for (let count = 0; count < 3000; count += 1) {
    const status = statusOf(await bed.canary()) as Status;
    if (holds(status)) return status;
    clock.advance(200);
    await sleep(4);
  }
  throw new Error(`${what}: not seen; there is ${JSON.stringify(statusOf(await bed.canary()))}`);
}

const ended = (phase: string) => (status: Status) => status.phase === phase && status.run === undefined;

/** v1 is initialized under these webhooks, then v2 is committed. */
async function release(
  types: readonly string[],
  {
    after = [],
    timeout = '1s',
    ...spec
  }: { after?: readonly string[]; timeout?: string } & Record<string, unknown> = {},
): Promise<App> {
  const hook = (type: string) => ({ name: type, type, url: hooks.url(type), timeout });
  const postPromotion = { interval: '300ms', successThreshold: 1, webhooks: after.map(hook) };
  const manifest = canary({ spec: { postPromotion, ...spec }, analysis: { webhooks: types.map(hook) } });
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': manifest });
  await createSource(bed);
  const app = await bed.start();
  await until('v1 initialized', ended('Initialized'));
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  return app;
}

test('a release passes every type in order, and receivers see what Flagger would send', async () => {
  const types = ['confirm-rollout', 'pre-rollout', 'rollout', 'confirm-promotion', 'post-rollout', 'event'];
  await release(types, { after: ['post-promotion'] });
  await until('v2 promoted', ended('Succeeded'));
  await until('post-rollout told', (status) => JSON.stringify(status.history ?? []).includes('Passed'));
  expect(hooks.seen('confirm-rollout')).toMatchObject([
    { phase: 'Initialized', name: 'web', namespace: 'shop' },
  ]);
  expect(hooks.seen('pre-rollout')).toMatchObject([{ phase: 'Progressing', type: 'pre-rollout' }]);
  expect(hooks.seen('rollout').length).toBeGreaterThanOrEqual(2);
  expect(hooks.seen('confirm-promotion')).toMatchObject([{ phase: 'Progressing' }]);
  expect(hooks.seen('post-promotion')).toMatchObject([{ phase: 'Finalising' }]);
  expect(hooks.seen('post-rollout')).toMatchObject([{ phase: 'Succeeded' }]);
  const reasons = () => hooks.seen('event').map(({ metadata }) => metadata?.eventReason);
  // Events are sent beside the rollout, and may arrive after its end.
  const expected = ['Initialized', 'NewRevision', 'Promoting', 'Succeeded'];
  await until('each event', () => expected.every((reason) => reasons().includes(reason)));
  const sums = new Set(
    [...hooks.seen('rollout'), ...hooks.seen('post-rollout')].map(({ checksum }) => checksum),
  );
  expect(sums.size).toBe(1);
});

test('a closed gate is asked at every interval and causes no request to the API server (S29)', async () => {
  hooks.answer('confirm-rollout', 403);
  await release(['confirm-rollout']);
  await until('waiting', (status) => status.phase === 'Waiting');
  await until('quiet', () => hooks.seen('confirm-rollout').length > 3);
  bed.sandbox.requests.clear();
  const before = hooks.seen('confirm-rollout').length;
  await until('asked again', () => hooks.seen('confirm-rollout').length >= before + 30);
  expect(bed.sandbox.requests.all().filter(isNotIdle)).toEqual([]);
  expect(imageOf(await bed.get('apps/v1', 'Deployment', 'web'))).toBe('shop/web:1');
  hooks.answer('confirm-rollout', 200);
  await until('v2 promoted', ended('Succeeded'));
  expect(await primaryImage(bed)).toBe('shop/web:2');
});

test('a closed gate is asked once per interval also where its answer comes while the cluster is looked at', async () => {
  hooks.answer('confirm-rollout', 403);
  await release(['confirm-rollout']);
  await until('waiting', (status) => status.phase === 'Waiting');
  const { record } = statusOf(await bed.canary()).lastKnownGood as { record: string };
  const path = `/api/v1/namespaces/shop/secrets/${record}`;
  bed.sandbox.fault((request) =>
    request.method === 'GET' && request.path === path ? { until: sleep(30) } : undefined,
  );
  hooks.answer('confirm-rollout', () => sleep(15, 403));
  const [sinceMs, before] = [clock.nowMs(), hooks.seen('confirm-rollout').length];
  for (let count = 1; count <= 40; count += 1) {
    // A record that somebody touched is read again.
    const change = { metadata: { annotations: { count: `${count}` } } };
    await bed.send('PATCH', path, change);
    clock.advance(200);
    await sleep(10);
  }
  const asked = hooks.seen('confirm-rollout').length - before;
  expect(asked).toBeLessThanOrEqual((clock.nowMs() - sinceMs) / 1_000 + 1);
});

test.each(['silent', 'broken', 302, 204] as const)(
  'a gate that is %s keeps what serves',
  async (behaviour) => {
    hooks.answer('confirm-promotion', behaviour);
    await release(['confirm-promotion']);
    await until('waiting for promotion', (status) => status.phase === 'WaitingPromotion');
    expect(await primaryImage(bed)).toBe('shop/web:1');
    hooks.answer('confirm-promotion', 200);
    await until('v2 promoted', ended('Succeeded'));
  },
);

test('an approval by annotation opens Waiting and WaitingPromotion, each by a request of its own', async () => {
  hooks.answer('confirm-rollout', 403);
  hooks.answer('confirm-promotion', 403);
  await release(['confirm-rollout', 'confirm-promotion']);
  const approve = async (token: string) => {
    const { run } = statusOf(await bed.canary()) as { run: { digest: string } };
    await bed.send('PATCH', '/apis/flagger.app/v1beta1/namespaces/shop/canaries/web', {
      metadata: { annotations: { 'holdfast.dev/approve': `${run.digest}@${token}` } },
    });
  };
  await until('waiting', (status) => status.phase === 'Waiting');
  await approve('1');
  await until('waiting for promotion', (status) => status.phase === 'WaitingPromotion');
  expect(await primaryImage(bed)).toBe('shop/web:1');
  await approve('2');
  await until('v2 promoted', ended('Succeeded'));
});

test('a webhook that takes long keeps no copy that ends from releasing its Lease', async () => {
  hooks.answer('rollout', 'silent');
  const app = await release(['rollout'], { timeout: '20s' });
  await until('asked', () => hooks.seen('rollout').length > 0);
  const beganMs = performance.now();
  await app.drain();
  expect(performance.now() - beganMs).toBeLessThan(10_000);
  const lease = await bed.get('coordination.k8s.io/v1', 'Lease', 'holdfast', 'default');
  expect(lease).toMatchObject({ spec: { holderIdentity: '' } });
});

test('a second copy that takes over repeats neither pre-rollout nor post-rollout', async () => {
  hooks.answer('confirm-promotion', 403);
  const first = await release(['pre-rollout', 'confirm-promotion', 'post-rollout']);
  await until('waiting for promotion', (status) => status.phase === 'WaitingPromotion');
  await first.drain();
  const second = await bed.start();
  hooks.answer('confirm-promotion', 200);
  await until('v2 promoted', ended('Succeeded'));
  await until('post-rollout told', (status) => JSON.stringify(status.history ?? []).includes('Passed'));
  await second.drain();
  await bed.start();
  const before = clock.nowMs();
  await until('some time passed', () => clock.nowMs() - before > 30_000);
  expect(hooks.seen('pre-rollout')).toHaveLength(1);
  expect(hooks.seen('post-rollout')).toHaveLength(1);
});
