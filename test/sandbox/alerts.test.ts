import { afterEach, beforeEach, expect, test } from 'vitest';
import type { CanaryStatus } from '../../src/api/canary/status.ts';
import { startTestServer, type TestServer } from '../../src/http/testing/servers.ts';
import {
  canary,
  condition,
  createSource,
  deployment,
  eventually,
  failPrimary,
  runUntilInitialized,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

/** What one receiver was told, in order. */
interface Told {
  readonly to: string;
  readonly outcome: string;
  readonly reason: string;
  readonly text: string;
}

let bed: QuickBed;
let server: TestServer;
let told: Told[];
let isUp: boolean;

beforeEach(async () => {
  bed = await startQuickBed();
  told = [];
  isUp = true;
  server = await startTestServer(async (request, response) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk as Uint8Array);
    if (!isUp) return void response.writeHead(503).end();
    const body = JSON.parse(Buffer.concat(chunks).toString());
    // Alertmanager gets a list, here of what has ended.
    const { outcome, reason, text } = (Array.isArray(body) ? body[0].annotations : body) as Told;
    told.push({ to: (request.url ?? '').slice(1), outcome, reason, text });
    response.end('{}');
  });
});

afterEach(async () => {
  await bed.close();
  await server.close();
});

const severities = { everything: '', infos: 'info', warnings: 'warn', errors: 'error' };

/** One AlertProvider per severity; the last one has its address in a Secret. */
async function createReceivers(): Promise<void> {
  const path = '/apis/flagger.app/v1beta1/namespaces/shop/alertproviders';
  for (const name of Object.keys(severities)) {
    const spec =
      name === 'errors'
        ? { type: 'webhook', secretRef: { name: 'pager' } }
        : { type: 'webhook', address: `${server.url}/${name}` };
    const object = { apiVersion: 'flagger.app/v1beta1', kind: 'AlertProvider', metadata: { name }, spec };
    expect((await bed.send('POST', path, object)).status).toBe(201);
  }
  await bed.send('POST', '/api/v1/namespaces/shop/secrets', {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'pager' },
    data: { address: Buffer.from(`${server.url}/errors`).toString('base64') },
  });
}

const alerts = Object.entries(severities).map(([name, severity]) => ({
  name,
  severity,
  providerRef: { name },
}));

async function startFirstRelease() {
  await createReceivers();
  const postPromotion = { interval: '300ms', successThreshold: 1, onFailure: 'revert' };
  await bed.commit('first', {
    'web.json': deployment('shop/web:1'),
    'canary.json': canary({ analysis: { alerts }, spec: { postPromotion } }),
  });
  const app = await runUntilInitialized(bed);
  return app;
}

async function allAnswered(refused?: string): Promise<boolean> {
  const { incidents = [] } = statusOf(await bed.canary()) as CanaryStatus;
  const states = incidents.flatMap(({ alerts = [] }) => alerts);
  return (
    states.length > 0 && states.every(({ name, state }) => state === (name === refused ? 'failed' : 'sent'))
  );
}

function of(outcome: string): string[] {
  return told
    .filter((one) => one.outcome === outcome)
    .map(({ to }) => to)
    .sort();
}

test('a revert tells every alert of its severity once, a restart nobody again, and a deletion those that fire', async () => {
  const app = await startFirstRelease();
  failPrimary(bed, 'shop/web:2');
  const bad = await bed.commit('bad one', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Failed');
  await eventually('every alert is answered', allAnswered);
  expect(of('Reverted')).toEqual(['errors', 'everything', 'infos', 'warnings']);
  expect(of('Initialized')).toEqual(['everything', 'infos']);
  expect(of('Started')).toEqual(['everything', 'infos']);
  const text = told.find(({ outcome }) => outcome === 'Reverted')?.text ?? '';
  expect(text).toContain(`Commit: ${bad.slice(0, 7)} "bad one" by `);
  expect(text).toMatch(/Serving: web-primary with [0-9a-f]{7} "first", 100 %, 2 pods ready/);
  expect(text).toContain('ImagePullBackOff');
  expect(text).toContain(`You can run: git revert --no-edit ${bad.slice(0, 12)} && git push`);

  const before = told.length;
  await app.drain();
  await bed.start();
  await bed.commit('unrelated', { 'notes.txt': 'x' });
  await eventually('the new process has read Git', async () => {
    const { head } = statusOf(await bed.source()) as { head?: { subject?: string } };
    return head?.subject === 'unrelated';
  });
  await bed.pass(30_000);
  expect(told).toHaveLength(before);

  // Its alerts would fire for a day.
  const name = 'infos';
  await bed.send('PATCH', `/apis/flagger.app/v1beta1/namespaces/shop/alertproviders/${name}`, {
    spec: { type: 'alertmanager' },
  });
  await bed.send('PATCH', '/apis/holdfast.dev/v1alpha1/namespaces/shop/sources/shop', {
    spec: { suspend: true },
  });
  await bed.pass(5_000);
  await bed.send('DELETE', '/apis/flagger.app/v1beta1/namespaces/shop/canaries/web');
  await eventually('its end is told', async () => told.length > before, { seen: async () => told });
  await bed.pass(5_000);
  expect(told.slice(before)).toMatchObject([{ to: 'infos/api/v2/alerts', reason: 'Deleted' }]);
});

test('a write that is refused for a minute tells every alert of its severity once, and not one that ends sooner', async () => {
  await startFirstRelease();
  const service = '/api/v1/namespaces/shop/services/web-canary';
  const refuse = () =>
    bed.sandbox.fault(({ method, path }) =>
      method === 'PATCH' && path === service
        ? { code: 403, reason: 'Forbidden', message: 'admission webhook "policy" denied the request' }
        : undefined,
    );
  const stalled = async () => condition(await bed.canary(), 'Stalled');
  const untilStalled = (status: string) =>
    eventually(`Stalled is ${status}`, async () => (await stalled())?.status === status, { seen: stalled });
  const allowSoon = refuse();
  await bed.send('DELETE', service);
  await untilStalled('True');
  await bed.pass(10_000);
  allowSoon();
  await untilStalled('False');
  expect(of('Stopped')).toEqual([]);

  const allow = refuse();
  await bed.send('DELETE', service);
  await eventually('told', async () => of('Stopped').length > 0 && (await allAnswered()));
  await bed.pass(300_000);

  expect(of('Stopped')).toEqual(['everything', 'infos', 'warnings']);
  const { reason, text } = told.find(({ outcome }) => outcome === 'Stopped') ?? {};
  expect([reason, text]).toEqual(['Forbidden', expect.stringContaining('admission webhook "policy" denied')]);
  allow();
  await untilStalled('False');
});

test('a webhook that is away is told after ten minutes and not before, once also if another copy takes over', async () => {
  const app = await startFirstRelease();
  // Ten minutes of polls cost more than all else here.
  await bed.send('PATCH', '/apis/holdfast.dev/v1alpha1/namespaces/shop/sources/shop', {
    spec: { interval: '10m' },
  });
  const service = '/api/v1/namespaces/shop/services/web-canary';
  const message = 'Internal error occurred: failed calling webhook "policy": connection refused';
  const comesBack = bed.sandbox.fault(({ method, path }) =>
    method === 'PATCH' && path === service ? { code: 500, reason: 'InternalError', message } : undefined,
  );
  const found = async (type: string) => condition(await bed.canary(), type);
  await bed.send('DELETE', service);
  await bed.pass(540_000);
  expect((await found('Ready'))?.message).toContain('failed calling webhook "policy"');
  expect((await found('Stalled'))?.status).toBe('False');

  await eventually('told', async () => of('Stopped').length > 0 && (await allAnswered()));

  const stalled = await found('Stalled');
  await app.drain();
  await bed.start();
  await bed.pass(60_000);

  expect(await found('Stalled')).toEqual(stalled);
  expect(of('Stopped')).toEqual(['everything', 'infos', 'warnings']);
  comesBack();
  await eventually('it is over', async () => (await found('Stalled'))?.status === 'False');
});

test('the next release that is stopped by the same refusal is told, too, and each of them once', async () => {
  await startFirstRelease();
  const primary = '/apis/apps/v1/namespaces/shop/deployments/web-primary';
  bed.sandbox.fault(({ method, path }) =>
    method === 'PATCH' && path === primary ? { code: 403, reason: 'Forbidden', message: 'quota' } : undefined,
  );
  const stopped = async () => {
    const { incidents = [] } = statusOf(await bed.canary()) as CanaryStatus;
    return incidents.filter(({ outcome }) => outcome === 'Stopped').map(({ commit }) => commit);
  };
  const second = await bed.commit('second', { 'web.json': deployment('shop/web:2') });
  await eventually('the second is told', async () => (await stopped()).includes(second));

  const third = await bed.commit('third', { 'web.json': deployment('shop/web:3') });
  await eventually('the third is told', async () => (await stopped()).includes(third), { seen: stopped });
  await bed.pass(300_000);

  expect(await stopped()).toEqual([third, second]);
  await eventually('the alerts are answered', allAnswered);
  expect(of('Stopped')).toEqual(['everything', 'everything', 'infos', 'infos', 'warnings', 'warnings']);
});

test('a target that cannot be rolled out tells every alert of its severity once, also across a restart', async () => {
  await createReceivers();
  const target = JSON.parse(deployment('shop/web:1'));
  target.spec.selector.matchLabels = { role: 'web' };
  target.spec.template.metadata.labels = { role: 'web' };
  await bed.commit('first', {
    'web.json': JSON.stringify(target),
    'canary.json': canary({ analysis: { alerts } }),
  });
  await createSource(bed);
  const app = await bed.start();

  await eventually('told', async () => of('Stopped').length > 0 && (await allAnswered()));
  await app.drain();
  await bed.start();
  await bed.pass(300_000);

  expect(of('Stopped')).toEqual(['everything', 'infos', 'warnings']);
  expect(told.at(0)).toMatchObject({ reason: 'TargetInvalid' });
});

test('a Canary whose spec never was valid tells every alert of its severity once, and no receiver of another namespace', async () => {
  await createReceivers();
  const provider = { type: 'webhook', address: `${server.url}/theirs` };
  const path = '/apis/flagger.app/v1beta1/namespaces/ops/alertproviders';
  const object = { apiVersion: 'flagger.app/v1beta1', kind: 'AlertProvider', metadata: { name: 'theirs' } };
  await bed.send('POST', '/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'ops' },
  });
  expect((await bed.send('POST', path, { ...object, spec: provider })).status).toBe(201);
  const theirs = { name: 'theirs', providerRef: { name: 'theirs', namespace: 'ops' } };
  await bed.commit('first', {
    'web.json': deployment('shop/web:1'),
    'canary.json': canary({ analysis: { alerts: [...alerts, theirs] } }),
  });
  await createSource(bed);
  const app = await bed.start();

  await eventually('told', async () => of('Stopped').length > 0 && (await allAnswered('theirs')));
  await app.drain();
  await bed.start();
  await bed.pass(300_000);

  expect(of('Stopped')).toEqual(['everything', 'infos', 'warnings']);
  expect(told.at(0)).toMatchObject({ reason: 'InvalidSpec' });
});

test('a receiver that is down when the program ends gets the alert from the next process', async () => {
  const app = await startFirstRelease();
  await eventually('the first alerts are answered', allAnswered);
  isUp = false;
  failPrimary(bed, 'shop/web:2');
  await bed.commit('bad one', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Failed');
  await app.drain();
  expect(of('Reverted')).toEqual([]);
  isUp = true;
  await bed.start();
  await eventually('the alerts are answered', allAnswered);
  expect(of('Reverted')).toEqual(['errors', 'everything', 'infos', 'warnings']);
});

test('a Canary that names nobody tells the receiver and the event webhook of the flags', async () => {
  await bed.commit('first', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  await runUntilInitialized(
    bed,
    {},
    {
      defaultReceiver: { spec: { type: 'webhook', address: `${server.url}/default` }, token: undefined },
      eventWebhook: `${server.url}/events`,
    },
  );
  await eventually('told', async () => of('Initialized').length > 0 && (await allAnswered()));
  expect(of('Initialized')).toEqual(['default']);
  await eventually('events', async () => told.some(({ to }) => to === 'events'));
});
