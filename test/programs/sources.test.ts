import { afterEach, beforeEach, expect, test } from 'vitest';
import { imageOf } from '../objects.ts';
import {
  type Bed,
  canary,
  condition,
  deployment,
  eventually,
  sourceFor,
  startBed,
  statusOf,
  waitForPhase,
} from '../sandbox/holdfast-bed.ts';
import { programs } from './programs.ts';

let bed: Bed;
beforeEach(async () => {
  bed = await startBed();
});
afterEach(() => bed.close());

async function addSource(name: string, spec: Record<string, unknown>): Promise<void> {
  const path = '/apis/holdfast.dev/v1alpha1/namespaces/shop/sources';
  const source = { ...(sourceFor(bed, spec) as object), metadata: { name, namespace: 'shop' } };
  expect((await bed.send('POST', path, source)).status).toBe(201);
}

function ready(name: string, reason: string): Promise<string> {
  const read = () => bed.get('holdfast.dev/v1alpha1', 'Source', name);
  return eventually(
    `${name}: ${reason}`,
    async () => {
      const found = condition(await read(), 'Ready');
      return found?.reason === reason && found.message;
    },
    { seen: async () => statusOf(await read()) },
  );
}

const overlay = (tag: string) =>
  `resources: [../../base]\nimages: [{name: example.com/web, newTag: "${tag}"}]\n`;
const base = {
  'base/kustomization.yaml': 'resources: [web.json, canary.json]\n',
  'base/web.json': deployment('example.com/web:0'),
  'base/canary.json': canary(),
};
const chart = 'apiVersion: v2\nname: web\nversion: 1.0.0\n';

test('a kustomization is rolled out, also when only its base outside the path changes', async () => {
  await bed.commit('first', { 'apps/web/kustomization.yaml': overlay('1') });
  await addSource('web', { path: './apps/web' });
  await bed.start({ programs });
  expect(await ready('web', 'InvalidManifests')).toMatch(
    /^apps\/web\/kustomization\.yaml:1: resources\[0\]: \.\.\/\.\.\/base does not exist in the repository/,
  );
  await bed.commit('the base', base);
  await waitForPhase(bed, 'Initialized');
  const image = async () => imageOf(await bed.get('apps/v1', 'Deployment', 'web-primary'));
  expect(await image()).toBe('example.com/web:1');
  const grown = deployment('example.com/web:0', { env: { GREETING: 'hi' } });
  await bed.commit('a new base', { 'base/web.json': grown });
  await waitForPhase(bed, 'Succeeded');
  expect(JSON.stringify(await bed.get('apps/v1', 'Deployment', 'web-primary'))).toContain('GREETING');
});

test('a chart sees the version of the cluster and the kinds that it serves', async () => {
  const { body } = await bed.send('GET', '/version');
  const version = /^v[\d.]+/.exec((body as { gitVersion: string }).gitVersion)?.[0];
  const asks = [
    'version: {{ .Capabilities.KubeVersion.Version | quote }}',
    'canaries: {{ .Capabilities.APIVersions.Has "flagger.app/v1beta1/Canary" | quote }}',
    'monitors: {{ .Capabilities.APIVersions.Has "monitoring.coreos.com/v1" | quote }}',
  ];
  await bed.commit('first', {
    'web/Chart.yaml': `${chart}kubeVersion: ">=1.30.0"\n`,
    'web/templates/a.yaml': `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: seen, namespace: shop}\ndata:\n  ${asks.join('\n  ')}\n`,
  });
  await addSource('web', { path: './web' });
  await bed.start({ programs });
  await ready('web', 'Applied');
  const seen = (await bed.get('v1', 'ConfigMap', 'seen'))?.data;
  expect(seen).toEqual({ version, canaries: 'true', monitors: 'false' });
});

test('a chart waits for the version of the cluster and says so, and other Sources go on', async () => {
  const map = (name: string) =>
    `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n  namespace: shop\ndata:\n  x: y\n`;
  const refusal = { code: 403, reason: 'Forbidden', message: 'no' };
  const allow = bed.sandbox.fault(({ path }) => (path === '/version' ? refusal : undefined));
  await bed.commit('first', {
    'web/Chart.yaml': chart,
    'web/templates/a.yaml': map('of-chart'),
    'plain/a.yaml': map('plain'),
  });
  await addSource('web', { path: './web', prune: true });
  await addSource('plain', { path: './plain' });
  await bed.start({ programs });
  await ready('plain', 'Applied');
  expect(await ready('web', 'Forbidden')).toContain('the version of the server');
  expect(await bed.get('v1', 'ConfigMap', 'of-chart')).toBeUndefined();
  allow();
  await ready('web', 'Applied');
  expect(await bed.get('v1', 'ConfigMap', 'of-chart')).toBeDefined();
});

test('hostile folders are refused with file and line, and other Sources go on', async () => {
  const map = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: good\n  namespace: shop\ndata:\n  x: ';
  await bed.commit('first', {
    'remote/kustomization.yaml': 'resources:\n  - a.yaml\n  - https://example.com/base\n',
    'remote/a.yaml': `${map}y\n`,
    'endless/Chart.yaml': chart,
    'endless/templates/a.yaml':
      '{{ range until 100000 }}{{ range until 100000 }}{{ $x := sha256sum "x" }}{{ end }}{{ end }}',
    'good/Chart.yaml': chart,
    'good/templates/a.yaml': `${map}{{ .Values.x }}\n`,
  });
  await addSource('endless', { path: './endless' });
  await addSource('remote', { path: './remote' });
  await bed.start({ programs });
  await addSource('good', { path: './good', helm: { values: { x: 'fine' } } });
  await ready('good', 'Applied');
  expect((await bed.get('v1', 'ConfigMap', 'good'))?.data).toEqual({ x: 'fine' });
  expect(await ready('remote', 'InvalidManifests')).toMatch(
    /^remote\/kustomization\.yaml:3: resources\[1\]: is remote/,
  );
  expect(await ready('endless', 'InvalidManifests')).toMatch(/^endless\/Chart\.yaml: helm timed out/);
});

test('what leaves a kustomization or a chart is deleted, and nothing is while it cannot be rendered', async () => {
  const map = (name: string) =>
    `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n  namespace: shop\ndata:\n  x: y\n`;
  await bed.commit('first', {
    'kust/kustomization.yaml': 'resources: [kept.yaml, left.yaml]\n',
    'kust/kept.yaml': map('kust-kept'),
    'kust/left.yaml': map('kust-left'),
    'helm/Chart.yaml': chart,
    'helm/templates/kept.yaml': map('helm-kept'),
    'helm/templates/left.yaml': `{{ if .Values.left }}\n${map('helm-left')}{{ end }}\n`,
    'helm/values.yaml': 'left: true\n',
  });
  await addSource('kust', { path: './kust', prune: true });
  await addSource('helm', { path: './helm', prune: true });
  await bed.start({ programs });
  await Promise.all([ready('kust', 'Applied'), ready('helm', 'Applied')]);

  await bed.commit('broken', {
    'kust/kustomization.yaml': 'resources: [kept.yaml, none.yaml]\n',
    'helm/templates/left.yaml': '{{ if }}\n',
  });
  await Promise.all([ready('kust', 'InvalidManifests'), ready('helm', 'InvalidManifests')]);
  expect(await mapsThere()).toEqual(['helm-kept', 'helm-left', 'kust-kept', 'kust-left']);

  await bed.commit('without', {
    'kust/kustomization.yaml': 'resources: [kept.yaml]\n',
    'helm/templates/left.yaml': `{{ if .Values.left }}\n${map('helm-left')}{{ end }}\n`,
    'helm/values.yaml': 'left: false\n',
  });
  await eventually('the maps that left are deleted', async () => {
    const there = await mapsThere();
    return there.length === 2 && there;
  });
  expect(await mapsThere()).toEqual(['helm-kept', 'kust-kept']);
});

async function mapsThere(): Promise<string[]> {
  const names = ['helm-kept', 'helm-left', 'kust-kept', 'kust-left'];
  const found = await Promise.all(names.map((name) => bed.get('v1', 'ConfigMap', name)));
  return names.filter((_, index) => found[index] !== undefined);
}
