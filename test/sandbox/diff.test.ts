import { afterEach, beforeEach, expect, test } from 'vitest';
import type { CanaryDifference } from '../../src/review/diff/canary-difference.ts';
import type { SourceDifference } from '../../src/review/diff/source-difference.ts';
import { run } from './cli-run.ts';
import { type Bed, canary, createSource, onGateway, startBed, waitForPhase } from './holdfast-bed.ts';
import { configWith, deploymentWithConfig } from './with-config.ts';

let bed: Bed;
beforeEach(async () => {
  bed = await startBed();
});
afterEach(() => bed.close());

function diff(...more: string[]): Promise<{ code: number; text: string }> {
  return run('diff', ...more, '--kubeconfig', bed.kubeconfigPath, '-n', 'shop');
}

/** A Canary at rest whose controller is gone, so that nothing is put right. */
async function atRest(spec: Record<string, unknown>, files: Record<string, string> = {}): Promise<void> {
  await bed.commit('v1', {
    ...files,
    'web.json': deploymentWithConfig('shop/web:1'),
    'config.json': configWith('info'),
    'canary.json': canary({ spec }),
  });
  await createSource(bed);
  const app = await bed.start();
  await waitForPhase(bed, 'Initialized');
  await app.drain();
}

async function patch(path: string, body: unknown, type = 'application/merge-patch+json'): Promise<void> {
  const place = path.startsWith('/apis') ? path : `/api/v1/namespaces/shop/${path}`;
  const { status } = await bed.send('PATCH', `${place}?fieldManager=kubectl-edit`, body, type);
  expect(status).toBe(200);
}

const inPlace = {
  provider: 'native',
  service: undefined,
  analysis: { interval: '1s', threshold: 1, stepWeight: 50, maxWeight: 50 },
};

test.each([
  ['native', inPlace, ['Deployment']],
  ['kubernetes', {}, ['Deployment', 'ConfigMap', 'Secret', 'Service', 'Service', 'Service']],
  [
    'gatewayapi:v1',
    onGateway,
    ['Deployment', 'ConfigMap', 'Secret', 'Service', 'Service', 'Service', 'HTTPRoute'],
  ],
])('nothing differs at rest, and nothing is written: %s', async (_provider, spec, kinds) => {
  await atRest(spec);
  bed.sandbox.requests.clear();

  const table = await diff('canary/web');
  const { code, text } = await diff('web', '-o', 'json');

  expect(table).toMatchObject({ code: 0, text: expect.stringContaining('no differences in') });
  expect(code).toBe(0);
  const found: CanaryDifference = JSON.parse(text);
  expect(found).toMatchObject({ canary: 'shop/web', differs: false, findings: [] });
  expect(found.objects.map(({ kind }) => kind).sort()).toEqual(kinds.toSorted());
  expect(found.objects.filter(({ state }) => state !== 'same')).toEqual([]);
  expect(bed.sandbox.requests.all().filter(({ method }) => method !== 'GET')).toEqual([]);
});

test('the copy of a scaler is compared, and the number of pods is left to it', async () => {
  const autoscalerRef = { apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler', name: 'web' };
  const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };
  const scaler = {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 'web', namespace: 'shop' },
    spec: { scaleTargetRef, minReplicas: 2, maxReplicas: 5 },
  };
  await atRest({ autoscalerRef }, { 'scaler.json': JSON.stringify(scaler) });
  expect(await diff('web')).toMatchObject({ code: 0 });

  await patch('/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers/web-primary', {
    spec: { maxReplicas: 9 },
  });

  const { code, text } = await diff('web');
  expect(code).toBe(1);
  expect(text).toMatch(/HorizontalPodAutoscaler web-primary +spec.maxReplica.* 5 +9 +kubectl/);
});

test('every field that somebody changed is named with both values and who did it; a Secret keeps its values', async () => {
  await atRest(onGateway);
  const password = Buffer.from('swordfish').toString('base64');
  await patch(
    '/apis/apps/v1/namespaces/shop/deployments/web-primary',
    { spec: { template: { spec: { containers: [{ name: 'app', image: 'shop/web:hotfix' }] } } } },
    'application/strategic-merge-patch+json',
  );
  await patch('configmaps/settings-primary', { data: { level: 'debug' } });
  await patch('secrets/database-primary', { data: { password } });
  await patch('services/web-canary', { spec: { selector: { app: 'nobody' } } });
  await bed.send('DELETE', '/api/v1/namespaces/shop/services/web-primary');

  const { code, text } = await diff('canary/web', '-o', 'json');
  const { objects, findings }: CanaryDifference = JSON.parse(text);

  expect(code).toBe(1);
  const changed = objects.filter(({ state }) => state !== 'same');
  expect(
    changed.map(({ kind, name, state, changedBy, fields }) => [
      `${kind} ${name}`,
      state,
      changedBy,
      fields.map(({ path, expected, actual }) => `${path}: ${expected} -> ${actual}`),
    ]),
  ).toEqual([
    [
      'Deployment web-primary',
      'differs',
      'kubectl-edit',
      ['spec.template.spec.containers[app].image: shop/web:1 -> shop/web:hotfix'],
    ],
    ['ConfigMap settings-primary', 'differs', 'kubectl-edit', ['data.level: info -> debug']],
    ['Secret database-primary', 'differs', 'kubectl-edit', ['data.password: (hidden) -> (hidden)']],
    ['Service web-primary', 'missing', undefined, []],
    ['Service web-canary', 'differs', 'kubectl-edit', ['spec.selector.app: web -> nobody']],
  ]);
  expect(findings.map(({ name }) => name)).toEqual(expect.arrayContaining(['fields', 'config-values']));
  const table = await diff('canary/web');
  expect(table.text).toMatch(/Service web-primary +exists +missing/);
  expect(text + table.text).not.toMatch(new RegExp(`swordfish|hunter2|${password}`));
});

const password = Buffer.from('swordfish').toString('base64');
const beside = {
  'notes.json': plain('ConfigMap', 'notes', { data: { level: 'info', mode: 'safe' } }),
  'gone.json': plain('ConfigMap', 'gone', { data: { level: 'info' } }),
  'theirs.json': plain('ConfigMap', 'theirs', { data: { level: 'info' } }),
  'vault.json': plain('Secret', 'vault', { data: { password: Buffer.from('hunter2').toString('base64') } }),
};

function plain(kind: string, name: string, content: Record<string, unknown>): string {
  return JSON.stringify({ apiVersion: 'v1', kind, metadata: { name, namespace: 'shop' }, ...content });
}

test('a Source at rest differs in nothing, and what is asked is stored nowhere', async () => {
  await atRest({}, beside);
  bed.sandbox.requests.clear();

  const { code, text } = await diff('source/shop', '-o', 'json');
  const table = await diff('source/shop');

  const found: SourceDifference = JSON.parse(text);
  expect(found).toMatchObject({ source: 'shop/shop', commit: { subject: 'v1' }, differs: false });
  expect(code).toBe(0);
  expect(found.objects.map(({ kind, name, state }) => `${kind} ${name} ${state}`).sort()).toEqual([
    'Canary web same',
    'ConfigMap gone same',
    'ConfigMap notes same',
    'ConfigMap theirs same',
    'Secret vault same',
  ]);
  expect(table).toMatchObject({ code: 0, text: expect.stringContaining('no differences in 5 objects') });
  const written = bed.sandbox.requests.all().filter(({ method }) => method !== 'GET');
  expect(written.filter(({ query }) => !query.includes('dryRun=All'))).toEqual([]);
});

test('each object of a Source that somebody changed is named with values and who did it; a Secret keeps them', async () => {
  await atRest({}, beside);
  await patch('configmaps/notes', { data: { level: 'debug' }, metadata: { labels: { team: 'red' } } });
  await patch('secrets/vault', { data: { password } });
  const flux = {
    'kustomize.toolkit.fluxcd.io/name': 'apps',
    'kustomize.toolkit.fluxcd.io/namespace': 'flux',
  };
  await patch('configmaps/theirs', { metadata: { labels: flux } });
  await bed.send('DELETE', '/api/v1/namespaces/shop/configmaps/gone');

  const { code, text } = await diff('source/shop', '-o', 'json');
  const table = await diff('source/shop');

  expect(code).toBe(1);
  const { objects }: SourceDifference = JSON.parse(text);
  const told = objects.filter(({ state }) => state !== 'same');
  expect(
    Object.fromEntries(
      told.map(({ name, state, changedBy, fields, message }) => [
        name,
        [
          state,
          changedBy ?? message,
          ...fields.map(({ path, expected, actual }) => `${path}: ${expected} -> ${actual}`),
        ],
      ]),
    ),
  ).toEqual({
    notes: ['differs', 'kubectl-edit', 'data.level: info -> debug'],
    vault: ['differs', 'kubectl-edit', 'data.password: (hidden) -> (hidden)'],
    theirs: ['refused', expect.stringContaining('Flux applies it (Kustomization flux/apps)')],
    gone: ['missing', undefined],
  });
  expect(table.text).toMatch(/ConfigMap shop\/notes +data.level +info +debug +kubectl/);
  expect(table.text).toMatch(/ConfigMap shop\/gone +exists +missing/);
  expect(text + table.text).not.toMatch(new RegExp(`swordfish|hunter2|${password}`));
});

test('what cannot be said is exit code 2, with the reason', async () => {
  expect(await diff('canary/web')).toMatchObject({
    code: 2,
    text: expect.stringContaining('not found'),
  });
  expect(await diff('source/shop')).toMatchObject({
    code: 2,
    text: expect.stringContaining('not found'),
  });
  expect(await diff('job/shop')).toMatchObject({ code: 2, text: expect.stringContaining('must be canary') });
  expect(await diff('source/')).toMatchObject({ code: 2, text: expect.stringContaining('is not an object') });
});
