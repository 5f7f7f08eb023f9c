import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PlanReport } from '../../src/review/plan/report.ts';
import { run } from './cli-run.ts';
import { type Bed, canary, deployment, runUntilInitialized, sourceFor, startBed } from './holdfast-bed.ts';

let bed: Bed;
let folder: string;
let source: string;

const metrics = [{ name: 'request-success-rate', thresholdRange: { min: 99 }, interval: '1m' }];

function plain(kind: string, name: string, more: Record<string, unknown> = {}, namespace = 'shop'): string {
  return JSON.stringify({ apiVersion: 'v1', kind, metadata: { name, namespace }, ...more });
}

/** A Canary at rest whose controller is gone; then the commits that plans are about. */
beforeAll(async () => {
  bed = await startBed();
  folder = await mkdtemp(join(tmpdir(), 'holdfast-plan-'));
  source = join(folder, 'source.json');
  await writeFile(source, JSON.stringify(sourceFor(bed)));
  await bed.commit('v1', {
    'web.json': deployment('shop/web:1'),
    'canary.json': canary({ analysis: { metrics } }),
    'notes.json': plain('ConfigMap', 'notes', { data: { level: 'info' } }),
    'theirs.json': plain('ConfigMap', 'theirs', { data: { level: 'info' } }),
    'vault.json': plain('Secret', 'vault', { stringData: { password: 'hunter2' } }),
  });
  const app = await runUntilInitialized(bed);
  await app.drain();
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await bed.close();
});

/** What CI has: a clone of its own. */
function clone(name: string): string {
  const path = join(folder, name);
  execFileSync('git', ['clone', '-q', bed.repository, path], { stdio: 'pipe' });
  return path;
}

async function plan(
  repository: string,
  ...more: string[]
): Promise<{ code: number; report: PlanReport; text: string }> {
  const wanted = ['--repo', repository, '--base', 'HEAD^', '--head', 'HEAD', '--source', source];
  const cluster = ['--kubeconfig', bed.kubeconfigPath, '--metrics-server', bed.sandbox.prometheusUrl];
  const { code, text, stdout } = await run('plan', ...wanted, ...cluster, ...more, '-o', 'json');
  return { code, text, report: JSON.parse(stdout) as PlanReport };
}

async function patch(path: string, body: unknown): Promise<void> {
  const place = `/api/v1/namespaces/shop/${path}?fieldManager=kubectl-edit`;
  const { status } = await bed.send('PATCH', place, body);
  expect(status).toBe(200);
}

test('the cluster tells what is promoted, what it would refuse and what is not as base says; nothing is written', async () => {
  await bed.commit('v2', {
    'web.json': deployment('shop/web:2'),
    'vault.json': plain('Secret', 'vault', { stringData: { password: 'swordfish' } }),
    'theirs.json': plain('ConfigMap', 'theirs', { data: { level: 'debug' } }),
    'space.json': JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'extra' } }),
    'inside.json': plain('ConfigMap', 'inside', { data: { a: 'b' } }, 'extra'),
    'lost.json': plain('ConfigMap', 'lost', { data: { a: 'b' } }, 'nowhere'),
  });
  await patch('configmaps/notes', { data: { level: 'debug' } });
  const flux = {
    'kustomize.toolkit.fluxcd.io/name': 'apps',
    'kustomize.toolkit.fluxcd.io/namespace': 'flux',
  };
  await patch('configmaps/theirs', { metadata: { labels: flux } });
  bed.sandbox.requests.clear();

  const { code, report, text } = await plan(clone('v2'), '--server-dry-run', '--fail-on', 'refused');

  expect(code).toBe(1);
  const [planned] = report.sources;
  const [web] = planned?.canaries ?? [];
  expect(web).toMatchObject({
    canary: 'shop/web',
    change: 'release',
    standing: { from: 'cluster', phase: 'Initialized', isBase: true },
    revert: { possible: 'yes', to: { from: 'cluster', subject: 'v1' } },
    measured: [{ name: 'request-success-rate', when: 'analysis' }],
  });
  const findings = Object.fromEntries(
    (planned?.dryRun ?? []).map(({ object, state, fields, message }) => [
      object,
      [state, message, ...fields],
    ]),
  );
  expect(findings).toEqual({
    'ConfigMap shop/notes': [
      'differs',
      expect.stringMatching(/^not caused by this commit: .*kubectl-edit/),
      'data.level: debug -> info',
    ],
    'ConfigMap shop/theirs': ['refused', expect.stringContaining('Flux applies it')],
    'ConfigMap nowhere/lost': ['refused', expect.stringContaining('nowhere')],
    'Secret shop/vault': ['differs', undefined, 'data.password: (hidden) -> (hidden)'],
  });
  expect(text).not.toMatch(/hunter2|swordfish|aHVudGVyMg|c3dvcmRmaXNo/);
  const writes = bed.sandbox.requests.all().filter(({ method }) => method !== 'GET');
  expect(writes.length).toBeGreaterThan(0);
  expect(writes.filter(({ query }) => !query.includes('dryRun=All'))).toEqual([]);
});

test('a metric is told as it is now, and why it cannot be had; Secrets are not read for it', async () => {
  const template = (name: string, provider: Record<string, unknown>) =>
    JSON.stringify({
      apiVersion: 'flagger.app/v1beta1',
      kind: 'MetricTemplate',
      metadata: { name, namespace: 'shop' },
      spec: {
        provider: { type: 'prometheus', address: bed.sandbox.prometheusUrl, ...provider },
        query: 'vector(7)',
      },
    });
  const asked = (name: string) => ({ name, templateRef: { name }, thresholdRange: { max: 5 } });
  await bed.commit('v3', {
    'web.json': deployment('shop/web:3'),
    'open.json': template('open', {}),
    'closed.json': template('closed', { secretRef: { name: 'vault' } }),
    'canary.json': canary({ analysis: { metrics: [asked('open'), asked('closed'), asked('absent')] } }),
  });
  bed.sandbox.requests.clear();

  const { code, report } = await plan(clone('v3'), '--cluster');

  expect(code).toBe(0);
  const measured = report.sources[0]?.canaries[0]?.measured ?? [];
  expect(measured[0]?.value).toBe(7);
  expect(measured.map(({ name, verdict, detail }) => [name, verdict, detail])).toEqual([
    ['open', 'fail', undefined],
    ['closed', 'unknown', 'MetricTemplate shop/closed needs a Secret, which a plan does not read'],
    ['absent', 'unknown', expect.stringContaining('does not exist')],
  ]);
  expect(report.sources[0]).not.toHaveProperty('dryRun');
  const requests = bed.sandbox.requests.all();
  expect(requests.filter(({ method }) => method !== 'GET')).toEqual([]);
  expect(requests.filter(({ path }) => path.includes('/secrets'))).toEqual([]);
});

test('a cluster that does not answer is no plan: exit code 2', async () => {
  const repository = clone('dead');
  const found = await run(
    'plan',
    '--repo',
    repository,
    '--base',
    'HEAD^',
    '--cluster',
    '--kubeconfig',
    'nowhere',
  );
  expect(found.code).toBe(2);
});
