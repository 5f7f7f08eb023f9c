import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { App } from '../../src/server/app.ts';
import {
  canary,
  deployment,
  eventually,
  isNotIdle,
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

const secret = 's3cret';
const body = '{"ref":"refs/heads/main"}';

function signature(key = secret): Record<string, string> {
  return { 'x-signature': createHmac('sha256', key).update(body).digest('hex') };
}

/** Sends so many requests, some at a time, and counts the answers by status. */
async function flood(url: string, requests: number, init: RequestInit): Promise<Map<number, number>> {
  const answers = new Map<number, number>();
  for (let sent = 0; sent < requests; sent += 16) {
    const round = Array.from({ length: Math.min(16, requests - sent) }, async () => {
      const answer = await fetch(url, { method: 'POST', ...init });
      await answer.arrayBuffer();
      answers.set(answer.status, (answers.get(answer.status) ?? 0) + 1);
    });
    await Promise.all(round);
  }
  return answers;
}

/** What the API server was asked for, watches and the Lease left out. */
function asked(): string[] {
  return bed.sandbox.requests
    .all()
    .filter(isNotIdle)
    .map(({ method, path }) => `${method} ${path}`);
}

async function putSecret(value: string): Promise<void> {
  const metadata = { name: 'hook', namespace: 'shop' };
  const data = { webhookSecret: Buffer.from(value).toString('base64') };
  const object = { apiVersion: 'v1', kind: 'Secret', metadata, data };
  const path = '/api/v1/namespaces/shop/secrets';
  const { status } = await bed.send('PUT', `${path}/hook`, object);
  if (status === 404) await bed.send('POST', path, object);
}

/** A Source that polls once an hour, at rest. */
async function start(): Promise<App> {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  await putSecret(secret);
  const app = await runUntilInitialized(bed, { interval: '1h', secretRef: { name: 'hook' } });
  await eventually('nothing is asked any more', async () => {
    bed.sandbox.requests.clear();
    await bed.pass(20_000);
    return asked().length === 0;
  });
  return app;
}

test('webhooks of Sources that do not exist, or without a signature, cost the API server nothing', async () => {
  const app = await start();
  const unknown = await flood(`${app.url}/hooks/shop/other`, 240, { body, headers: signature() });
  const unsigned = await flood(`${app.url}/hooks/shop/shop`, 240, { body });
  expect([...unknown, ...unsigned]).toEqual([
    [401, 240],
    [401, 240],
  ]);
  expect(asked()).toEqual([]);
});

test('1,200 webhooks with a wrong signature cost a few reads of the Secret, and a release and a push go on meanwhile', async () => {
  const app = await start();
  const url = `${app.url}/hooks/shop/shop`;
  const flooding = flood(url, 1_200, { body, headers: signature('wrong') });
  const v2 = await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await eventually('the push is taken', async () => {
    const { status } = await fetch(url, { method: 'POST', body, headers: signature() });
    return status === 202;
  });
  await eventually(
    'head is v2',
    async () => (statusOf(await bed.source()).head as { commit?: string }).commit === v2,
  );
  const answers = await flooding;
  await waitForPhase(bed, 'Succeeded');
  expect(await primaryImage(bed)).toBe('shop/web:2');
  expect([...answers.keys()].filter((status) => status !== 401 && status !== 503)).toEqual([]);
  const reads = asked().filter((request) => request.startsWith('GET'));
  expect(reads.filter((request) => request.endsWith('/sources/shop'))).toEqual([]);
  // The polls of the Source read it, too.
  expect(reads.filter((request) => request.endsWith('/secrets/hook')).length).toBeLessThan(20);
});

test('a webhook secret that was changed is read again for a delivery that it fits', async () => {
  const app = await start();
  const deliver = async (key: string) =>
    (await fetch(`${app.url}/hooks/shop/shop`, { method: 'POST', body, headers: signature(key) })).status;
  expect(await deliver(secret)).toBe(202);
  await putSecret('another');
  await eventually('the new one is taken', async () => (await deliver('another')) === 202);
  expect(await deliver(secret)).toBe(401);
});

test('a copy that waits for the Lease refuses webhooks before any work', async () => {
  await start();
  const standby = await bed.start();
  await eventually('it stands by', async () => (await fetch(`${standby.url}/readyz`)).status === 200);
  bed.sandbox.requests.clear();
  const answers = await flood(`${standby.url}/hooks/shop/shop`, 120, { body, headers: signature() });
  expect([...answers]).toEqual([[503, 120]]);
  expect(asked()).toEqual([]);
});

test('gates of Canaries that do not exist cost the API server nothing, in every copy', async () => {
  const first = await start();
  const second = await bed.start();
  await eventually('it stands by', async () => (await fetch(`${second.url}/readyz`)).status === 200);
  await eventually('it knows the Canaries', async () => {
    const answer = await fetch(`${second.url}/gate/check?namespace=shop&name=web`);
    return answer.status === 403;
  });
  bed.sandbox.requests.clear();
  const other = JSON.stringify({ name: 'other', namespace: 'shop' });
  const headers = { authorization: 'Bearer some-token' };
  for (const { url } of [first, second]) {
    expect([...(await flood(`${url}/gate/check`, 120, { body: other }))]).toEqual([[403, 120]]);
    expect([...(await flood(`${url}/gate/open`, 120, { body: other }))]).toEqual([[401, 120]]);
  }
  expect(asked()).toEqual([]);
  // A token is reviewed whether there is a Canary or not, by the budget of such reviews; here everybody may switch every gate.
  const answers = await flood(`${first.url}/gate/open`, 24, { body: other, headers });
  expect([...answers.keys()].filter((status) => ![404, 503].includes(status))).toEqual([]);
});

test('an open gate is read once for all who ask at the same time', async () => {
  const app = await start();
  const annotations = { 'holdfast.dev/gate': 'open' };
  const path = '/apis/flagger.app/v1beta1/namespaces/shop/canaries/web';
  await bed.send('PATCH', path, { metadata: { annotations } });
  const web = JSON.stringify({ name: 'web', namespace: 'shop' });
  await eventually('open', async () => {
    return (await fetch(`${app.url}/gate/check`, { method: 'POST', body: web })).status === 200;
  });
  bed.sandbox.requests.clear();
  const answers = await flood(`${app.url}/gate/check`, 240, { body: web });
  expect(answers.get(200)).toBe(240);
  expect(asked().filter((request) => request === `GET ${path}`).length).toBeLessThan(120);
});
