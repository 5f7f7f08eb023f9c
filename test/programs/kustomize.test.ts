import { once } from 'node:events';
import { mkdtempSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { limits } from '../../src/api/limits.ts';
import { collectKustomization } from '../../src/render/build/collect.ts';
import { withoutNetwork } from '../../src/render/build/process.ts';
import { findBuilders } from '../../src/render/build/programs.ts';
import { askForOrigins, kustomizeArgs, takeOrigins } from '../../src/render/kustomize/kustomize.ts';
import { memoryTree } from '../../src/render/memory-tree.test-support.ts';
import { localFolder } from '../../src/review/local-files.ts';
import { programs, runByHand } from './programs.ts';
import { objectsIn, renderFolder, renderTree, sourceWith } from './rendering.ts';

const example = resolve(import.meta.dirname, '../../examples/kustomize/repository');
const overlay = join(example, 'overlays/production');
const everyFolder = ['base', 'overlays/production'];
const deployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "example.com/web:1"}]}
`;
/** Much of what kustomize can do, with names, annotations and order changed. */
const rich: Record<string, string> = {
  'app/kustomization.yaml': `
namePrefix: prod-
namespace: shop
sortOptions: {order: legacy}
commonAnnotations: {note: "a: b"}
resources: [../base, extra.yaml]
components: [../part]
configMapGenerator: [{name: settings, literals: [a=1], options: {annotations: {note: own}}}]
secretGenerator: [{name: keys, literals: [k=v]}]
patches:
  - target: {kind: Deployment}
    patch: |-
      - op: add
        path: /metadata/annotations/patched
        value: "yes"
replacements:
  - source: {kind: ConfigMap, name: other, fieldPath: data.text}
    targets: [{select: {kind: Deployment}, fieldPaths: [metadata.annotations.text], options: {create: true}}]
`,
  'app/extra.yaml': `apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: ConfigMap
    metadata: {name: other}
    data: {text: "metadata:\\n    config.kubernetes.io/origin: |\\n      path: x\\n"}
  - apiVersion: v1
    kind: Service
    metadata: {name: web, annotations: {a: b}}
    spec: {ports: [{port: 80}]}
`,
  'base/kustomization.yaml': 'resources: [web.yaml]\n',
  'base/web.yaml': deployment,
  'part/kustomization.yaml':
    'apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nlabels: [{pairs: {part: tls}}]\n',
};

/** Our text, once without the question for origins and once with it, the answers taken out again. */
async function texts(files: Record<string, string>, folder: string) {
  const kustomize = findBuilders(programs, mkdtempSync(join(tmpdir(), 'holdfast-bytes-'))).kustomize;
  if (!kustomize) throw new Error('kustomize was not built');
  const { files: found } = await collectKustomization(folder, memoryTree(files));
  const given = new Map([...found].map(([path, { bytes }]) => [path, bytes]));
  const own = `${folder}/kustomization.yaml`;
  const signal = new AbortController().signal;
  const plain = await kustomize.run(kustomizeArgs(folder), given, signal);
  given.set(own, askForOrigins(own, given.get(own) ?? new Uint8Array(), limits) ?? new Uint8Array());
  const asked = await kustomize.run(kustomizeArgs(folder), given, signal);
  if (!plain.ok || !asked.ok) throw new Error(JSON.stringify([plain, asked]));
  return {
    plain: plain.output,
    taken: takeOrigins(asked.output, folder)
      .map(({ text }) => text)
      .join('---\n'),
  };
}

test('a folder that is named like a flag is a folder', async () => {
  const folder = '--output=stolen';
  const tree = memoryTree({
    [`${folder}/kustomization.yaml`]: 'resources: [a.yaml]\n',
    [`${folder}/a.yaml`]: 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n',
  });
  const { objects, problems } = await renderTree(sourceWith(), tree, folder);
  expect(problems).toEqual([]);
  expect(objects).toMatchObject([{ metadata: { name: 'a' } }]);
});

describe('the example', () => {
  it('gives the objects that kustomize prints, each with the file it came from', async () => {
    const { objects, origins, problems } = await renderFolder(sourceWith(), overlay);
    expect(problems).toEqual([]);
    expect(objects).toEqual(objectsIn(runByHand(programs.kustomize, ['build', overlay], '/')));
    const base = 'examples/kustomize/repository/base';
    expect(origins).toEqual([
      `ConfigMap ${base}/kustomization.yaml:1`,
      `Deployment ${base}/deployment.yaml:1`,
      `Canary ${base}/canary.yaml:1`,
    ]);
  });

  it('has every kustomization of the examples', () => {
    const below = readdirSync(resolve(example, '../..'), { recursive: true, encoding: 'utf8' });
    const found = below.filter((path) => path.endsWith('/kustomization.yaml')).map(dirname);
    expect(found.sort()).toEqual(everyFolder.map((path) => join('kustomize/repository', path)).sort());
  });

  it.each(everyFolder)('gives the same bytes as kustomize: %s', async (path) => {
    const { tree, folder } = localFolder(example);
    const { files } = await tree.readAll(folder);
    const text = new TextDecoder();
    const all = Object.fromEntries([...files].map(([name, { bytes }]) => [name, text.decode(bytes)]));
    const { plain, taken } = await texts(all, `${folder}/${path}`);
    expect(plain).toBe(runByHand(programs.kustomize, ['build', join(example, path)], '/'));
    expect(taken).toBe(plain);
  });
});

test('a rich kustomization gives the same bytes with origins taken out again', async () => {
  const { plain, taken } = await texts(rich, 'app');
  expect(plain).toContain('prod-keys-');
  expect(taken).toBe(plain);
  const { problems, origins } = await renderTree(sourceWith(), memoryTree(rich), 'app');
  expect(problems).toEqual([]);
  expect(origins.sort()).toEqual([
    'ConfigMap app/extra.yaml:4',
    'ConfigMap app/kustomization.yaml:1',
    'Deployment base/web.yaml:1',
    'Secret app/kustomization.yaml:1',
    'Service app/extra.yaml:8',
  ]);
});

describe('what kustomize itself refuses is a problem of the kustomization', () => {
  const refused: ReadonlyArray<[string, Record<string, string>, RegExp]> = [
    [
      'a patch without a target',
      {
        'app/kustomization.yaml': 'resources: [a.yaml]\npatches: [{path: p.yaml}]\n',
        'app/a.yaml': deployment,
        'app/p.yaml': deployment.replace('name: web', 'name: none'),
      },
      /^app\/kustomization\.yaml: kustomize failed: no resource matches strategic merge patch/,
    ],
    [
      'a file above its own kustomization',
      { 'app/kustomization.yaml': 'resources: [../a.yaml]\n', 'a.yaml': deployment },
      /^app\/kustomization\.yaml: kustomize failed: .*security; file/,
    ],
    [
      'a generator that would run a program',
      {
        'app/kustomization.yaml': 'generators: [g.yaml]\n',
        'app/g.yaml':
          'apiVersion: example.com/v1\nkind: Gen\nmetadata:\n  name: g\n  annotations:\n    config.kubernetes.io/function: "exec: {path: ./run}"\n',
      },
      /^app\/g\.yaml:2: kind: is not a builtin generator/,
    ],
    [
      'bases that refer to one another',
      { 'app/kustomization.yaml': 'resources: [../b]\n', 'b/kustomization.yaml': 'resources: [../app]\n' },
      /kustomize failed: .*cycle detected/,
    ],
  ];
  it.each(refused)('%s', async (_, files, expected) => {
    const { objects, problems } = await renderTree(sourceWith(), memoryTree(files), 'app');
    expect(objects).toEqual([]);
    expect(problems.join('\n')).toMatch(expected);
    expect(problems.join('\n')).not.toContain(tmpdir());
  });
});

test('aliases that kustomize alone would expand end at the limit of memory or of time', async () => {
  const layers = Array.from({ length: 9 }, (_, index) =>
    index === 0
      ? 'a0: &a0 [x]'
      : `a${index}: &a${index} [${Array(9)
          .fill(`*a${index - 1}`)
          .join(',')}]`,
  );
  const files = {
    'app/kustomization.yaml': 'crds: [bomb.json]\nresources: [a.yaml]\n',
    'app/a.yaml': deployment,
    'app/bomb.json': layers.join('\n'),
  };
  const { problems } = await renderTree(sourceWith(), memoryTree(files), 'app');
  expect(problems.join('\n')).toMatch(/^app\/kustomization\.yaml: kustomize /);
});

describe('a server on this machine is not reached', () => {
  const ways: ReadonlyArray<[string, (url: string) => string]> = [
    ['a field in another case', (url) => `ConfigMapGenerator: [{name: a, files: ["k=${url}"]}]\n`],
    [
      'a field of an entry in another case',
      (url) => `configMapGenerator: [{name: a, FILES: ["k=${url}"]}]\n`,
    ],
    [
      'a generator as text',
      (url) =>
        `generators:\n- |\n  apiVersion: builtin\n  kind: ConfigMapGenerator\n  metadata: {name: a}\n  files: ["k=${url}"]\n`,
    ],
  ];
  it.each(ways)('by %s', async (_, kustomizationOf) => {
    let reached = 0;
    const server = createServer((_request, response) => {
      reached += 1;
      response.end('stolen');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const text = kustomizationOf(`http://127.0.0.1:${port}/x`);
    const { objects, problems } = await renderTree(
      sourceWith(),
      memoryTree({ 'app/kustomization.yaml': text }),
      'app',
    );
    expect(objects).toEqual([]);
    expect(problems.join('\n')).toMatch(/is not known here|is remote/);
    expect(reached).toBe(0);

    // Kustomize alone would ask; it cannot where it has a network of its own.
    const { kustomize } = findBuilders(programs, mkdtempSync(join(tmpdir(), 'holdfast-remote-')));
    const files = new Map([['app/kustomization.yaml', Buffer.from(text)]]);
    const result = await kustomize?.run(kustomizeArgs('app'), files, new AbortController().signal);
    server.close();
    const isSeparate = withoutNetwork().length > 0;
    expect(result?.ok).toBe(!isSeparate);
    expect(reached > 0).toBe(!isSeparate);
  });
});
