import { afterEach, beforeEach, expect, test } from 'vitest';
import type { SourceStatus } from '../../src/api/source/source.ts';
import { startTestServer, type TestServer } from '../../src/http/testing/servers.ts';
import { configMap, createSource, eventually, notesOf, statusOf } from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

/** What a receiver was told, in order. */
interface Told {
  readonly to: string;
  readonly reason: string;
  readonly severity: string;
  readonly source: unknown;
  readonly text: string;
}

let bed: QuickBed;
let server: TestServer;
let told: Told[];

beforeEach(async () => {
  bed = await startQuickBed();
  told = [];
  server = await startTestServer(async (request, response) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk as Uint8Array);
    told.push({ ...JSON.parse(Buffer.concat(chunks).toString()), to: (request.url ?? '').slice(1) });
    response.statusCode = request.url === '/refused' ? 404 : 200;
    response.end('{}');
  });
  for (const name of ['all', 'pager']) {
    const spec = { type: 'webhook', address: `${server.url}/${name}` };
    const object = { apiVersion: 'flagger.app/v1beta1', kind: 'AlertProvider', metadata: { name }, spec };
    await bed.send('POST', '/apis/flagger.app/v1beta1/namespaces/shop/alertproviders', object);
  }
});
afterEach(async () => {
  await bed.close();
  await server.close();
});

const alerts = [
  { name: 'all', providerRef: { name: 'all' } },
  { name: 'pager', severity: 'error', providerRef: { name: 'pager' } },
];

const status = async () => statusOf(await bed.source()) as SourceStatus;

function untilTold(count: number): Promise<unknown> {
  return eventually(`${count} alerts`, async () => told.length >= count, {
    seen: async () => [told, await status()],
  });
}

async function annotate(annotations: Record<string, string>): Promise<void> {
  const path = '/apis/holdfast.dev/v1alpha1/namespaces/shop/sources/shop';
  await bed.send('PATCH', path, { metadata: { annotations } });
}

test('what cannot be rendered or applied is told once, also across a restart, and that it is over', async () => {
  await bed.commit('broken', { 'a.json': '{"apiVersion": "v1",' });
  await createSource(bed, { alerts });
  const first = await bed.start();
  await untilTold(2);
  expect(told.map(({ to }) => to).sort()).toEqual(['all', 'pager']);
  expect(told[0]).toMatchObject({
    reason: 'InvalidManifests',
    severity: 'error',
    source: { namespace: 'shop', name: 'shop' },
    text: expect.stringMatching(/a\.json:\d/),
  });
  await first.drain();
  await bed.start();
  await bed.commit('still broken', { 'b.json': configMap('b') });
  await eventually('b is applied', async () => bed.get('v1', 'ConfigMap', 'b'));
  await bed.commit('not allowed', { 'a.json': configMap('a', {}, { namespace: 'kube-system' }) });
  await untilTold(4);
  await bed.commit('mended', { 'a.json': configMap('a') });
  await untilTold(5);
  const reasons = told.filter(({ to }) => to === 'all').map(({ reason }) => reason);
  expect(reasons).toEqual(['InvalidManifests', 'NotAllowed', 'Applied']);
  expect(told).toHaveLength(5);
  expect((await status()).problem).toBeUndefined();
});

test('while the installed CRD drops what people were told, they are told about the CRD, and nothing again and again', async () => {
  const { store } = bed.sandbox;
  const { put } = store;
  store.put = (key, { ...sent }) => {
    const { problem: _, ...kept } = (sent.status ?? {}) as SourceStatus;
    return put(key, sent.kind === 'Source' ? { ...sent, status: kept } : sent);
  };
  await bed.commit('broken', { 'a.json': '{"apiVersion": "v1",' });
  await createSource(bed, { alerts });
  await bed.start();
  const notes = () => notesOf(bed, 'SchemaOutdated');
  await eventually('it is told', async () => notes().length > 0, {
    seen: async () => [told, await status()],
  });

  await bed.pass(60_000);

  expect([told, notes()]).toEqual([[], [expect.stringContaining('(problem)')]]);
  Object.assign(store, { put });
  await untilTold(2);
});

test('a Git server that is away is told when that lasts', async () => {
  await bed.commit('first', { 'a.json': configMap('a') });
  await createSource(bed, { alerts });
  await bed.start();
  await eventually('it is applied', async () => (await status()).appliedCommit);
  await bed.git.close();
  await bed.pass(20_000);
  expect(told).toEqual([]);
  await untilTold(2);
  expect(told[0]).toMatchObject({ reason: 'Unreachable', text: expect.stringContaining('stays') });
});

test('requests are answered in the status; an approval of what does not wait is refused', async () => {
  const commit = await bed.commit('first', { 'a.json': configMap('a') });
  await createSource(bed);
  await bed.start();
  await eventually('it is applied', async () => (await status()).appliedCommit);
  await annotate({ 'holdfast.dev/sync': 'now@1', 'holdfast.dev/approve': 'f'.repeat(40) });
  await eventually('both are handled', async () => (await status()).handled?.approve === 'f'.repeat(40));
  expect(await status()).toMatchObject({
    handled: { sync: 'now@1' },
    answers: { sync: { result: 'Done' }, approve: { result: 'Refused', reason: 'Stale' } },
  });
  await annotate({ 'holdfast.dev/approve': `${commit}@2` });
  await eventually('it is answered', async () => (await status()).answers?.approve?.result === 'Done');
});

test('an alert that a receiver refuses is an event of the Source', async () => {
  const spec = { type: 'webhook', address: `${server.url}/refused` };
  const object = {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'AlertProvider',
    metadata: { name: 'refused' },
    spec,
  };
  await bed.send('POST', '/apis/flagger.app/v1beta1/namespaces/shop/alertproviders', object);
  await bed.commit('broken', { 'a.json': '{"apiVersion": "v1",' });

  await createSource(bed, { alerts: [{ name: 'chat', providerRef: { name: 'refused' } }] });
  await bed.start();

  const said = () => notesOf(bed, 'AlertNotSent');
  await eventually('it is an event', async () => said().length > 0);
  expect(said()).toEqual([expect.stringContaining('alert chat (InvalidManifests) could not be sent')]);
});

test('the receiver of another namespace hears nothing, not even that the Source may not name it', async () => {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'ops' } };
  await bed.send('POST', '/api/v1/namespaces', namespace);
  const spec = { type: 'webhook', address: `${server.url}/theirs` };
  const object = { apiVersion: 'flagger.app/v1beta1', kind: 'AlertProvider', metadata: { name: 'theirs' } };
  const path = '/apis/flagger.app/v1beta1/namespaces/ops/alertproviders';
  expect((await bed.send('POST', path, { ...object, spec })).status).toBe(201);
  const theirs = { name: 'theirs', providerRef: { name: 'theirs', namespace: 'ops' } };
  await bed.commit('first', { 'a.json': configMap('a') });
  await createSource(bed, { alerts: [...alerts, theirs] });

  await bed.start();
  await untilTold(2);
  await eventually('it is said', async () => notesOf(bed, 'AlertNotSent').length > 0);

  expect(told.map(({ to, reason }) => `${to} ${reason}`).sort()).toEqual([
    'all InvalidSpec',
    'pager InvalidSpec',
  ]);
  expect(notesOf(bed, 'AlertNotSent')).toEqual([expect.stringContaining('--cross-namespace-refs')]);
});
