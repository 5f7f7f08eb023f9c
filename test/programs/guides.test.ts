/** The guides whose commands make a whole, each played from its first block to its last; and what is asked at a terminal. */
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { installObjects } from '../../src/cli/install/install.ts';
import { encodeRejections } from '../../src/release/rejections.ts';
import { type BuiltProgram, buildProgram } from '../sandbox/built-program.ts';
import {
  type Bed,
  canary,
  createSource,
  deployment,
  startBed,
  waitForPhase,
} from '../sandbox/holdfast-bed.ts';
import { make, playGuide } from './guide-stage.ts';
import { programs } from './programs.ts';

/** pay:s3cret */
const login = `Basic ${Buffer.from('pay:s3cret').toString('base64')}`;

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

test('monorepo', async () => {
  await bed.start({ programs });
  await playGuide({ bed, built }, 'monorepo');
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

  await playGuide({ bed, built }, 'prometheus-with-login', {
    'https://prometheus.example.com': `http://127.0.0.1:${port}`,
  });

  expect(new Set(asked)).toEqual(new Set([login]));
  const holdfast = await bed.get('apps/v1', 'Deployment', 'holdfast', 'holdfast-system');
  expect(JSON.stringify(holdfast)).toContain('"mountPath":"/etc/holdfast/prometheus"');
  expect(JSON.stringify(holdfast)).toContain('--metrics-server-credentials=/etc/holdfast/prometheus');
});

/** web of namespace shop, released from a Source by a controller whose Lease is where `install` puts it. */
async function released(): Promise<void> {
  const namespace = 'holdfast-system';
  await make(bed, '/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace },
  });
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
  await make(
    bed,
    '/api/v1/namespaces/shop/secrets',
    encodeRejections({ namespace: 'shop', name: 'cart' }, []),
  );
  await playGuide({ bed, built }, 'uninstall');
  expect(await bed.get('apps/v1', 'Deployment', 'holdfast', 'holdfast-system')).toBeUndefined();
  expect(await bed.get('apps/v1', 'Deployment', 'web-primary')).toBeUndefined();
  expect(await bed.get('apps/v1', 'Deployment', 'web')).toMatchObject({ status: { readyReplicas: 2 } });
  const { body } = await bed.send('GET', '/api/v1/secrets');
  const left = (body as { items: KubernetesObject[] }).items.filter(({ type }) =>
    /release|rejections/.test(`${type}`),
  );
  expect(left).toEqual([]);
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
