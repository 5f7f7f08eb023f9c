import { afterEach, beforeEach, expect, test } from 'vitest';
import { git } from '../../sandbox/git-server/git.test-support.ts';
import type { CanaryStatus } from '../../src/api/canary/status.ts';
import { partOfLabel } from '../../src/api/kubernetes.ts';
import { applySetIdOf } from '../../src/engine/apply-set.ts';
import type { CanaryDifference } from '../../src/review/diff/canary-difference.ts';
import type { SourceDifference } from '../../src/review/diff/source-difference.ts';
import type { App } from '../../src/server/app.ts';
import type { ReleaseChanges } from '../../src/terminal/output.ts';
import { run } from './cli-run.ts';
import {
  type Bed,
  canary,
  condition,
  createSource,
  deployment,
  eventually,
  onGateway,
  runUntilInitialized,
  sourceFor,
  startBed,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';
import { configWith, deploymentWithConfig } from './with-config.ts';

let bed: Bed;
beforeEach(async () => {
  bed = await startBed();
});
afterEach(() => bed.close());

function diff(...more: string[]): ReturnType<typeof run> {
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
  const app = await runUntilInitialized(bed);
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
  const { code, stdout } = await diff('web', '-o', 'json');

  expect(table).toMatchObject({ code: 0, text: expect.stringContaining('no differences in') });
  expect(code).toBe(0);
  const found: CanaryDifference = JSON.parse(stdout);
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

  const { code, text, stdout } = await diff('canary/web', '-o', 'json');
  const { objects, findings }: CanaryDifference = JSON.parse(stdout);

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

test('an object that a deleted Source left behind is taken over; that of another one is refused by its name', async () => {
  await atRest({}, beside);
  const labelled = (name: string, source: string) =>
    patch(`configmaps/${name}`, { metadata: { labels: { [partOfLabel]: applySetIdOf(`shop/${source}`) } } });
  await labelled('notes', 'former');
  await labelled('theirs', 'till');
  const till = { ...sourceFor(bed, { suspend: true }), metadata: { name: 'till', namespace: 'shop' } };
  await bed.send('POST', '/apis/holdfast.dev/v1alpha1/namespaces/shop/sources', till);
  bed.sandbox.requests.clear();

  const all = JSON.parse((await diff('source/shop', '-o', 'json')).stdout) as SourceDifference;
  const lists = bed.sandbox.requests.all().filter(({ path }) => path.endsWith('/v1alpha1/sources'));
  const restore = bed.sandbox.fault(({ path }) =>
    path.endsWith('/v1alpha1/sources') ? { code: 403, reason: 'Forbidden', message: 'no' } : undefined,
  );
  const some = JSON.parse((await diff('source/shop', '-o', 'json')).stdout) as SourceDifference;
  restore();

  const objectIn = (found: SourceDifference, wanted: string) =>
    found.objects.find(({ name }) => name === wanted);
  expect(objectIn(all, 'notes')?.state).toBe('differs');
  expect(
    objectIn(all, 'notes')
      ?.fields.map(({ path }) => path)
      .join(),
  ).toContain(partOfLabel);
  expect(objectIn(all, 'theirs')).toMatchObject({
    state: 'refused',
    message: expect.stringContaining('Source shop/till applies it'),
  });
  expect(lists).toHaveLength(1);
  expect(objectIn(some, 'notes')?.state).toBe('refused');
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

test('a service account that a sync would take out of a workload is a difference', async () => {
  await bed.commit('v1', { 'plain.json': deployment('shop/web:1', { name: 'plain' }) });
  await createSource(bed);
  const app = await bed.start();
  await eventually('the workload is there', () => bed.get('apps/v1', 'Deployment', 'plain'));
  await eventually('the Source is ready', async () => statusOf(await bed.source()).appliedCommit);
  await app.drain();
  const path = '/apis/apps/v1/namespaces/shop/deployments/plain';
  const live = await bed.get('apps/v1', 'Deployment', 'plain');
  const { labels, annotations } = live?.metadata ?? {};
  const before = JSON.parse(deployment('shop/web:1', { name: 'plain' }));
  Object.assign(before.metadata, { labels, annotations });
  before.spec.template.spec.serviceAccountName = 'wide';
  const query = '?fieldManager=holdfast&force=true';
  expect((await bed.send('PATCH', `${path}${query}`, before, 'application/apply-patch+yaml')).status).toBe(
    200,
  );

  const { code, text } = await diff('source/shop');

  expect(text).toMatch(/Deployment shop\/plain +spec\.template\.spec\.serviceAccountName +\(absent\) +wide/);
  expect(code).toBe(1);
});

test('where a rewritten history waits and Git has lost the commit before, diff says what to do', async () => {
  const config = (level: string) => plain('ConfigMap', 'settings', { data: { level } });
  const first = await bed.commit('first', { 'config.json': config('info') });
  await createSource(bed);
  await bed.start();
  await eventually('it is applied', async () => statusOf(await bed.source()).appliedCommit === first);
  const second = await bed.rewrite('another history', { 'config.json': config('debug') });
  await eventually('it waits', async () => {
    return condition(await bed.source(), 'Ready')?.reason === 'HistoryRewritten';
  });
  await git(bed.repository, ['reflog', 'expire', '--expire=now', '--all']);
  await git(bed.repository, ['gc', '--quiet', '--prune=now']);

  const { code, text } = await diff('source/shop');

  expect(code).toBe(2);
  expect(text).toContain(`${first.slice(0, 7)} is gone from Git`);
  expect(text).toContain(`holdfast.dev/approve=rewrite:${second}`);
});

test('while a commit waits for other Sources, a Source is compared with the one that is applied', async () => {
  const config = (level: string) => plain('ConfigMap', 'settings', { data: { level } });
  const other = plain('ConfigMap', 'other', { data: { level: 'info' } });
  const first = await bed.commit('first', { 'app/config.json': config('info'), 'base/config.json': other });
  const sources = '/apis/holdfast.dev/v1alpha1/namespaces/shop/sources';
  const base = { ...sourceFor(bed, { path: 'base' }), metadata: { name: 'base', namespace: 'shop' } };
  await bed.send('POST', sources, base);
  await createSource(bed, { path: 'app', dependsOn: [{ name: 'base' }] });
  await bed.start();
  await eventually('it is applied', async () => statusOf(await bed.source()).appliedCommit === first);
  await bed.send('PATCH', `${sources}/base`, { spec: { suspend: true } });
  await bed.commit('second', { 'app/config.json': config('debug') });
  await eventually('it waits', async () => {
    return condition(await bed.source(), 'Ready')?.reason === 'DependencyNotReady';
  });

  const { code, text } = await diff('source/shop');

  expect([code, text]).toEqual([0, expect.stringContaining(`expected ${first.slice(0, 7)}`)]);
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
  expect(await diff('source/')).toMatchObject({ code: 2, text: expect.stringContaining('names no object') });
});

/** v1 is proven; v2 is analysed for long: another image, variable, key of a ConfigMap, Secret, and a ConfigMap that is new. */
async function midRollout(): Promise<{ v1: string; v2: string; app: App }> {
  const v1 = await bed.commit('Open the shop', {
    'web.json': deploymentWithConfig('shop/web:1'),
    'config.json': configWith('info'),
    'canary.json': canary(),
  });
  const app = await runUntilInitialized(bed);
  const changed = JSON.parse(deploymentWithConfig('shop/web:2'));
  const { containers } = changed.spec.template.spec;
  containers[0].envFrom.push({ configMapRef: { name: 'prices' } });
  containers[0].env = [{ name: 'API_TOKEN', value: 'swordfish' }];
  const v2 = await bed.commit('Add gift cards', {
    'web.json': JSON.stringify(changed),
    'config.json': configWith('debug').replace('hunter2', 'correct horse'),
    'prices.json': plain('ConfigMap', 'prices', { data: { currency: 'EUR' } }),
    'canary.json': canary({ analysis: { interval: '1m', iterations: 500 } }),
  });
  await waitForPhase(bed, 'Progressing');
  return { v1, v2, app };
}

test('in mid-rollout diff shows what the release changes and between which commits, and no secret', async () => {
  const { v1, v2 } = await midRollout();

  const { code, text, stdout } = await diff('canary/web', '-o', 'json');
  const table = await diff('canary/web');

  const { underWay, differs } = JSON.parse(stdout) as { underWay: ReleaseChanges; differs: boolean };
  expect([code, differs]).toEqual([0, false]);
  expect(underWay).toMatchObject({
    from: { commit: v1, subject: 'Open the shop' },
    to: { commit: v2, subject: 'Add gift cards' },
    notes: [],
  });
  expect(
    underWay.objects.map(({ kind, name, change, diff: lines }) => [
      `${kind} ${name} ${change}`,
      lines.filter((line) => /^[+-]/.test(line)).map((line) => line.replace(/\s+/g, ' ')),
    ]),
  ).toEqual([
    [
      'Deployment web changed',
      expect.arrayContaining(['- image: shop/web:1', '+ image: shop/web:2', '+ name: prices']),
    ],
    ['ConfigMap settings changed', ['- level: info', '+ level: debug']],
    ['Secret database changed', ['- password: (hidden, before)', '+ password: (hidden, after)']],
    ['ConfigMap prices added', expect.arrayContaining(['+ currency: EUR'])],
  ]);
  expect(table.text).toContain(`Release under way: ${v2.slice(0, 7)} Add gift cards`);
  expect(table.text).toMatch(/ConfigMap settings\n[\s\S]*?-\s+level: info\n\s+\+\s+level: debug/);
  expect(text + table.text).not.toMatch(/hunter2|correct horse|swordfish/);
});

test('explain and status count what the release changes, and say what shows all of it', async () => {
  await midRollout();
  const place = ['--kubeconfig', bed.kubeconfigPath, '-n', 'shop'];
  const counted =
    /Deployment web \(\+\d+ -\d+\), ConfigMap settings \(\+1 -1\), Secret database \(\+1 -1\), ConfigMap prices \(added\); all of it: holdfast diff -n shop canary\/web/;
  expect((await run('explain', 'canary/web', ...place)).text).toMatch(counted);
  expect((await run('status', 'canary/web', ...place)).text).toMatch(counted);
});

test('what cannot be read of a release is a note, and diff and status go on', async () => {
  const { app } = await midRollout();
  await app.drain();
  const { lastKnownGood } = statusOf(await bed.canary()) as CanaryStatus;
  await bed.send('DELETE', `/api/v1/namespaces/shop/secrets/${lastKnownGood?.record}`);

  const { stdout } = await run('status', 'canary/web', '--kubeconfig', bed.kubeconfigPath, '-n', 'shop');
  expect(stdout).toMatch(/What the release under way changes\n.*is gone/);
});
