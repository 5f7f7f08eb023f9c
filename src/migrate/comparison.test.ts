import { expect, test } from 'vitest';
import { ownWays } from './comparison.ts';

test.each([
  [{ 'argocd.argoproj.io/hook': 'PreSync' }, 'argocd.argoproj.io/hook'],
  [{ 'kustomize.toolkit.fluxcd.io/ssa': 'IfNotPresent' }, 'ssa: IfNotPresent'],
  [{ 'kustomize.toolkit.fluxcd.io/reconcile': 'disabled' }, 'reconcile: disabled'],
  [{ 'kustomize.toolkit.fluxcd.io/reconcile': 'Disabled' }, 'reconcile: disabled'],
])('an object with %o is named, since a Source would apply it like any other', (annotations, words) => {
  const object = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'a', namespace: 'shop', annotations },
  };
  expect(ownWays(object).join()).toContain(words);
  expect(ownWays({ ...object, metadata: { ...object.metadata, annotations: {} } })).toEqual([]);
});
