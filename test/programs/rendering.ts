import { relative, resolve } from 'node:path';
import type { Source } from '../../src/api/source/source.ts';
import { createRenderCache, renderPlain } from '../../src/render/render.ts';
import { formatProblem, type SourceFile } from '../../src/render/rendered-object.ts';
import type { Decryption } from '../../src/render/sops/decrypt.ts';
import { renderSource } from '../../src/render/source.ts';
import type { Tree } from '../../src/render/tree.ts';
import { localFolder } from '../../src/review/local-files.ts';
import { realBuilders } from './programs.ts';

const shared = realBuilders();

/** A Source with nothing but a name; `spec` is what a test is about. */
export function sourceWith(spec: Partial<Source['spec']> = {}): Source {
  return {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name: 'shop', namespace: 'delivery' },
    spec: { url: 'https://git.example.com/shop.git', ref: { branch: 'main' }, ...spec },
  };
}

/** Renders a folder of a tree with the real programs: objects, `file:line` of each, and problems as people see them. */
export async function renderTree(
  source: Source,
  tree: Tree,
  folder: string,
  more: { readonly decryption?: Decryption } = {},
) {
  const { files } = await tree.readAll(folder);
  const manifests = [...files].filter(([path]) => /\.(ya?ml|json)$|Kustomization$/.test(path));
  const given = manifests.map(([path, { oid, bytes }]): SourceFile => ({ path, oid, bytes }));
  const { read } = await renderSource(
    source,
    { folder, files: given, problems: [], tree },
    { ...shared, ...more, cache: createRenderCache(), signal: new AbortController().signal },
  );
  const entries = read.flatMap(({ objects }) => objects);
  return {
    objects: entries.map(({ object }) => object),
    origins: entries.map(({ object, origin }) => `${object.kind} ${origin.file}:${origin.line}`),
    problems: read.flatMap(({ problems }) => problems).map(formatProblem),
  };
}

/** The same for a folder of the checkout; paths are from the checkout's root. */
export function renderFolder(source: Source, folder: string) {
  const local = localFolder(folder);
  return renderTree(source, local.tree, local.folder);
}

/** The objects in what a program printed. */
export function objectsIn(output: string) {
  const { objects, problems } = renderPlain([{ path: 'output', bytes: new TextEncoder().encode(output) }]);
  if (problems.length > 0) throw new Error(problems.map(formatProblem).join('\n'));
  return objects.map(({ object }) => object);
}

/** A path of the checkout from its root. */
export function fromRoot(path: string): string {
  return relative(resolve(import.meta.dirname, '../..'), path);
}
