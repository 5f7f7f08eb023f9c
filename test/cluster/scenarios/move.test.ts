import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubernetesObject } from '../../../src/api/kubernetes.ts';
import { move } from '../../../src/cli/migrate/queries.ts';
import { makeJourney, type SaidMove } from '../../move/journey.ts';
import { type Api, type PlayedTool, playArgo, playFlux, toolCrds } from '../../move/tools.ts';
import { ApiError } from '../bed/api-client.ts';
import { type BedClient, useBed, waitFor } from '../bed/client.ts';
import { deployment } from '../bed/manifests.ts';
import { createProgram } from './program.ts';

const bed: BedClient = useBed();
const namespaces = ['move-flux', 'move-argocd'];
const program = createProgram(bed, namespaces, undefined);

beforeAll(async () => {
  await bed.define(toolCrds);
  for (const namespace of namespaces) await bed.createNamespace(namespace);
  program.start();
});
afterAll(() => program.stop());

const api: Api = {
  async send(method, path, body, contentType) {
    const headers = contentType ? { 'content-type': contentType } : {};
    try {
      return { status: 200, body: await bed.api.request(method, path, body, headers) };
    } catch (error) {
      if (error instanceof ApiError && error.status > 0) return { status: error.status, body: error.message };
      throw error;
    }
  },
};

const tools = {
  flux: {
    play: playFlux,
    tree: (url: string, namespace: string) =>
      `apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: apps, namespace: ${namespace}}\nspec: {interval: 1s, url: "${url}", ref: {branch: main}}\n---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: ${namespace}}\nspec: {interval: 10m, prune: true, sourceRef: {kind: GitRepository, name: apps}}\n`,
    owner: { apiVersion: 'kustomize.toolkit.fluxcd.io/v1', kind: 'Kustomization' },
  },
  argocd: {
    play: playArgo,
    tree: (url: string, namespace: string) =>
      `apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: apps, namespace: ${namespace}, finalizers: [resources-finalizer.argocd.argoproj.io]}\nspec:\n  project: default\n  source: {repoURL: "${url}", path: ., targetRevision: main}\n  destination: {server: "https://kubernetes.default.svc", namespace: ${namespace}}\n  syncPolicy: {automated: {prune: true}}\n`,
    owner: { apiVersion: 'argoproj.io/v1alpha1', kind: 'Application' },
  },
};

/** A Deployment, its Service and ConfigMaps, as they are in Git. */
function application(namespace: string): Record<string, KubernetesObject> {
  const config = (name: string, data: Record<string, string>): KubernetesObject => ({
    ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data },
  });
  const web = deployment({ name: 'web', image: 'app:v1', env: { MODE: 'fast' } });
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace },
    spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
  };
  return {
    'web.json': { ...web, metadata: { ...web.metadata, namespace } },
    'service.json': service,
    'settings.json': config('settings', { mode: 'fast', old: '1' }),
    'extra.json': config('extra', {}),
  };
}

async function uidsIn(namespace: string): Promise<string[]> {
  const kinds = ['Pod', 'Deployment', 'Service', 'ConfigMap'];
  const found = await Promise.all(kinds.map((kind) => bed.listObjects(kind, namespace)));
  return found
    .flat()
    .map(({ metadata }) => metadata.uid ?? '')
    .sort();
}

describe.concurrent('a move', () => {
  test.each(['flux', 'argocd'] as const)(
    'from %s to a Source and back deletes and restarts nothing',
    async (tool) => {
      const namespace = `move-${tool}`;
      const folder = mkdtempSync(join(tmpdir(), `holdfast-${namespace}-`));
      const prod = join(folder, 'prod');
      mkdirSync(prod);
      const repository = await bed.createGitRepo(namespace);
      const files = application(namespace);
      const texts = (some: Record<string, KubernetesObject | null>) =>
        Object.fromEntries(
          Object.entries(some).map(([path, object]) => [path, object && JSON.stringify(object)]),
        );
      await repository.commit(texts(files), 'first');
      writeFileSync(join(prod, 'apps.yaml'), tools[tool].tree(repository.url, namespace));
      const owner = { ...tools[tool].owner, metadata: { name: 'apps', namespace } };
      const played: PlayedTool = tools[tool].play(api, prod, owner);
      const look = () => played.look(Object.values(files));
      await look();
      await waitFor(async () => (await bed.listObjects('Pod', namespace)).length === 1, {
        timeoutMs: 60_000,
        what: 'pods',
      });
      const before = await uidsIn(namespace);

      const say = async (isBack: boolean): Promise<SaidMove> => {
        const flags = { kubeconfig: bed.kubeconfigPath, output: 'json' } as const;
        const { stdout } = await move({ tool, path: prod, isBack }, flags, { version: '0.0.0' });
        const [first = { name: '', stops: [], steps: [] }] = (JSON.parse(stdout) as { moves: SaidMove[] })
          .moves;
        return first;
      };
      await makeJourney({ api, look, timeoutMs: 120_000, say: () => say(false) });
      expect(played.deleted).toEqual([]);
      expect(await uidsIn(namespace)).toEqual(before);

      const settings = { ...files['settings.json'], data: { mode: 'fast' } } as KubernetesObject;
      await repository.commit(texts({ 'extra.json': null, 'settings.json': settings }), 'less');
      await bed.kubectl(['-n', namespace, 'annotate', 'source/apps', 'holdfast.dev/sync=now']);
      const until = (what: string, holds: () => Promise<boolean>) =>
        waitFor(holds, {
          timeoutMs: 60_000,
          what,
          describe: () => bed.readObject('Source', namespace, 'apps'),
        });
      await until('it is pruned', async () => !(await bed.readObject('ConfigMap', namespace, 'extra')));
      await until('and the field is gone', async () => {
        const live = await bed.readObject('ConfigMap', namespace, 'settings');
        return JSON.stringify(live?.data) === '{"mode":"fast"}';
      });

      const rest: Record<string, KubernetesObject> = { ...files, 'settings.json': settings };
      delete rest['extra.json'];
      const kept = await uidsIn(namespace);
      const lookAgain = () => played.look(Object.values(rest));
      await makeJourney({ api, look: lookAgain, timeoutMs: 120_000, say: () => say(true) });
      expect(played.deleted).toEqual([]);
      expect(await uidsIn(namespace)).toEqual(kept);
      const deletions = bed
        .auditedRequests({ userAgent: 'holdfast/' })
        .filter(({ verb, objectRef, stage }) => {
          return verb === 'delete' && stage === 'ResponseComplete' && objectRef?.namespace === namespace;
        });
      expect(deletions.map(({ objectRef }) => objectRef?.name)).toEqual(['extra']);
      await played.look(Object.values(rest).filter(({ metadata }) => metadata.name !== 'settings'));
      expect(played.deleted).toEqual(['ConfigMap/settings']);
      rmSync(folder, { recursive: true, force: true });
    },
  );
});
