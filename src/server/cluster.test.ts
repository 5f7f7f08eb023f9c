import { expect, test } from 'vitest';
import type { ClusterClient } from '../cluster/client/client.ts';
import { createClusterPort } from './cluster.ts';
import { createWriteGate } from './write-gate.ts';

const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'shop', name: 'settings' } };
const reference = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', name: 'settings' };
const sent: string[] = [];
const client = new Proxy({} as ClusterClient, {
  get: (_, method) => async () => void sent.push(String(method)),
});
const owned = { uid: 'u', resourceVersion: '1' };

test.each([undefined, 'system:serviceaccount:shop:deployer'])(
  'a copy that lost the Lease sends no write, whatever it had decided before (S20), as %s',
  async (user) => {
    const port = createClusterPort(
      client,
      createWriteGate(() => false),
    );
    const writer = user ? port.as(user) : port;

    const writes = await Promise.allSettled([
      writer.apply(object, { manager: 'holdfast', force: true }),
      writer.create(object),
      writer.patch(reference, { data: {} }),
      writer.patch(reference, { status: {} }, 'status'),
      writer.delete(reference, owned),
    ]);

    const reasons = writes.map((write) =>
      write.status === 'rejected' ? String(write.reason.message) : 'sent',
    );
    expect(new Set(reasons)).toEqual(
      new Set(['this copy of Holdfast does not hold the Lease and writes nothing']),
    );
    expect(sent).toEqual([]);
  },
);

test.each([
  [undefined, undefined, undefined],
  ['system:serviceaccount:shop:deployer', undefined, undefined],
  ['system:serviceaccount:shop:deployer', { readsToo: true }, 'system:serviceaccount:shop:deployer'],
])('as %s with %o it reads as %s', async (user, options, reader) => {
  const readers: unknown[] = [];
  const reading = {
    get: async (_: unknown, { impersonate }: { impersonate?: string } = {}) => void readers.push(impersonate),
  } as unknown as ClusterClient;
  await createClusterPort(reading).as(user, options).get(reference);
  expect(readers).toEqual([reader]);
});
