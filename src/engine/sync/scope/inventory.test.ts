import { expect, it } from 'vitest';
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import { inventoryFor, inventoryOf, joined, parentPatch, splitGroupKind } from './inventory.ts';

const source: KubernetesObject = {
  apiVersion: 'holdfast.dev/v1alpha1',
  kind: 'Source',
  metadata: { name: 'shop', namespace: 'delivery' },
};

function object(apiVersion: string, kind: string, namespace?: string): KubernetesObject {
  return { apiVersion, kind, metadata: { name: 'a', ...(namespace ? { namespace } : {}) } };
}

it('names kinds with their group and every namespace but its own, as kubectl reads it', () => {
  const objects = [
    object('apps/v1', 'Deployment', 'shop'),
    object('v1', 'ConfigMap', 'delivery'),
    object('v1', 'Namespace'),
    object('v1', 'ConfigMap', 'cart'),
  ];
  expect(parentPatch(source, inventoryFor(source, objects))).toEqual({
    labels: { 'applyset.kubernetes.io/id': expect.stringMatching(/^applyset-[\w-]{43}-v1$/) },
    annotations: {
      'applyset.kubernetes.io/tooling': 'holdfast/v1',
      'applyset.kubernetes.io/contains-group-kinds': 'ConfigMap,Deployment.apps,Namespace',
      'applyset.kubernetes.io/additional-namespaces': 'cart,shop',
    },
  });
});

it('writes nothing where the Source says it already, and only grows with what is joined', () => {
  const first = inventoryFor(source, [object('v1', 'Secret', 'shop')]);
  const patch = parentPatch(source, first);
  const written = { ...source, metadata: { ...source.metadata, ...patch } } as KubernetesObject;
  expect(inventoryOf(written)).toEqual(first);
  expect(parentPatch(written, first)).toBeUndefined();
  const next = joined(inventoryOf(written), inventoryFor(source, [object('apps/v1', 'Deployment', 'cart')]));
  expect([...next.groupKinds].sort()).toEqual(['Deployment.apps', 'Secret']);
  expect([...next.namespaces].sort()).toEqual(['cart', 'shop']);
});

it('takes kind and group apart again', () => {
  expect(splitGroupKind('ConfigMap')).toEqual({ kind: 'ConfigMap', group: '' });
  expect(splitGroupKind('HTTPRoute.gateway.networking.k8s.io')).toEqual({
    kind: 'HTTPRoute',
    group: 'gateway.networking.k8s.io',
  });
});
