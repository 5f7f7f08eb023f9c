import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'vitest';
import type { Canary } from '../api/canary/canary.ts';
import { systemClock } from '../api/clock.ts';
import type { Incident } from '../api/incident.ts';
import type { Source } from '../api/source/source.ts';
import { eventually } from '../cluster/testing/manual-clock.ts';
import type { WatchedSet } from '../contracts/cluster.ts';
import { createHttpClient } from '../http/client.ts';
import { startTestServer, type TestServer } from '../http/testing/servers.ts';
import type { HttpClient } from '../http/types.ts';
import { createHooks } from '../providers/hooks/webhook.ts';
import { createAlertsPort } from './alerts-port.ts';
import { createRepositories } from './git.ts';
import { createGitAccess } from './git-access.ts';
import { createMetricsPort } from './metrics-port.ts';
import { rememberFileSources } from './source-files.ts';

let server: TestServer;
let http: HttpClient;
let folder: string;
/** Requests that arrived, and are never answered. */
let hanging: number;
beforeEach(async () => {
  hanging = 0;
  server = await startTestServer(() => {
    hanging += 1;
  });
  // One slot for each tenant and host: the second request of a tenant waits for the first.
  http = createHttpClient({ allowLoopback: true, maxConcurrentPerHost: 1 });
  folder = await mkdtemp(join(tmpdir(), 'holdfast-tenants-'));
});
afterEach(async () => {
  await http.close();
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

const { signal } = new AbortController();
const canaryIn = (namespace: string) => ({ metadata: { name: 'web', namespace } }) as Canary;
const none = { get: () => undefined } as unknown as WatchedSet;
const nothing = async () => undefined;

function hook(namespace: string): Promise<unknown> {
  const webhook = { name: 'gate', url: server.url, timeout: '30s' } as const;
  const facts = { phase: 'Waiting' as const, digest: 'v1:d', commit: 'c0ffee', canaryWeight: 20 };
  const call = { canary: canaryIn(namespace), webhook, type: 'confirm-rollout' as const, facts };
  return createHooks({ http, clock: systemClock }).call(call, signal);
}

function alert(namespace: string): Promise<unknown> {
  const spec = { type: 'slack' as const, address: server.url, channel: 'c', username: 'u' };
  const byDefault = { spec, token: undefined };
  const cluster = { get: nothing };
  const parts = {
    http,
    providers: none,
    cluster,
    crossesNamespaces: false,
    byDefault,
    clusterName: undefined,
    documentation: undefined,
  };
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
  return createAlertsPort(parts).send({ about: canaryIn(namespace), alert: undefined, incident }, signal);
}

function metric(namespace: string): Promise<unknown> {
  const cluster = { get: nothing };
  const parts = { http, clock: systemClock, metricsServer: server.url, templates: none, cluster };
  const canary = {
    ...canaryIn(namespace),
    spec: {
      targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
      service: {},
      analysis: {},
    },
  };
  const metricOfIt = { name: 'errors', query: 'up', interval: '1m' };
  const question = { canary: canary as Canary, metric: metricOfIt, provider: 'kubernetes' };
  return createMetricsPort(parts).read({ ...question, role: 'canary' }, signal);
}

function poll(namespace: string): Promise<unknown> {
  const fileSources = rememberFileSources([]);
  const access = createGitAccess({ client: http, clock: systemClock, env: {}, fileSources });
  const identity = { name: 'Holdfast', email: 'holdfast@example.com' };
  const { open } = createRepositories({
    client: http,
    dataDir: folder,
    clock: systemClock,
    identity,
    access,
  });
  const source: Source = {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name: 'web', namespace },
    spec: { url: `${server.url}/${namespace}.git`, ref: { branch: 'main' } },
  };
  return open(source, { credentials: nothing, signers: nothing, proxy: nothing }).poll(signal);
}

function sourceIn(namespace: string): Source {
  return {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name: 'web', namespace },
    spec: { url: `${server.url}/acme/web.git`, ref: { branch: 'main' } },
  };
}

const access = () =>
  createGitAccess({ client: http, clock: systemClock, env: {}, fileSources: rememberFileSources([]) });

function signIn(namespace: string): Promise<unknown> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const values = {
    githubAppID: Buffer.from('1'),
    githubAppInstallationID: Buffer.from('7'),
    githubAppBaseURL: Buffer.from(server.url),
    githubAppPrivateKey: Buffer.from(privateKey.export({ type: 'pkcs1', format: 'pem' })),
  };
  return access().credentials(sourceIn(namespace), { credentials: async () => values, proxy: nothing });
}

function findForge(namespace: string): Promise<unknown> {
  return access().openForge(sourceIn(namespace), { credentials: nothing, proxy: nothing });
}

test.each([
  ['webhooks', hook],
  ['alerts', alert],
  ['metrics', metric],
  ['Git', poll],
  ['signing in as a GitHub App', signIn],
  ['finding out which forge it is', findForge],
])(
  '%s of one namespace that hang leave the slots of another, and of other work, alone',
  async (_name, send) => {
    const work = [
      ...Array.from({ length: 3 }, () => send('noisy')),
      send('shop'),
      ...[hook, poll].map((other) => other('noisy')),
    ];
    for (const each of work) each.catch(() => undefined);
    // One of the noisy namespace, one of the other, and what is no work of the same kind.
    const wanted = send === hook || send === poll ? 3 : 4;
    await eventually(() => hanging === wanted, 'the requests of the others came, too');
  },
);
