import { expect, test } from 'vitest';
import { type ClusterClient, createClusterClient } from '../cluster/client/client.ts';
import { createDiscovery } from '../cluster/client/discovery.ts';
import { accessTo, answer, startScriptedServer } from '../cluster/testing/scripted-server.ts';
import { createTransport } from '../cluster/transport/transport.ts';
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
      new Set(['this replica of Holdfast is not the leader and writes nothing']),
    );
    expect(sent).toEqual([]);
  },
);

test('writes that waited for their turn when the Lease was lost are not sent', async () => {
  const server = await startScriptedServer(({ path }, response) =>
    answer(response, 200, /^\/apis?$/.test(path) ? coreKinds(path) : { ...object }),
  );
  const rate = { perSecond: 20, burst: 1 };
  const transport = createTransport({ access: accessTo(server.url), userAgent: 'holdfast/test', rate });
  const cluster = createClusterClient({ transport, discovery: createDiscovery(transport) });
  let leads = true;
  const port = createClusterPort(
    cluster,
    createWriteGate(() => leads),
  );
  await port.patch(reference, { data: {} });
  const sentBefore = server.seen.length;
  const queued = Array.from({ length: 9 }, () => port.patch(reference, { data: {} }));
  leads = false;
  for (const write of await Promise.allSettled(queued))
    expect(write).toMatchObject({ status: 'rejected', reason: { kind: 'aborted', effectUnknown: false } });
  expect(server.seen.slice(sentBefore)).toEqual([]);
  await transport.close();
  await server.close();
});

function coreKinds(path: string): object {
  const resource = {
    resource: 'configmaps',
    responseKind: { kind: 'ConfigMap' },
    scope: 'Namespaced',
    verbs: ['get'],
  };
  const items =
    path === '/api' ? [{ metadata: { name: '' }, versions: [{ version: 'v1', resources: [resource] }] }] : [];
  return { kind: 'APIGroupDiscoveryList', items };
}

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
