import { expect, test } from 'vitest';
import type { SourceFile } from './rendered-object.ts';
import { unitsOf } from './units.ts';

const files = (...paths: string[]): SourceFile[] => paths.map((path) => ({ path, bytes: new Uint8Array() }));

test.each([
  ['a kustomization at the path', ['a/kustomization.yaml', 'a/x.yaml'], 'auto', ['kustomize a'], []],
  ['a chart at the path', ['a/Chart.yaml', 'a/templates/x.yaml'], 'auto', ['helm a'], []],
  ['both', ['a/Chart.yaml', 'a/kustomization.yml'], 'auto', ['kustomize a'], []],
  ['neither', ['a/x.yaml', 'a/b/y.yaml'], 'auto', [], ['a/x.yaml', 'a/b/y.yaml']],
  [
    'kustomizations below: the topmost of each branch',
    ['a/x.yaml', 'a/b/kustomization.yaml', 'a/b/c/kustomization.yaml', 'a/b/c/y.yaml', 'a/d/Kustomization'],
    'auto',
    ['kustomize a/b', 'kustomize a/d'],
    ['a/x.yaml'],
  ],
  ['plain on purpose', ['a/kustomization.yaml', 'a/x.yaml'], 'plain', [], ['a/x.yaml']],
  ['helm on purpose', ['a/kustomization.yaml'], 'helm', ['helm a'], []],
] as const)('%s', (_, paths, renderer, units, plain) => {
  const found = unitsOf(files(...paths), 'a', renderer);
  expect(found.units.map(({ program, folder }) => `${program} ${folder}`)).toEqual(units);
  expect(found.plain.map(({ path }) => path)).toEqual(plain);
  expect(found.problems).toEqual([]);
});

test('a chart below a plain path is refused, and its templates are not read', () => {
  const found = unitsOf(
    files('a/x.yaml', 'a/c/Chart.yaml', 'a/c/templates/y.yaml', 'a/c/charts/d/Chart.yaml'),
    'a',
  );
  expect(found.plain.map(({ path }) => path)).toEqual(['a/x.yaml']);
  expect(found.problems.map(({ file }) => file)).toEqual(['a/c/Chart.yaml']);
});
