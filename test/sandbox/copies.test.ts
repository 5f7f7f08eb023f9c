import { createHmac } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  canary,
  condition,
  createSource,
  deployment,
  eventually,
  primaryImage,
  runUntilInitialized,
  statusOf,
  untilIdle,
  waitForPhase,
} from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

test('a second copy does nothing until the first one hands the Lease back, then it carries on', async () => {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  await createSource(bed);
  const first = await bed.start();
  await first.leading;
  const second = await bed.start();
  await waitForPhase(bed, 'Initialized');
  const answer = await fetch(`${second.url}/readyz`);
  expect(await answer.text()).toContain('waiting for the Lease held by');
  expect(answer.status).toBe(200);
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Progressing');
  await first.drain();
  await waitForPhase(bed, 'Succeeded');
  expect(await primaryImage(bed)).toBe('shop/web:2');
});

test('a restarted copy writes nothing when everything is as it was', async () => {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  const first = await runUntilInitialized(bed);
  await eventually('it is Ready', async () => condition(await bed.canary(), 'Ready')?.status === 'True');
  await first.drain();
  const before = await bed.canary();
  const second = await bed.start();
  await second.leading;
  await eventually('the copy is ready', async () => (await fetch(`${second.url}/readyz`)).status === 200);
  await untilIdle(bed, 40_000);
  expect((await bed.canary())?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion);
});

test('a signed push webhook wakes the Source, an unsigned one does not', async () => {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  const data = { webhookSecret: Buffer.from('s3cret').toString('base64') };
  await bed.send('POST', '/api/v1/namespaces/shop/secrets', {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'hook', namespace: 'shop' },
    data,
  });
  const app = await runUntilInitialized(bed, { interval: '1h', secretRef: { name: 'hook' } });
  const v2 = await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  const body = '{"ref":"refs/heads/main"}';
  const post = (signature: string) =>
    fetch(`${app.url}/hooks/shop/shop`, { method: 'POST', body, headers: { 'x-signature': signature } });
  expect((await post('00'.repeat(32))).status).toBe(401);
  expect((await post(createHmac('sha256', 's3cret').update(body).digest('hex'))).status).toBe(202);
  await eventually(
    'head is v2',
    async () => (statusOf(await bed.source()).head as { commit?: string }).commit === v2,
  );
});

test('a push webhook that comes before a new leader has read the Sources is to come again', async () => {
  const data = { webhookSecret: Buffer.from('s3cret').toString('base64') };
  const metadata = { name: 'hook', namespace: 'shop' };
  await bed.send('POST', '/api/v1/namespaces/shop/secrets', {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata,
    data,
  });
  await createSource(bed, { interval: '1h', secretRef: { name: 'hook' } });
  let answer = () => {};
  const until = new Promise<void>((resolve) => {
    answer = resolve;
  });
  bed.sandbox.fault(({ method, path }) =>
    method === 'GET' && path.endsWith('/sources') ? { until } : undefined,
  );
  const app = await bed.start();
  await app.leading;
  const headers = { 'x-signature': createHmac('sha256', 's3cret').update('{}').digest('hex') };
  const push = (source: string) =>
    fetch(`${app.url}/hooks/shop/${source}`, { method: 'POST', body: '{}', headers });

  const early = await push('shop');
  answer();
  await eventually('it is accepted', async () => (await push('shop')).status === 202);

  expect([early.status, early.headers.get('retry-after')]).toEqual([503, '5']);
  expect((await push('unknown')).status).toBe(401);
});

test('metrics carry the names of Flagger', async () => {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  const app = await runUntilInitialized(bed);
  const text = await (await fetch(`${app.url}/metrics`)).text();
  expect(text).toContain('flagger_canary_total{namespace="shop"} 1');
  expect(text).toContain('flagger_canary_weight{workload="web-primary",namespace="shop"} 100');
  expect(text).toContain('holdfast_leading 1');
  expect(text).toMatch(/flagger_canary_status\{name="web",namespace="shop"\} 1/);
});

test('the port of the probes answers while every connection of the other one is in use', async () => {
  const app = await bed.start({ probeListen: { host: '127.0.0.1', port: 0 } });
  const sockets = Array.from({ length: 8 }, (_, index) =>
    Array.from({ length: 64 }, () => announceBody(app.url, `127.0.0.${index + 1}`)),
  ).flat();
  await eventually('the web port is full', async () => (await healthOf(app.url)) === undefined);
  expect(await healthOf(app.probeUrl)).toBe(200);
  expect((await fetch(`${app.probeUrl}/metrics`)).status).toBe(404);
  for (const socket of sockets) socket.destroy();
});

/** A request whose body never comes. */
function announceBody(url: string, localAddress: string): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), localAddress });
  socket.on('error', () => undefined);
  socket.write('POST /gate/check HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n');
  return socket;
}

async function healthOf(url: string | undefined): Promise<number | undefined> {
  const answer = await fetch(`${url}/healthz`).catch(() => undefined);
  return answer?.status;
}
