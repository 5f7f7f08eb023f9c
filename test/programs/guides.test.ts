/** The guides whose commands make a whole, each played from its first block to its last; and what is asked at a terminal. */
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { installObjects } from '../../src/cli/install/install.ts';
import { playPage } from '../examples/guide.ts';
import { leaveBehind } from '../flagger/left-behind.ts';
import { type BuiltProgram, buildProgram } from '../sandbox/built-program.ts';
import { scene, version } from '../sandbox/flagger-scenes.ts';
import {
  type Bed,
  canary,
  createSource,
  deployment,
  startBed,
  waitForPhase,
} from '../sandbox/holdfast-bed.ts';
import { programs } from './programs.ts';

/** pay:s3cret */
const login = `Basic ${Buffer.from('pay:s3cret').toString('base64')}`;
const guides = resolve(import.meta.dirname, '../../docs/guides');

let built: BuiltProgram;
let bed: Bed;
beforeAll(async () => {
  built = await buildProgram();
});
afterAll(() => built.remove());
beforeEach(async () => {
  bed = await startBed();
  return () => bed.close();
});

/**
 * The real kubectl. The sandbox takes neither protobuf, which `create` sends, nor serves the schemas by which `apply` checks what it sends.
 */
const kubectl = `
real() { ${programs.kubectl} --kubeconfig="$KUBECONFIG" "$@"; }
case " $* " in
  *" create "*) real "$@" --dry-run=client -o json | real create --validate=false -f - ;;
  *" apply "*) real "$@" --validate=false ;;
  *) real "$@" ;;
esac`;

/** Plays a page of docs/guides with the sandbox's Git server and seconds in place of half a minute. */
async function play(name: string, replaced: Readonly<Record<string, string>> = {}): Promise<void> {
  const page = await readFile(join(guides, `${name}.md`), 'utf8');
  await playPage(`docs/guides/${name}.md`, page, {
    holdfast: `exec ${process.execPath} ${built.folder}/dist/main.js "$@"`,
    kubectl,
    kubeconfigPath: bed.kubeconfigPath,
    kustomizePath: programs.kustomize,
    gitRoot: dirname(bed.kubeconfigPath),
    gitUrl: bed.git.url,
    adapt: (text) =>
      Object.entries({ 'interval: 30s': 'interval: 1s', ...replaced }).reduce(
        (result, [from, to]) => result.replaceAll(from, to),
        text,
      ),
  });
}

test('monorepo', async () => {
  await bed.start({ programs });
  await play('monorepo');
});

test('prometheus-with-login', async () => {
  const asked: string[] = [];
  const prometheus = createServer(({ headers }, response) => {
    const { authorization = 'nobody' } = headers;
    asked.push(authorization);
    const value = { resultType: 'vector', result: [{ metric: {}, value: [Date.now() / 1000, '99.9'] }] };
    response.writeHead(authorization === login ? 200 : 401, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ status: 'success', data: value }));
  });
  await new Promise<void>((done) => prometheus.listen(0, '127.0.0.1', done));
  onTestFinished(() => void prometheus.close());
  const { port } = prometheus.address() as AddressInfo;
  await bed.start({ allowOutbound: [`127.0.0.1:${port}`] });

  await play('prometheus-with-login', { 'https://prometheus.example.com': `http://127.0.0.1:${port}` });

  expect(new Set(asked)).toEqual(new Set([login]));
  const holdfast = await bed.get('apps/v1', 'Deployment', 'holdfast', 'holdfast-system');
  expect(JSON.stringify(holdfast)).toContain('"mountPath":"/etc/holdfast/prometheus"');
  expect(JSON.stringify(holdfast)).toContain('--metrics-server-credentials=/etc/holdfast/prometheus');
});

test('from-flagger-in-bulk', async () => {
  for (let number = 1; number <= 40; number += 1) {
    const namespace = `team-${String(number).padStart(2, '0')}`;
    await send('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    const target = number === 7 ? { target: version(2) } : {};
    const left = scene({ ...target, status: { phase: 'Succeeded' } });
    const place = (object: KubernetesObject) => ({ ...object, metadata: { ...object.metadata, namespace } });
    const placed = { canary: place(left.canary), target: place(left.target), promoted: place(left.promoted) };
    await leaveBehind(bed.send, { ...left, ...placed, configs: [], promotedConfigs: [] });
  }
  await installed('flagger', 'flagger-system', []);
  await installed('holdfast', 'holdfast-system', [
    'run',
    '--selector-labels=app',
    '--min-analysis-interval=1s',
  ]);
  await bed.start();
  await play('from-flagger-in-bulk');
});

/** web of namespace shop, released from a Source by a controller whose Lease is where `install` puts it. */
async function released(): Promise<void> {
  const namespace = 'holdfast-system';
  await send('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  const objects = installObjects({ namespace, image: 'registry.example.com/holdfast:previous' });
  const path = `/apis/apps/v1/namespaces/${namespace}/deployments/holdfast?fieldManager=kubectl`;
  const holdfast = objects.find(({ kind }) => kind === 'Deployment');
  expect((await bed.send('PATCH', path, holdfast, 'application/apply-patch+yaml')).status).toBe(201);
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  await createSource(bed);
  vi.stubEnv('POD_NAMESPACE', namespace);
  onTestFinished(() => void vi.unstubAllEnvs());
  await bed.start();
  await waitForPhase(bed, 'Initialized');
}

test('uninstall', async () => {
  await released();
  await play('uninstall');
  expect(await bed.get('apps/v1', 'Deployment', 'holdfast', 'holdfast-system')).toBeUndefined();
  expect(await bed.get('apps/v1', 'Deployment', 'web-primary')).toBeUndefined();
  expect(await bed.get('apps/v1', 'Deployment', 'web')).toMatchObject({ status: { readyReplicas: 2 } });
  const { body } = await bed.send('GET', '/api/v1/secrets?fieldSelector=type%3Dholdfast.dev/release');
  expect(body).toMatchObject({ items: [] });
});

/** Runs the program at a terminal of its own, which `script` of util-linux makes, and types these keys at its question. */
async function answered(keys: string, ...words: readonly string[]): Promise<{ code: number; text: string }> {
  const command = [process.execPath, join(built.folder, 'dist/main.js'), ...words].join(' ');
  const env = { ...process.env, KUBECONFIG: bed.kubeconfigPath };
  const child = spawn('script', ['-qefc', command, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'], env });
  let text = '';
  let isTyped = false;
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
    if (isTyped || !text.includes('[y/N]')) return;
    isTyped = true;
    child.stdin.write(keys);
  });
  const code = await new Promise<number>((ended) => child.on('close', (exitCode) => ended(exitCode ?? -1)));
  return { code, text };
}

test('at a terminal abort and rollback ask, and only a yes goes on', async () => {
  await released();
  const analysis = { interval: '1s', iterations: 500 };
  await bed.commit('v2', { 'web.json': deployment('shop/web:2'), 'canary.json': canary({ analysis }) });
  await waitForPhase(bed, 'Progressing');
  for (const keys of ['n\r', 'maybe\r', '\u0003', '\u0004']) {
    const { code, text } = await answered(keys, 'rollback', 'canary/web', '-n', 'shop');
    expect([keys, code]).toEqual([keys, 1]);
    expect(text).toMatch(
      / {2}to +\w{7} v1.*\n.*Go on\? \[y\/N\][^\n]*\nCanary shop\/web: nothing was requested/s,
    );
  }
  expect((await bed.canary())?.metadata.annotations ?? {}).not.toHaveProperty('holdfast.dev/rollback-to');
  expect(await answered('y\r', 'abort', 'canary/web', '-n', 'shop')).toMatchObject({
    code: 0,
    text: expect.stringContaining('was aborted on request'),
  });
});

async function send(path: string, body: object): Promise<void> {
  expect((await bed.send('POST', path, body)).status).toBe(201);
}

/** A Deployment whose pods do nothing: what Flagger's or Holdfast's stands for while the program itself runs in this process. */
async function installed(name: string, namespace: string, args: readonly string[]): Promise<void> {
  const labels = { 'app.kubernetes.io/name': name };
  const containers = [{ name, image: `${name}:1`, args }];
  const spec = {
    replicas: 1,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers } },
  };
  await send('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels },
    spec,
  };
  await send(`/apis/apps/v1/namespaces/${namespace}/deployments`, deployment);
}
