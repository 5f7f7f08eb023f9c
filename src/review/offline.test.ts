import { expect, it } from 'vitest';
import { scopeOf } from './offline.ts';
import { modelOfKind } from './validate/kubernetes-fields.ts';

it('knows of every kind of Kubernetes that is looked into whether it lives in namespaces', () => {
  const kinds = Object.keys(modelOfKind).map((id) => id.split(' ')[1] ?? '');
  expect(kinds.filter((kind) => !['namespaced', 'cluster'].includes(scopeOf(kind)))).toEqual([]);
});

it.each([
  ['ClusterRole', 'cluster'],
  ['ValidatingAdmissionPolicyBinding', 'cluster'],
  ['LimitRange', 'namespaced'],
  ['GRPCRoute', 'namespaced'],
  ['ClusterIssuer', 'perhapsCluster'],
  ['IngressRoute', 'unknown'],
])('%s is %s', (kind, scope) => {
  expect(scopeOf(kind)).toBe(scope);
});
