import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { makeJourney, type SaidMove } from '../move/journey.ts';
import { playArgo, playFlux, toolCrds } from '../move/tools.ts';
import { run } from './cli-run.ts';
import { canary, configMap, deployment, eventually, statusOf, waitForPhase } from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
let tree: string;
beforeEach(async () => {
  bed = await startQuickBed();
  tree = await mkdtemp(join(tmpdir(), 'holdfast-move-'));
  await mkdir(join(tree, 'prod'));
  for (const crd of toolCrds)
    await bed.send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd);
  for (const name of ['flux-system', 'argocd'])
    await bed.send('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
});
afterEach(async () => {
  await bed.close();
  await rm(tree, { recursive: true, force: true });
});

const files = {
  'web.json': deployment('shop/web:1', { env: { MODE: 'fast', OLD: '1' } }),
  'settings.json': configMap('settings', { mode: 'fast', old: '1' }),
  'extra.json': JSON.stringify({
    ...JSON.parse(configMap('settings')),
    metadata: { name: 'extra', namespace: 'shop' },
  }),
};
const wanted = Object.values(files).map((text) => JSON.parse(text) as KubernetesObject);

async function uids(): Promise<string[]> {
  const lists = await Promise.all(
    [
      '/api/v1/namespaces/shop/pods',
      '/apis/apps/v1/namespaces/shop/deployments',
      '/api/v1/namespaces/shop/configmaps',
    ].map((path) => bed.send('GET', path)),
  );
  return lists
    .flatMap(({ body }) => (body as { items: KubernetesObject[] }).items)
    .map(({ metadata }) => metadata.uid ?? '')
    .sort();
}

async function say(tool: string, isBack = false): Promise<SaidMove> {
  const { stdout } = await run(
    ...(isBack ? ['handback', '--to', tool] : ['migrate', 'steps', '--from', tool]),
    join(tree, 'prod'),
    '--kubeconfig',
    bed.kubeconfigPath,
    '-o',
    'json',
  );
  const [first = { name: '', stops: [], steps: [] }] = (JSON.parse(stdout) as { moves: SaidMove[] }).moves;
  return first;
}

const extra = () => bed.get('v1', 'ConfigMap', 'extra');
const data = async () => JSON.stringify((await bed.get('v1', 'ConfigMap', 'settings'))?.data);

/** A tool that looks at Git and applies, as long as its object in the tree is there. */
type Tool = ReturnType<typeof playFlux> | ReturnType<typeof playArgo>;

/** The tool has applied what Git holds, and Holdfast runs beside it. Gives the uids of all there is. */
async function begin(tool: Tool): Promise<string[]> {
  await bed.commit('first', files);
  await tool.look(wanted);
  await eventually('pods', async () => (await uids()).length === 5);
  const before = await uids();
  await bed.start({ trustedSourceNamespaces: ['flux-system', 'argocd'] });
  return before;
}

/** To a Source, a commit that takes something away, and back: nothing is deleted that is wanted, no pod restarts. Gives the titles of the steps. */
async function thereAndBack(
  name: 'flux' | 'argocd',
  owner: KubernetesObject,
): Promise<{ there: string[]; back: string[] }> {
  const tool = (name === 'flux' ? playFlux : playArgo)(bed, join(tree, 'prod'), owner);
  const before = await begin(tool);
  const journey = { api: bed, timeoutMs: 120_000 };
  const there = await makeJourney({ ...journey, look: () => tool.look(wanted), say: () => say(name) });
  expect(tool.deleted).toEqual([]);
  expect(await uids()).toEqual(before);
  const { apiVersion, kind, metadata } = owner;
  expect(await bed.get(apiVersion, kind, metadata.name, metadata.namespace)).toBeUndefined();
  await bed.commit('without extra, and less', {
    'extra.json': null,
    'settings.json': configMap('settings', { mode: 'fast' }),
  });
  await eventually('it is pruned', async () => !(await extra()));
  await eventually('and the field is gone', async () => (await data()) === '{"mode":"fast"}');

  const rest = [wanted[0], JSON.parse(configMap('settings', { mode: 'fast' }))] as KubernetesObject[];
  const kept = await uids();
  const look = () => tool.look(rest);
  const back = await makeJourney({ ...journey, look, say: () => say(name, true) });
  expect(tool.deleted).toEqual([]);
  expect(await uids()).toEqual(kept);
  await tool.look(rest.slice(0, 1));
  expect(tool.deleted).toEqual(['ConfigMap/settings']);
  return { there, back };
}

const fluxOwner = {
  apiVersion: 'kustomize.toolkit.fluxcd.io/v1',
  kind: 'Kustomization',
  metadata: { name: 'apps', namespace: 'flux-system' },
};

/** A GitRepository and a Kustomization in the tree. */
function writeFluxTree(): Promise<void> {
  const url = `${bed.git.url}/shop.git`;
  return writeFile(
    join(tree, 'prod', 'apps.yaml'),
    `# ours\napiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: apps, namespace: flux-system}\nspec: {interval: 1s, url: "${url}", ref: {branch: main}}\n---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: flux-system}\nspec:\n  interval: 10m\n  prune: true # all\n  sourceRef: {kind: GitRepository, name: apps}\n`,
  );
}

test('from Flux to a Source and back: nothing is deleted, no pod restarts, pruning works at both ends', async () => {
  await writeFluxTree();
  const { there, back } = await thereAndBack('flux', fluxOwner);
  expect(there).toEqual([
    'stop Flux from deleting',
    'stop Flux from applying',
    'let the Source take over the existing objects',
    'delete Kustomization flux-system/apps, but none of the objects it applied',
    'turn pruning on',
  ]);
  expect(back).toEqual([
    'stop Holdfast from applying and deleting',
    'let Kustomization flux-system/apps take over the existing objects',
    'delete Source flux-system/apps, but none of the objects it applied',
    'release the objects that Holdfast applied',
    'turn pruning on',
  ]);
  const text = await readFile(join(tree, 'prod', 'apps-flux.yaml'), 'utf8');
  expect(text).toContain('prune: true');
});

test('half-way to a Source the way back ends where it began', async () => {
  await writeFluxTree();
  const flux = playFlux(bed, join(tree, 'prod'), fluxOwner);
  const look = () => flux.look(wanted);
  const before = await begin(flux);
  const text = await readFile(join(tree, 'prod', 'apps.yaml'), 'utf8');

  const title = 'delete Kustomization flux-system/apps, but none of the objects it applied';
  const journey = { api: bed, look, timeoutMs: 120_000 };
  await makeJourney({ ...journey, before: title, say: () => say('flux') });
  await makeJourney({ ...journey, say: () => say('flux', true) });
  const after = await readFile(join(tree, 'prod', 'apps.yaml'), 'utf8');
  expect(after.replace('  suspend: false\n', '')).toBe(text);
  expect(flux.deleted).toEqual([]);
  expect(await uids()).toEqual(before);
  const settingsNow = await bed.get('v1', 'ConfigMap', 'settings');
  const managers = (settingsNow?.metadata.managedFields ?? []) as Array<{ manager: string }>;
  expect(managers.map(({ manager }) => manager)).toEqual(['kustomize-controller']);
});

test('with a Canary nothing is rolled out', async () => {
  await writeFluxTree();
  const target = JSON.parse(deployment('shop/web:1')) as KubernetesObject;
  delete (target.spec as { replicas?: number }).replicas;
  const shop = { 'web.json': JSON.stringify(target), 'canary.json': canary() };
  const objects = Object.values(shop).map((one) => JSON.parse(one) as KubernetesObject);
  await bed.commit('first', shop);
  const flux = playFlux(bed, join(tree, 'prod'), fluxOwner);
  const look = () => flux.look(objects);
  await look();
  await bed.start({ trustedSourceNamespaces: ['flux-system', 'argocd'] });
  await waitForPhase(bed, 'Initialized');
  await eventually('the target is at rest', async () => {
    const { replicas } = statusOf(await bed.get('apps/v1', 'Deployment', 'web'));
    return replicas === undefined || replicas === 0;
  });
  const pods = async () => (await uids()).length;
  await eventually('the primary alone', async () => (await pods()) === 3);
  const before = await uids();

  await makeJourney({ api: bed, look, timeoutMs: 120_000, say: () => say('flux') });
  expect(flux.deleted).toEqual([]);
  expect(await uids()).toEqual(before);
  expect(statusOf(await bed.canary())).toMatchObject({ phase: 'Initialized' });
  await bed.commit('v2', { 'web.json': shop['web.json'].replace('shop/web:1', 'shop/web:2') });
  await waitForPhase(bed, 'Succeeded');
});

test('from Argo CD to a Source and back: nothing is deleted, no pod restarts', async () => {
  const url = `${bed.git.url}/shop.git`;
  await writeFile(
    join(tree, 'prod', 'shop.yaml'),
    `apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: shop\n  namespace: argocd\n  finalizers:\n    - resources-finalizer.argocd.argoproj.io\nspec:\n  project: default\n  source: {repoURL: "${url}", path: ., targetRevision: main}\n  destination: {server: "https://kubernetes.default.svc", namespace: shop}\n  syncPolicy:\n    automated: {prune: true, selfHeal: true}\n`,
  );
  const owner = {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name: 'shop', namespace: 'argocd' },
  };
  const { there } = await thereAndBack('argocd', owner);
  expect(there).toEqual([
    'stop Argo CD from applying and deleting',
    'let the Source take over the existing objects',
    'delete Application argocd/shop, but none of the objects it applied',
    'turn pruning on',
  ]);
});
