import { expect, test } from 'vitest';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { localError } from '../cluster/errors.ts';
import { loadClusterKey } from './cluster-key.ts';

const theirs = Buffer.alloc(32, 7);

/** A cluster in which another replica of Holdfast creates the Secret between our look and our write. */
function clusterWith(refusal: Error, secret: KubernetesObject | undefined) {
  let looks = 0;
  return {
    async get() {
      looks += 1;
      return looks === 1 ? undefined : secret;
    },
    async create(): Promise<KubernetesObject> {
      throw refusal;
    },
  };
}

const secret: KubernetesObject = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'holdfast-key', namespace: 'holdfast-system' },
  data: { key: theirs.toString('base64') },
};

test('of two copies that start together the second one uses the key of the first', async () => {
  const cluster = clusterWith(localError('alreadyExists', 'it is there'), secret);
  expect(Buffer.from(await loadClusterKey(cluster, 'holdfast-system'))).toEqual(theirs);
});

test('a Secret that may not be written is reported, and no other key is used', async () => {
  const cluster = clusterWith(localError('forbidden', 'no right to create secrets'), secret);
  await expect(loadClusterKey(cluster, 'holdfast-system')).rejects.toThrow('no right to create secrets');
});
