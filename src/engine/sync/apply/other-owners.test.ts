import { expect, test } from 'vitest';
import { type KubernetesObject, partOfLabel } from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source/source.ts';
import { applySetIdOf } from '../../apply-set.ts';
import { refuseOthers } from './other-owners.ts';

const source: Source = {
  apiVersion: 'holdfast.dev/v1alpha1',
  kind: 'Source',
  metadata: { name: 'shop', namespace: 'shop' },
  spec: { url: 'https://git.example.com/shop.git', ref: { branch: 'main' } },
};

function config(annotations: Record<string, string>, labels = {}): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'a', namespace: 'shop', annotations, labels },
  };
}

test.each<[string, Record<string, string>, Record<string, string>, boolean]>([
  ['without the annotation', {}, {}, false],
  ['with it in Git', {}, { 'holdfast.dev/adopt': 'true' }, true],
  ['with it on the live object', { 'holdfast.dev/adopt': 'true' }, {}, true],
  ['that says no in Git', {}, { 'holdfast.dev/adopt': 'false' }, false],
  ['that says no itself', { 'holdfast.dev/adopt': 'false' }, {}, false],
])('an object of another Source %s', (_, live, wanted, isMoved) => {
  const claims = { sourceOf: () => 'shop/other', holdersOf: () => [] };
  const labels = { [partOfLabel]: applySetIdOf('shop/other') };
  const apply = () => refuseOthers({ claims }, source, config(live, labels), config(wanted));
  if (isMoved) expect(apply).not.toThrow();
  else expect(apply).toThrow('Source shop/other applies it');
});
