import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Canary } from '../../src/api/canary/canary.ts';
import type { CanaryStatus } from '../../src/api/canary/status.ts';
import { startTestServer, type TestServer } from '../../src/http/testing/servers.ts';
import { flaggerFields } from '../documents/flagger-fields.ts';
import { type Bed, condition, createSource, eventually, startBed } from './holdfast-bed.ts';

let bed: Bed;
let world: TestServer;
let called: string[];

beforeEach(async () => {
  bed = await startBed();
  called = [];
  world = await startTestServer(async (request, response) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk as Uint8Array);
    const path = request.url ?? '/';
    called.push(path.split('?')[0] ?? '/');
    const body = Buffer.concat(chunks).toString();
    if (path.startsWith('/prometheus/')) return void response.end(reading(`${path.split('?')[1]}&${body}`));
    response.writeHead(path === '/rollback/check' ? 403 : 200).end('ok');
  });
  await bed.send('POST', '/api/v1/namespaces', object('v1', 'Namespace', 'test'));
  for (const [name, data] of Object.entries({
    prometheus: { username: 'reader', password: 'secret' },
    slack: { address: `${world.url}/slack`, token: 'xoxb' },
  }))
    await bed.send('POST', '/api/v1/namespaces/test/secrets', {
      ...object('v1', 'Secret', name),
      data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, encoded(value)])),
    });
});
afterEach(async () => {
  await bed.close();
  await world.close();
});

const encoded = (text: string) => Buffer.from(text).toString('base64');

function object(apiVersion: string, kind: string, name: string) {
  return { apiVersion, kind, metadata: { name } };
}

/** Prometheus that sees a good service: latencies and errors are small, success is not. */
function reading(form: string): string {
  const query = new URLSearchParams(form).get('query') ?? '';
  const value = /histogram_quantile|errors_total/.test(query) ? '0.05' : '99.9';
  return JSON.stringify({
    status: 'success',
    data: { resultType: 'vector', result: [{ metric: {}, value: [Date.now() / 1000, value] }] },
  });
}

/** The documents with the addresses of this test, as the files of a commit. */
function files(version: string): Record<string, string> {
  const change = (text: string) =>
    text
      .replaceAll('http://flagger-loadtester.test', world.url)
      .replaceAll('http://prometheus.monitoring:9090', `${world.url}/prometheus`)
      .replaceAll('interval: 10s', 'interval: 1s')
      .replaceAll(/(image: .*):1/g, `$1:${version}`);
  const objects = flaggerFields(undefined, change);
  return { 'all.json': JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }) };
}

const running = flaggerFields('running.yaml').map(({ metadata }) => metadata.name);
const waiting = flaggerFields('waiting.yaml').map(({ metadata }) => metadata.name);

async function canaries(): Promise<Canary[]> {
  const { body } = await bed.send('GET', '/apis/flagger.app/v1beta1/namespaces/test/canaries');
  return (body as { items: Canary[] }).items;
}

async function statuses(): Promise<Record<string, CanaryStatus>> {
  const all = await canaries();
  return Object.fromEntries(all.map(({ metadata, status }) => [metadata.name, status ?? {}]));
}

/** Until every Canary that can be rolled out is in this phase. */
function allIn(phase: string): Promise<unknown> {
  const look = async () => {
    const found = await statuses();
    return running.every((name) => found[name]?.phase === phase);
  };
  const seen = async () => {
    const ready = (await canaries()).map((one) => [
      one.metadata.name,
      one.status?.phase,
      condition(one, 'Ready')?.message,
      one.status?.incidents?.[0]?.finding,
    ]);
    return { canaries: ready, source: condition(await bed.source(), 'Ready') };
  };
  return eventually(`all ${phase}`, look, { seen });
}

test('every Canary that this version acts on is rolled out, and every other says which field it waits for', async () => {
  await bed.commit('v1', files('1'));
  await createSource(bed);
  await bed.start({ metricsServer: `${world.url}/prometheus`, trustedSourceNamespaces: ['shop'] });
  await allIn('Initialized');
  await bed.commit('v2', files('2'));
  await allIn('Succeeded');

  for (const path of ['/', '/gate/check', '/rollback/check', '/events', '/discord/slack', '/slack', '/gchat'])
    expect(called, path).toContain(path);
  for (const path of ['/msteams', '/rocket']) expect(called, path).not.toContain(path);
  const hpa = await bed.send(
    'GET',
    '/apis/autoscaling/v2/namespaces/test/horizontalpodautoscalers/stock-primary',
  );
  expect(hpa.body).toMatchObject({ spec: { minReplicas: 2, maxReplicas: 5 } });

  const all = await canaries();
  const stuck = waiting.flatMap((name) => {
    const canary = all.find(({ metadata }) => metadata.name === name);
    const { reason = '', message = '' } = condition(canary, 'Ready') ?? {};
    const isSaid = /(InvalidSpec|WatchFailed)/.test(reason) && message !== '';
    return isSaid ? [] : [`${name}: ${reason} ${message}`];
  });
  expect(stuck).toEqual([]);
});
