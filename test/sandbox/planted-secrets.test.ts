/** A secret of its own in each place where secrets live, servers that quote all they are sent, and every channel that people read (S31). */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Logger, pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { git } from '../../sandbox/git-server/git.test-support.ts';
import { commitFiles, createRepository } from '../../sandbox/git-server/git-repository.ts';
import { readRefs } from '../../sandbox/git-server/refs.ts';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { startTestServer, type TestServer } from '../../src/http/testing/servers.ts';
import { alertReceivers } from '../../src/providers/alerts/table.ts';
import { doubles } from '../../src/providers/metrics/testing/doubles.ts';
import { sealedSecret, testKey } from '../../src/render/sops/sealed.test-support.ts';
import type { App } from '../../src/server/app.ts';
import { run } from './cli-run.ts';
import {
  type Bed,
  canary,
  condition,
  deployment,
  eventually,
  failPrimary,
  sourceFor,
  startBed,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';

let bed: Bed;
let app: App;
/** Answers 401, and quotes everything it is sent, as some servers do in their error pages. */
let quoting: TestServer;
/** Takes what it is sent. */
let receiver: TestServer;
let folder: string;
const received: string[] = [];
const quoted = new Set<string>();
const logged: string[] = [];
const warnings: string[] = [];
const keepWarning = ({ name, message }: Error) => void warnings.push(`${name}: ${message}`);
/** Where it lives, and the secret. */
const planted = new Map<string, string>();

/** A new secret that reads differently in base64, in an address and in JSON. */
function plant(place: string): string {
  const value = `planted/${planted.size}+${Buffer.from(place).toString('hex').slice(0, 24)}=&`;
  planted.set(place, value);
  return value;
}

const base64 = (text: string) => Buffer.from(text).toString('base64');

async function create(path: string, object: unknown): Promise<void> {
  const { status, body } = await bed.send('POST', path, object);
  if (status !== 201) throw new Error(`${path}: ${JSON.stringify(body)}`);
}

async function createSecret(name: string, values: Readonly<Record<string, string>>): Promise<void> {
  const data = Object.fromEntries(Object.entries(values).map(([key, value]) => [key, base64(value)]));
  const metadata = { name, namespace: 'shop' };
  await create('/api/v1/namespaces/shop/secrets', { apiVersion: 'v1', kind: 'Secret', metadata, data });
}

/** A Source with a repository of these files, or at an address that says otherwise. */
async function createSource(
  name: string,
  spec: Record<string, unknown>,
  files: Readonly<Record<string, string>> = {},
): Promise<void> {
  if (Object.keys(files).length > 0) {
    const repository = await createRepository(join(bed.repository, '..'), name);
    await commitFiles(repository, { subject: name, files });
  }
  const url = `${bed.git.url}/${name}.git`;
  const source = { ...sourceFor(bed, { url, ...spec }), metadata: { name, namespace: 'shop' } };
  await create('/apis/holdfast.dev/v1alpha1/namespaces/shop/sources', source);
}

const manifest = (kind: string, name: string, more: object) =>
  JSON.stringify({ apiVersion: 'v1', kind, metadata: { name, namespace: 'shop' }, ...more });

/** Git servers that refuse, keys that are none, and objects that the API server refuses with their own words. */
async function createSources(): Promise<void> {
  const at = (path: string) => `${quoting.url}/${path}.git`;
  await createSecret('git-password', { username: 'bot', password: plant('password for Git') });
  await createSource('password', { url: at('password'), secretRef: { name: 'git-password' } });
  await createSecret('git-token', { bearerToken: plant('token for Git') });
  await createSource('token', { url: at('token'), secretRef: { name: 'git-token' } });
  await createSecret('git-proxy', {
    address: quoting.url,
    username: 'bot',
    password: plant('password of a proxy'),
  });
  await createSource('proxy', { url: at('proxy'), proxySecretRef: { name: 'git-proxy' } });
  await createSecret('git-app', {
    githubAppID: '1',
    githubAppInstallationID: '2',
    githubAppBaseURL: quoting.url,
    githubAppPrivateKey: `-----BEGIN RSA PRIVATE KEY-----\n${plant('key of a GitHub App')}\n-----END RSA PRIVATE KEY-----`,
  });
  await createSource('app', { url: at('app'), secretRef: { name: 'git-app' } });
  await createSecret('git-ssh', {
    identity: `-----BEGIN OPENSSH PRIVATE KEY-----\n${plant('SSH key')}\n-----END OPENSSH PRIVATE KEY-----`,
    password: plant('passphrase of an SSH key'),
    known_hosts: `127.0.0.1 ssh-ed25519 ${plant('known_hosts')}`,
  });
  await createSource('ssh', { url: 'ssh://git@127.0.0.1:1/ssh.git', secretRef: { name: 'git-ssh' } });
  await createSecret('age-broken', { 'a.agekey': `AGE-SECRET-KEY-${plant('age key')}` });
  await createSource(
    'sops',
    { decryption: { secretRef: { name: 'age-broken' } } },
    { 'a.yaml': sealedSecret },
  );
  await createSecret('age', { 'a.agekey': testKey });
  planted.set('age key that opens', testKey);
  planted.set('decrypted value', 'hunter2');
  await createSource('sealed', { decryption: { secretRef: { name: 'age' } } }, { 'a.yaml': sealedSecret });
  const value = plant('variable from a Secret');
  await createSecret('variables', { value, count: plant('variable in a number') });
  const substitute = { from: [{ kind: 'Secret', name: 'variables' }] };
  const config = manifest('ConfigMap', 'refused', { data: { value: '${value}' } });
  await createSource('variables', { substitute }, { 'config.json': config });
  const replicas = deployment('x', { name: 'bad' }).replace('"replicas":2', '"replicas":"${count}"');
  await createSource('number', { substitute }, { 'bad.json': replicas });
  const bad = manifest('Secret', 'bad', { stringData: { list: [plant('field of a wrong type')] } });
  await createSource('bad-secret', {}, { 'bad.json': bad });
  const broken = `${bad.slice(0, -3)}\n  - : "${plant('Secret that is no YAML')}`;
  await createSource('broken', {}, { 'broken.yaml': broken });
  const data = { token: plant('Secret with data that is no base64') };
  await createSource('no-base64', {}, { 'bad.json': manifest('Secret', 'no-base64', { data }) });
  bed.sandbox.fault(({ method, path, body }) =>
    method === 'PATCH' && /\/(secrets\/(keys|bad|no-base64)|configmaps\/refused|deployments\/bad)$/.test(path)
      ? { code: 422, reason: 'Invalid', message: `refused: ${JSON.stringify(body)}` }
      : undefined,
  );
}

/** A template for each system, whose server quotes the request. */
async function createTemplates(): Promise<unknown[]> {
  const metrics: unknown[] = [];
  // That one asks the API server itself, which knows no such token.
  for (const { type, secret, provider = {}, query } of doubles) {
    const name = `metric-${type.replaceAll('_', '-')}`;
    const isKey = (key: string) => /token|password|key|secret/i.test(key) && key !== 'serviceAccountKey';
    const values = Object.entries(secret).map(([key, known]) => [
      key,
      isKey(key) ? plant(`${key} of ${type}`) : known,
    ]);
    await createSecret(name, Object.fromEntries(values));
    await create('/apis/flagger.app/v1beta1/namespaces/shop/metrictemplates', {
      apiVersion: 'flagger.app/v1beta1',
      kind: 'MetricTemplate',
      metadata: { name },
      spec: { provider: { type, address: quoting.url, secretRef: { name }, ...provider }, query },
    });
    metrics.push({ name, templateRef: { name }, thresholdRange: { min: 1 }, interval: '1s' });
  }
  return metrics;
}

/** Each kind of receiver, whose address is the secret; and one that takes what it is told. */
async function createReceivers(): Promise<unknown[]> {
  const kinds = alertReceivers.map(({ type }) => type);
  const alerts = [...kinds, 'told'].map((name) => ({ name, severity: 'info', providerRef: { name } }));
  for (const type of kinds) {
    const address = `${quoting.url}/services/${encodeURIComponent(plant(`address of ${type}`))}`;
    await createSecret(`alert-${type}`, { address, token: plant(`token of ${type}`) });
  }
  await createSecret('alert-told', { address: `${receiver.url}/told` });
  for (const name of [...kinds, 'told']) {
    const type = name === 'told' ? 'webhook' : name;
    await create('/apis/flagger.app/v1beta1/namespaces/shop/alertproviders', {
      apiVersion: 'flagger.app/v1beta1',
      kind: 'AlertProvider',
      metadata: { name },
      spec: { type, secretRef: { name: `alert-${name}` } },
    });
  }
  return alerts;
}

const secretEnv = (name: string) => ({ name, value: plant(`environment variable ${name}`) });

/** A Deployment that reads a Secret and has passwords in its environment, as they should not be. */
function workload(image: string): string {
  const object = JSON.parse(deployment(image));
  const [container] = object.spec.template.spec.containers;
  container.envFrom = [{ secretRef: { name: 'database' } }];
  container.env = [environment];
  return JSON.stringify(object);
}

let environment: { name: string; value: string };

/** A release is live; the next one's primary crashes, which is taken back in Git, and one fails its metrics and webhooks. */
async function playReleases(): Promise<void> {
  environment = secretEnv('PASSWORD');
  await createSecret('database', { password: plant('Secret of a workload') });
  await createSecret('shop-git', {
    webhookSecret: plant('secret of push webhooks'),
    bearerToken: plant('token for the forge'),
  });
  const alerts = await createReceivers();
  const metrics = await createTemplates();
  const url = `${quoting.url}/hook?token=${encodeURIComponent(plant('address of a webhook'))}`;
  const webhooks = [{ name: 'quoting', type: 'rollout', url, timeout: '2s' }];
  const analysis = { threshold: 2, alerts, webhooks, metrics };
  const files = { 'web.json': workload('shop/web:1'), 'canary.json': canary({ analysis: { alerts } }) };
  await bed.commit('v1', files);
  await createSource('shop', {
    secretRef: { name: 'shop-git' },
    write: { ledger: true, revert: 'commit' },
  });
  await waitForPhase(bed, 'Initialized');
  failPrimary(bed, 'shop/web:2', 'CrashLoopBackOff');
  const v2 = await bed.commit('v2', { 'web.json': workload('shop/web:2') });
  await eventually(
    'the revert is in Git',
    async () => readRefs(bed.repository).get('refs/heads/main') !== v2,
    { timeoutMs: 60_000, seen: async () => statusOf(await bed.canary()) },
  );
  expect(await git(bed.repository, ['log', '--format=%s', 'main'])).toContain('Revert');
  await waitForPhase(bed, 'Succeeded');
  await bed.commit('v3', { 'web.json': workload('shop/web:3'), 'canary.json': canary({ analysis }) });
  await waitForPhase(bed, 'Failed');
}

/** Somebody changes a Secret's copy, opens a gate with a token of nobody, and signs a push with the wrong key. */
async function knock(): Promise<string[]> {
  const token = plant('token of who opens a gate');
  const headers = { authorization: `Bearer ${token}`, 'x-hub-signature-256': `sha256=${plant('signature')}` };
  const paths = [
    '/gate/open',
    '/gate/check',
    '/hooks/shop/shop',
    '/metrics',
    '/healthz',
    '/readyz',
    '/nothing',
  ];
  const body = JSON.stringify({ name: 'web', namespace: 'shop' });
  const answers = await Promise.all(
    paths.flatMap((path) =>
      ['GET', 'POST'].map(async (method) => {
        const init = method === 'GET' ? { headers } : { method, headers, body };
        const answer = await fetch(`${app.url}${path}`, init);
        return `${method} ${path}: ${answer.status} ${JSON.stringify([...answer.headers])} ${await answer.text()}`;
      }),
    ),
  );
  return answers;
}

/** Everything that people read of Holdfast, by where they read it. */
async function channels(): Promise<Map<string, string>> {
  const place = ['--kubeconfig', bed.kubeconfigPath, '-n', 'shop'];
  const answers = await knock();
  const { store } = bed.sandbox;
  const objects = (kind: string) => store.list(kind) as readonly KubernetesObject[];
  const kinds = ['apps/deployments', '/configmaps', '/services', '/secrets', 'coordination.k8s.io/leases'];
  const found = new Map([
    ['log', logged.join('\n')],
    ['Events', JSON.stringify([...objects('events.k8s.io/events'), ...objects('/events')])],
    ['status of Sources', JSON.stringify(objects('holdfast.dev/sources').map(({ status }) => status))],
    [
      'status of Canaries',
      JSON.stringify(
        objects('flagger.app/canaries').map((object) => ({ ...statusOf(object), specInForce: undefined })),
      ),
    ],
    ['labels and annotations', JSON.stringify(kinds.flatMap(objects).map(({ metadata }) => metadata))],
    ['/metrics and other answers', answers.join('\n')],
    ['alerts', received.join('\n')],
    ['commits', await git(bed.repository, ['log', '--all', '--format=%an %ae %B %d'])],
    ['refs', await git(bed.repository, ['for-each-ref'])],
  ]);
  const file = join(folder, 'source.json');
  const shop = (await bed.source()) as KubernetesObject;
  const { uid: _, resourceVersion: __, ...metadata } = shop.metadata;
  await writeFile(file, JSON.stringify({ ...shop, metadata }));
  for (const words of [
    ['status'],
    ['explain', 'canary/web'],
    ['diff', 'canary/web'],
    ['diff', 'canary/web', '-o', 'json'],
    ['diff', 'source/shop', '-o', 'json'],
    ['plan', '--source', file, '-o', 'json'],
    ['plan', '--source', file],
  ])
    found.set(`holdfast ${words.join(' ')}`, (await run(...words, ...place)).text);
  // It shows the objects, whose spec has the address of the webhook in the first place.
  const status = JSON.parse((await run('status', '-o', 'json', ...place)).text, (key, inner: unknown) =>
    key === 'spec' || key === 'specInForce' ? undefined : inner,
  );
  found.set('holdfast status -o json', JSON.stringify(status));
  return found;
}

/** The forms in which a secret is written somewhere. */
function formsOf(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  // Within more base64, as of `user:password`, three alignments are possible.
  const inBase64 = [0, 1, 2].map((skip) => {
    const whole = base64(`${'x'.repeat(skip)}${secret}`);
    return whole.slice(skip === 0 ? 0 : 4, Math.floor((skip + secret.length) / 3) * 4);
  });
  return [...new Set([secret, json, encodeURIComponent(secret), encodeURI(secret), ...inBase64])];
}

beforeAll(async () => {
  process.on('warning', keepWarning);
  folder = await mkdtemp(join(tmpdir(), 'holdfast-planted-'));
  quoting = await startTestServer(async (request, response) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk as Uint8Array);
    const { authorization = '' } = request.headers;
    const plain = Buffer.from(authorization.replace(/^Basic /, ''), 'base64').toString();
    const words = `${request.method} ${request.url} ${decodeURIComponent(request.url ?? '')} ${JSON.stringify(request.headers)} ${plain} ${Buffer.concat(chunks)}`;
    quoted.add(words);
    const line = words.replaceAll(/[^\x20-\x7e]/g, ' ');
    response.writeHead(401, line.slice(0, 4_000), { 'content-type': 'text/plain' }).end(words);
  });
  receiver = await startTestServer(async (request, response) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk as Uint8Array);
    received.push(`${request.url} ${JSON.stringify(request.headers)} ${Buffer.concat(chunks)}`);
    response.end('{}');
  });
  bed = await startBed();
  const log: Logger = pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) });
  app = await bed.start({ eventWebhook: `${receiver.url}/events`, cloudIdentity: true }, log);
  await createSources();
  await playReleases();
});
afterAll(async () => {
  await bed.close();
  await quoting.close();
  await receiver.close();
  await rm(folder, { recursive: true, force: true });
  process.off('warning', keepWarning);
});

test('no planted secret is in anything that people read, whatever a server quotes', async () => {
  const refused = [
    'password',
    'token',
    'proxy',
    'app',
    'ssh',
    'sops',
    'sealed',
    'variables',
    'number',
    'broken',
  ];
  for (const name of [...refused, 'bad-secret', 'no-base64']) {
    const source = () => bed.get('holdfast.dev/v1alpha1', 'Source', name);
    await eventually(
      `${name} is refused`,
      async () => condition(await source(), 'Ready')?.status === 'False',
      { seen: source, timeoutMs: 30_000 },
    );
  }
  for (const name of ['variables', 'number']) {
    const source = await bed.get('holdfast.dev/v1alpha1', 'Source', name);
    expect(condition(source, 'Ready')?.message).toMatch(/422 refused: .*\*\*\*/);
  }
  const key = bed.sandbox.store.get('/secrets', 'default', 'holdfast-key') as
    | { data?: Record<string, string> }
    | undefined;
  for (const [name, value] of Object.entries(key?.data ?? {}))
    planted.set(`cluster key ${name}`, Buffer.from(value, 'base64').toString('latin1'));

  const found = await channels();

  const leaks: string[] = [];
  for (const [channel, text] of found)
    for (const [place, secret] of planted)
      for (const form of formsOf(secret)) {
        const at = text.indexOf(form);
        if (at >= 0) leaks.push(`${place} in ${channel}: …${text.slice(Math.max(0, at - 160), at + 60)}…`);
      }
  expect(leaks).toEqual([]);
});

test('the servers were sent the secrets, and every channel said something', async () => {
  const sent = [...quoted].join('\n');
  const isSent = (place: string) => sent.includes(planted.get(place) ?? 'nothing');
  const places = [...planted.keys()].filter((place) => / (of|for) /.test(place));
  expect(places.filter(isSent).length).toBeGreaterThan(15);
  expect([...(await channels())].filter(([, text]) => text.length < 20).map(([channel]) => channel)).toEqual(
    [],
  );
});

test('a Canary with a metric of every system warns of no leak', () => {
  expect(warnings.filter((warning) => warning.startsWith('MaxListeners'))).toEqual([]);
});
