import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sealedSecret, testKey } from '../../../src/render/sops/sealed.test-support.ts';
import { type BedClient, useBed, waitFor } from '../bed/client.ts';
import { createProgram, source } from './program.ts';

const bed: BedClient = useBed();
const namespaces = ['src-kustomize', 'src-helm'];
const program = createProgram(bed, namespaces, undefined);

beforeAll(async () => {
  const script = resolve(import.meta.dirname, '../../../scripts/programs-build.mjs');
  const built = JSON.parse(execFileSync(process.execPath, [script], { encoding: 'utf8' }));
  process.env.HOLDFAST_KUSTOMIZE = built.kustomize;
  process.env.HOLDFAST_HELM = built.helm;
  for (const namespace of namespaces) await bed.createNamespace(namespace);
  program.start();
});

afterAll(async () => expect(await program.stop()).toBe(0));

/** A repository with these files and a Source that follows it; `data` of a ConfigMap or Secret is waited for. */
async function open(namespace: string, files: Record<string, string>, spec: Record<string, unknown>) {
  const repository = await bed.createGitRepo(namespace);
  await repository.commit(files, 'first');
  await bed.apply([source(namespace, repository.url, spec)], namespace);
  const read = (kind: string, name: string) => bed.readObject(kind, namespace, name);
  return (kind: string, name: string, expected: Record<string, string>) =>
    waitFor(
      async () => {
        const found = await read(kind, name);
        const data = (found?.data ?? {}) as Record<string, string>;
        return Object.entries(expected).every(([key, value]) => data[key] === value);
      },
      {
        timeoutMs: 120_000,
        intervalMs: 100,
        what: `${namespace}: ${JSON.stringify(expected)}`,
        describe: async () => [await read('Source', 'shop'), await read(kind, name)],
      },
    );
}

describe.concurrent('renderers on a real API server', () => {
  test('a kustomization with variables and an encrypted Secret; a changed ConfigMap is applied without a commit', async () => {
    const namespace = 'src-kustomize';
    const key = {
      kind: 'Secret',
      apiVersion: 'v1',
      metadata: { name: 'sops-age' },
      stringData: { 'a.agekey': testKey },
    };
    const cluster = (region: string) => ({
      ...{ kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'cluster' } },
      data: { region },
    });
    await bed.apply([key, cluster('north')], namespace);
    const files = {
      'prod/kustomization.yaml': `namespace: ${namespace}\nresources: [../base, secret.yaml]\n`,
      'prod/secret.yaml': sealedSecret,
      'base/kustomization.yaml':
        'configMapGenerator: [{name: app, literals: ["region=${region}", "level=${level:=info}"], options: {disableNameSuffixHash: true}}]\n',
    };
    const from = [{ kind: 'ConfigMap', name: 'cluster' }];
    const decryption = { secretRef: { name: 'sops-age' } };
    const untilData = await open(namespace, files, {
      path: './prod',
      interval: '10m',
      substitute: { from },
      decryption,
    });
    await untilData('ConfigMap', 'app', { region: 'north', level: 'info' });
    await bed.apply([cluster('south')], namespace);
    await untilData('ConfigMap', 'app', { region: 'south' });
  });

  test('a chart with values of its Source', async () => {
    const namespace = 'src-helm';
    const files = {
      'Chart.yaml': 'apiVersion: v2\nname: web\nversion: 1.0.0\n',
      'templates/a.yaml':
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {x: {{ .Values.deep.er | quote }}, place: {{ .Release.Namespace }}}\n',
    };
    const untilData = await open(namespace, files, { helm: { values: { deep: { er: 'kept' } } } });
    await untilData('ConfigMap', 'app', { x: 'kept', place: namespace });
  });
});
