import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Canary } from '../api/canary/canary.ts';
import { systemClock } from '../api/clock.ts';
import type { Incident } from '../api/incident.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';
import type { WatchedSet } from '../contracts/cluster.ts';
import type { AlertNews } from '../contracts/notifications.ts';
import { createHttpClient } from '../http/client.ts';
import { startTestServer, type TestServer } from '../http/testing/servers.ts';
import { createAlertsPort } from './alerts-port.ts';
import { createMetricsPort } from './metrics-port.ts';
import type { DefaultReceiver } from './options.ts';

let server: TestServer;
let seen: Array<{ path: string; author: string }>;
beforeEach(async () => {
  seen = [];
  server = await startTestServer(async (request, response) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk as Uint8Array);
    const { attachments } = JSON.parse(Buffer.concat(chunks).toString());
    seen.push({ path: request.url ?? '', author: attachments?.[0]?.author_name });
    response.end();
  });
});
afterEach(() => server.close());

const canary = { metadata: { name: 'podinfo', namespace: 'default' } } as Canary;
const incident: Incident = {
  key: 'k',
  time: '2026-11-01T08:00:00Z',
  outcome: 'Initialized',
  severity: 'info',
  reason: 'Initialized',
  message: 'it serves',
  commit: '',
  serving: [],
};

function provider(namespace: string, name: string): KubernetesObject {
  const spec = { type: 'slack', address: `${server.url}/${namespace}/${name}` };
  return { apiVersion: 'flagger.app/v1beta1', kind: 'AlertProvider', metadata: { namespace, name }, spec };
}

/** Why the API server does not list AlertProviders; undefined: it does. */
let unread: string | undefined;
afterEach(() => {
  unread = undefined;
});

async function send(alert: AlertNews['alert'], byDefault?: DefaultReceiver, crossesNamespaces = true) {
  const all = [provider('default', 'slack'), provider('ops', 'slack')];
  const providers = {
    synced: () => unread === undefined,
    problem: () => unread,
    get: (namespace: string | undefined, name: string) =>
      (unread === undefined ? all : []).find(
        ({ metadata }) => metadata.namespace === namespace && metadata.name === name,
      ),
  } as WatchedSet;
  const http = createHttpClient({ allowLoopback: true });
  const cluster = { get: async () => undefined };
  const names = { clusterName: undefined, documentation: undefined };
  const options = { http, providers, cluster, crossesNamespaces, byDefault, ...names };
  try {
    const notice = { about: canary, alert, incident };
    return await createAlertsPort(options).send(notice, new AbortController().signal);
  } finally {
    await http.close();
  }
}

test.each([
  ['of its own namespace when it names none', undefined, '/default/slack'],
  ['of its own namespace when it names the empty one', '', '/default/slack'],
  ['of the namespace that it names', 'ops', '/ops/slack'],
])(
  'an alert goes to the AlertProvider %s, signed with name and namespace of the Canary',
  async (_what, namespace, path) => {
    const providerRef = { name: 'slack', ...(namespace === undefined ? {} : { namespace }) };
    expect(await send({ name: 'chat', providerRef })).toEqual({ kind: 'sent' });
    expect(seen).toEqual([{ path, author: 'podinfo.default' }]);
  },
);

test('no alert goes to the AlertProvider of another namespace unless the flag lets it', async () => {
  const providerRef = { name: 'slack', namespace: 'ops' };
  expect(await send({ name: 'chat', providerRef }, undefined, false)).toEqual({
    kind: 'failed',
    detail:
      'its providerRef.namespace is ops; references to other namespaces need holdfast run --cross-namespace-refs',
    final: true,
  });
  expect(seen).toEqual([]);
});

test('an AlertProvider that is not there is named, and may come', async () => {
  expect(await send({ name: 'chat', providerRef: { name: 'chat', namespace: 'ops' } })).toEqual({
    kind: 'failed',
    detail: 'AlertProvider ops/chat does not exist',
    final: false,
  });
});

test('an AlertProvider that cannot be read is not said to be missing', async () => {
  unread = 'alertproviders.flagger.app is forbidden';
  expect(await send({ name: 'chat', providerRef: { name: 'slack' } })).toEqual({
    kind: 'failed',
    detail: 'AlertProvider default/slack cannot be read: alertproviders.flagger.app is forbidden',
    final: false,
  });
});

test('a MetricTemplate that cannot be read is not said to be missing', async () => {
  const absent = { get: () => undefined, synced: () => false, problem: () => undefined };
  const http = createHttpClient({ allowLoopback: true });
  const port = createMetricsPort({
    http,
    clock: systemClock,
    metricsServer: '',
    templates: absent as unknown as WatchedSet,
    cluster: { get: async () => undefined },
  });
  const metric = { name: 'errors', templateRef: { name: 'errors' } };
  const question = { canary, metric, role: 'canary', provider: 'contour' } as const;
  expect(await port.read(question, new AbortController().signal)).toEqual({
    kind: 'error',
    detail: 'MetricTemplate default/errors cannot be read: objects of its kind were not listed yet',
  });
  await http.close();
});

test('without an alert it goes to the receiver of the flags, which may no longer exist', async () => {
  const spec = { type: 'slack' as const, address: `${server.url}/by-flags`, channel: 'c', username: 'u' };
  expect(await send(undefined, { spec, token: undefined })).toEqual({ kind: 'sent' });
  expect(seen).toEqual([{ path: '/by-flags', author: 'podinfo.default' }]);
  expect(await send(undefined)).toMatchObject({ kind: 'failed', final: true });
});

test('the credentials of the Prometheus are read from their folder at each check, and named where they lack', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-credentials-'));
  const sent: Array<string | undefined> = [];
  const prometheus = await startTestServer((request, response) => {
    sent.push(request.headers.authorization);
    const result = [{ value: [Date.now() / 1_000, '99'] }];
    response.end(JSON.stringify({ status: 'success', data: { resultType: 'vector', result } }));
  });
  const http = createHttpClient({ allowLoopback: true });
  const port = createMetricsPort({
    http,
    clock: systemClock,
    metricsServer: prometheus.url,
    metricsServerCredentials: folder,
    templates: { get: () => undefined } as unknown as WatchedSet,
    cluster: { get: async () => undefined },
  });
  const targetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };
  const metric = { name: 'errors', query: 'vector(1)' };
  const question = {
    canary: { ...canary, spec: { targetRef, service: { port: 80 } } } as Canary,
    metric,
    role: 'canary',
    provider: 'contour',
  } as const;
  const ask = () => port.read(question, new AbortController().signal);
  try {
    expect(await ask()).toEqual({
      kind: 'error',
      detail: `Secret in ${folder} needs the key token, or the keys username and password`,
    });
    for (const token of ['first', 'second']) {
      writeFileSync(join(folder, 'token'), `${token}\n`);
      expect(await ask()).toEqual({ kind: 'value', value: 99 });
    }
    expect(sent).toEqual(['Bearer first', 'Bearer second']);
  } finally {
    await http.close();
    await prometheus.close();
  }
});
