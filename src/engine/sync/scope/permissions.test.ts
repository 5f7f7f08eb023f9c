import { expect, it } from 'vitest';
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source/source.ts';
import { whyNotAllowed } from './permissions.ts';

function source(allow: Source['spec']['allow']): Source {
  const metadata = { name: 'shop', namespace: 'shop' };
  const spec = {
    url: 'https://git.example.com/shop.git',
    ref: { branch: 'main' },
    ...(allow ? { allow } : {}),
  };
  return { apiVersion: 'holdfast.dev/v1alpha1', kind: 'Source', metadata, spec };
}

function object(apiVersion: string, kind: string, namespace?: string, name = 'a'): KubernetesObject {
  return { apiVersion, kind, metadata: { name, ...(namespace ? { namespace } : {}) } };
}

const deployment = object('apps/v1', 'Deployment', 'shop');
const binding = object('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding');

it.each<[string, Source['spec']['allow'], KubernetesObject]>([
  ['everything without a list', undefined, binding],
  ['its namespaces', { namespaces: ['shop'] }, deployment],
  ['kube-system where it is named', { namespaces: ['kube-system'] }, object('v1', 'Secret', 'kube-system')],
  ['kinds with and without their group', { kinds: ['Deployment.apps'] }, deployment],
  ['the same', { kinds: ['Deployment'] }, deployment],
  [
    'a namespace that it may write to',
    { namespaces: ['shop'] },
    object('v1', 'Namespace', undefined, 'shop'),
  ],
  [
    'a kind without namespace that is named',
    { namespaces: ['shop'], kinds: ['ClusterRoleBinding'] },
    binding,
  ],
])('allows %s', (_, allow, wanted) => {
  expect(whyNotAllowed(source(allow), wanted)).toBeUndefined();
});

it.each<[string, Source['spec']['allow'], KubernetesObject, RegExp]>([
  ['kube-system by default', undefined, object('v1', 'Secret', 'kube-system'), /kube-system/],
  ['other namespaces', { namespaces: ['cart'] }, deployment, /namespace shop/],
  ['other kinds', { kinds: ['ConfigMap', 'Deployment.extensions'] }, deployment, /kind Deployment/],
  [
    'what is in no namespace where it is confined to some',
    { namespaces: ['shop'] },
    binding,
    /spec\.allow\.kinds/,
  ],
  ['another Namespace', { namespaces: ['shop'] }, object('v1', 'Namespace', undefined, 'cart'), /cart/],
])('refuses %s', (_, allow, wanted, message) => {
  expect(whyNotAllowed(source(allow), wanted)).toMatch(message);
});
