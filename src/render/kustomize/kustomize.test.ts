import { expect, test } from 'vitest';
import { measureEffort } from '../../../test/effort.ts';
import { limits } from '../../api/limits.ts';
import { lineOfField } from '../render.ts';
import { askForOrigins, placeOf, placesIn, takeOrigins } from './kustomize.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

test.each([
  ['resources: [a]', 'resources: [a]\nbuildMetadata: [originAnnotations]\n'],
  ['{resources: [a]}\n', undefined],
  ['resources: [a]\nbuildMetadata: [managedByLabel]\n', undefined],
  ['resources: [a]\n...\n', undefined],
  [
    'apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\nnamePrefix: ""\n',
    undefined,
  ],
])('asks for origins in %j only where one more line does', (text, expected) => {
  const asked = askForOrigins('k', bytes(text), limits);
  expect(asked && new TextDecoder().decode(asked)).toBe(expected);
});

test('takes origins out again, and annotations that were made for them', () => {
  const output = `apiVersion: v1
kind: ConfigMap
metadata:
  annotations:
    config.kubernetes.io/origin: |
      path: ../base/a.yaml
  name: a
---
apiVersion: v1
data:
  text: |
    metadata:
        config.kubernetes.io/origin: |
kind: ConfigMap
metadata:
  annotations:
    a: b
    config.kubernetes.io/origin: |
      configuredIn: kustomization.yaml
      configuredBy:
        kind: ConfigMapGenerator
    z: y
  name: b
---
kind: ConfigMap
`;
  expect(takeOrigins(output, 'apps/web')).toEqual([
    { text: 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n', file: 'apps/base/a.yaml' },
    {
      text: 'apiVersion: v1\ndata:\n  text: |\n    metadata:\n        config.kubernetes.io/origin: |\nkind: ConfigMap\nmetadata:\n  annotations:\n    a: b\n    z: y\n  name: b\n',
      file: 'apps/web/kustomization.yaml',
    },
    { text: 'kind: ConfigMap\n', file: undefined },
  ]);
});

test('finds the place of an object whose name was changed', () => {
  const places = placesIn(
    { path: 'a', bytes: bytes('kind: A\nmetadata: {name: one}\n---\nkind: B\nmetadata: {name: two}\n') },
    limits,
  );
  expect(placeOf(places, { kind: 'B', name: 'prod-two-x' })).toEqual({ line: 4, document: 1, items: [] });
  expect(placeOf(places, { kind: 'C', name: 'none' })).toEqual({ line: 1, document: 0, items: [] });
});

test('an empty document counts, so that the fields of the ones after it have their own lines', () => {
  const file = { path: 'a', bytes: bytes('kind: A\n---\n# none\n---\nkind: B\nspec:\n  a: 1\n') };
  const place = placeOf(placesIn(file, limits), { kind: 'B', name: '' });
  expect(lineOfField(file, { file: 'a', ...place }, 'spec.a', limits)).toBe(7);
});

test('texts on which patterns would backtrack are read at once', () => {
  const effort = measureEffort();
  expect(askForOrigins('k', bytes(`resources: [a]\n${'\n'.repeat(150_000)}b: c\n`), limits)).toBeDefined();
  expect(effort()).toBeLessThan(500);
});
