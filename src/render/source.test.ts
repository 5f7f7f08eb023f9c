import { expect, test } from 'vitest';
import type { Source } from '../api/source/source.ts';
import { type Builder, createBuildCache } from './build/builder.ts';
import type { FolderFiles } from './build/process.ts';
import { memoryTree, treeFile } from './memory-tree.test-support.ts';
import { createRenderCache } from './render.ts';
import { type FileProblem, formatProblem, type SourceFile } from './rendered-object.ts';
import { decryptionWith } from './sops/decrypt.ts';
import { sealedSecret, testKey } from './sops/sealed.test-support.ts';
import { renderSource } from './source.ts';

const source: Source = {
  apiVersion: 'holdfast.dev/v1alpha1',
  kind: 'Source',
  metadata: { name: 'shop', namespace: 'delivery' },
  spec: { url: 'https://git.example.com/shop.git', ref: { branch: 'main' } },
};
const deployment = (name: string, image: string) =>
  `apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: ${name}}\nspec: {image: ${image}}\n`;

/** Stands for kustomize: prints the YAML files of its folder that are no kustomization, and notes that it ran. */
function printer(): Builder & { readonly ran: string[] } {
  const ran: string[] = [];
  return {
    ran,
    version: async () => 'v1',
    async run(args, files: FolderFiles) {
      const folder = args.at(-1) ?? '';
      ran.push(folder);
      const texts = [...files].filter(
        ([path]) => path.startsWith(`${folder}/`) && !path.includes('kustomization'),
      );
      return { ok: true, output: texts.map(([, bytes]) => new TextDecoder().decode(bytes)).join('---\n') };
    },
  };
}

function monorepo(applications: number): Record<string, string> {
  const files: Record<string, string> = {
    'base/kustomization.yaml': 'resources: [common.yaml]\n',
    'base/common.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: common}\n',
  };
  for (let index = 0; index < applications; index += 1) {
    files[`apps/a${index}/kustomization.yaml`] = 'resources: [deployment.yaml, ../../base]\n';
    files[`apps/a${index}/deployment.yaml`] = deployment(`a${index}`, 'app:1');
  }
  return files;
}

function renderer() {
  const kustomize = printer();
  const shared = {
    builders: { kustomize, helm: undefined },
    builds: createBuildCache(),
    cache: createRenderCache(),
  };
  const givenOf = (files: Record<string, string>, problems: readonly FileProblem[] = []) => {
    const own = Object.entries(files).filter(([path]) => path.startsWith('apps/') && /\.ya?ml$/.test(path));
    const selected = own.map(([path, text]): SourceFile => {
      const { oid, bytes } = treeFile(text);
      return { path, oid, bytes };
    });
    return { folder: 'apps', files: selected, problems, tree: memoryTree(files) };
  };
  const render = (files: Record<string, string>, problems?: readonly FileProblem[]) =>
    renderSource(source, givenOf(files, problems), { ...shared, signal: new AbortController().signal });
  return { kustomize, render, shared, givenOf };
}

test('one changed file in a monorepo of 1,000 applications renders one application', async () => {
  const { kustomize, render } = renderer();
  const files = monorepo(1_000);
  const first = await render(files);
  expect(kustomize.ran).toHaveLength(1_000);
  expect(first.read.flatMap(({ objects }) => objects)).toHaveLength(1_000);
  kustomize.ran.length = 0;
  await render(files);
  expect(kustomize.ran).toEqual([]);
  const changed = await render({ ...files, 'apps/a17/deployment.yaml': deployment('a17', 'app:2') });
  expect(kustomize.ran).toEqual(['apps/a17']);
  expect(JSON.stringify(changed.read)).toContain('app:2');
});

test('a changed base outside the path renders what refers to it, and is reported as outside', async () => {
  const { kustomize, render } = renderer();
  const files = {
    ...monorepo(2),
    'apps/alone/kustomization.yaml': 'resources: [a.yaml]\n',
    'apps/alone/a.yaml': deployment('x', 'y'),
  };
  const { outside } = await render(files);
  expect([...outside.keys()].sort()).toEqual(['base/common.yaml', 'base/kustomization.yaml']);
  kustomize.ran.length = 0;
  await render({
    ...files,
    'base/common.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n',
  });
  expect(kustomize.ran.sort()).toEqual(['apps/a0', 'apps/a1']);
});

test('a broken application is a problem of that file, and the others are rendered', async () => {
  const { render } = renderer();
  const files = { ...monorepo(2), 'apps/a0/kustomization.yaml': 'resources:\n  - https://example.com/x\n' };
  const { read } = await render(files);
  expect(read.flatMap(({ problems }) => problems).map(formatProblem)).toEqual([
    'apps/a0/kustomization.yaml:2: resources[0]: is remote, and nothing is fetched while rendering; copy it into the repository and reference it by path',
  ]);
  expect(read.flatMap(({ objects }) => objects).map(({ object }) => object.metadata.name)).toEqual(['a1']);
});

test('what cannot be read is reported, unless it lies where a program reads what it needs itself', async () => {
  const { render } = renderer();
  const unread = (file: string): FileProblem => ({ file, line: 0, message: 'is a symbolic link' });
  const { read } = await render(monorepo(2), [unread('apps/a1/notes.yaml'), unread('apps/own.yaml')]);
  expect(read.flatMap(({ problems }) => problems).map(formatProblem)).toEqual([
    'apps/own.yaml: is a symbolic link',
  ]);
});

test('a run that was cut short is not cached, so that it is tried again', async () => {
  const { kustomize, render } = renderer();
  const run = kustomize.run;
  kustomize.run = async () => ({ ok: false, reason: 'time', errorOutput: '' });
  const first = await render(monorepo(1));
  expect(first.isFleeting).toBe(true);
  kustomize.run = run;
  const second = await render(monorepo(1));
  expect(second.isFleeting).toBe(false);
  expect(second.read.flatMap(({ problems }) => problems)).toEqual([]);
});

test('objects tell what of them was encrypted, also through kustomize and from the cache, or came from Secrets', async () => {
  const { shared, givenOf } = renderer();
  const files = {
    'apps/plain.yaml': deployment('plain', 'app:1'),
    'apps/keys.yaml': sealedSecret,
    'apps/built/kustomization.yaml': 'resources: [keys.yaml]\n',
    'apps/built/keys.yaml': sealedSecret,
  };
  const variables = { values: new Map([['host', 'db.internal']]), secrets: ['pa55word'], strict: false };
  const decryption = await decryptionWith({ 'a.agekey': Buffer.from(testKey) });
  const signal = new AbortController().signal;
  const secretsBy = async (more: object) => {
    const { read } = await renderSource(source, givenOf(files), { ...shared, signal, decryption, ...more });
    const objects = read.flatMap((part) => part.objects);
    return Object.fromEntries(objects.map(({ origin, secrets }) => [origin.file, secrets]));
  };

  const sealed = expect.arrayContaining(['hunter2']);
  for (const _ of ['read', 'from the cache'])
    expect(await secretsBy({})).toEqual({
      'apps/plain.yaml': undefined,
      'apps/keys.yaml': sealed,
      'apps/built/kustomization.yaml': sealed,
    });
  expect(await secretsBy({ variables })).toEqual({
    'apps/plain.yaml': ['pa55word'],
    'apps/keys.yaml': expect.arrayContaining(['hunter2', 'pa55word']),
    'apps/built/kustomization.yaml': expect.arrayContaining(['hunter2', 'pa55word']),
  });
});

test('without the program the Source says which one it needs', async () => {
  const files = [{ path: 'Chart.yaml', bytes: new Uint8Array() }];
  const { read } = await renderSource(
    source,
    { folder: '', files, problems: [], tree: memoryTree({ 'Chart.yaml': '' }) },
    {
      builders: { kustomize: undefined, helm: undefined },
      builds: createBuildCache(),
      cache: createRenderCache(),
      signal: new AbortController().signal,
    },
  );
  expect(read.flatMap(({ problems }) => problems).map(formatProblem)).toEqual([
    'Chart.yaml: needs helm, which is not installed where Holdfast runs; set its path with --helm',
  ]);
});

test('of 1,000 plain files and of 1,000 kustomizations one changed file renders one again', async () => {
  const { render } = renderer();
  const plain = Object.fromEntries(
    Array.from({ length: 1_000 }, (_, index) => [`apps/p${index}.yaml`, deployment(`p${index}`, 'app:1')]),
  );
  const before = { ...plain, ...monorepo(1_000) };
  const first = await render(before);
  const onlyPlain = await render({ ...before, 'apps/p7.yaml': deployment('p7', 'app:2') });
  const onlyBuilt = await render({ ...before, 'apps/a7/deployment.yaml': deployment('a7', 'app:2') });
  expect([first.renderedCount, onlyPlain.renderedCount]).toEqual([2_000, 1]);
  // The plain file went back to what it was, which no cache holds any more.
  expect(onlyBuilt.renderedCount).toBe(2);
});
