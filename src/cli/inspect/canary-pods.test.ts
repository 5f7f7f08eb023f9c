import { expect, it } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { podsOf } from './canary-pods.ts';

const canary: KubernetesObject = {
  apiVersion: 'flagger.app/v1beta1',
  kind: 'Canary',
  metadata: { name: 'web', namespace: 'shop' },
  spec: { provider: 'kubernetes', targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' } },
};

function deployment(name: string): KubernetesObject {
  const metadata = { name, namespace: 'shop', uid: name };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: { selector: { matchLabels: { app: name } } },
  };
}

function pod(name: string, app: string, [kind, owner]: readonly [string, string]): KubernetesObject {
  const labels = { app, 'pod-template-hash': '6d5b2448f9' };
  const controller = { apiVersion: 'v1', kind, name: owner, uid: owner, controller: true };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'shop', labels, ownerReferences: [controller] },
  };
}

it.each(['kubernetes', 'native'])(
  'a pod that only carries the labels of a workload is not of the Canary (%s)',
  async (provider) => {
    const pods = [
      pod('web-6d5b2448f9-x7k2p', 'web', ['ReplicaSet', 'web-6d5b2448f9']),
      pod('web-migration-x7k2p', 'web', ['Job', 'web-migration']),
      pod('web-shop-6d5b2448f9-x7k2p', 'web', ['ReplicaSet', 'web-shop-6d5b2448f9']),
    ];
    const client = {
      get: async ({ name }: { name: string }) => (name === 'web' ? deployment('web') : undefined),
      list: async (_: string, kind: string) => ({ items: kind === 'Pod' ? pods : [], resourceVersion: '1' }),
    };
    const object = { ...canary, spec: { ...(canary.spec as object), provider } };

    const found = await podsOf(client as never, object);

    expect(found.map(({ pod: { metadata } }) => metadata.name)).toEqual(['web-6d5b2448f9-x7k2p']);
  },
);

it('of a Canary without a spec, which the CRD lets in, it is said that the target is missing', async () => {
  const { spec: _, ...empty } = canary;
  await expect(podsOf({} as never, empty)).rejects.toThrow('Canary shop/web: spec.targetRef: is missing');
});
