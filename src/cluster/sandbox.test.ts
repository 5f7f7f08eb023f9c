import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { loadClusterAccess } from './access/cluster-access.ts';
import { type Caches, createCaches } from './caches/caches.ts';
import { type ClusterClient, createClusterClient } from './client/client.ts';
import { createDiscovery } from './client/discovery.ts';
import { startElection } from './election/election.ts';
import { eventually } from './testing/manual-clock.ts';
import { createTransport, type Transport } from './transport/transport.ts';

let sandbox: Sandbox;
let directory: string;
let transport: Transport;
let client: ClusterClient;
let caches: Caches;

beforeAll(async () => {
  sandbox = await startSandbox();
  directory = await mkdtemp(path.join(tmpdir(), 'holdfast-sandbox-'));
  const kubeconfig = path.join(directory, 'config');
  writeFileSync(kubeconfig, sandbox.kubeconfig);
  transport = createTransport({
    access: await loadClusterAccess({ kubeconfig, allowExec: false }),
    userAgent: 'holdfast/test',
  });
  const discovery = createDiscovery(transport);
  caches = createCaches({ transport, discovery, tuning: { backoff: { firstMs: 10, maximumMs: 100 } } });
  client = createClusterClient({ transport, discovery, onWritten: (object) => caches.observe(object) });
});
afterAll(async () => {
  await caches.stop();
  await transport.close();
  await sandbox.close();
  await rm(directory, { recursive: true, force: true });
});

const manager = 'holdfast';

function configMap(name: string, value: string, labels: Record<string, string> = {}): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace: 'default', name, labels },
    data: { value },
  };
}

describe('cluster client on the sandbox', () => {
  it('applies, reads, patches and deletes, refusing writes over another version', async () => {
    const first = await client.apply(configMap('a', '1'), { manager, force: false });
    const again = await client.apply(configMap('a', '1'), { manager, force: false });
    expect(again.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
    const { resourceVersion = '', uid = '' } = first.metadata;
    const reference = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: 'a' };
    await client.patch(reference, { data: { more: 'x' } }, { manager, type: 'merge', resourceVersion });
    const stale = { manager, force: true, resourceVersion };
    await expect(client.apply(configMap('a', '2'), stale)).rejects.toMatchObject({ kind: 'conflict' });
    await expect(client.delete(reference, { uid: 'another' })).rejects.toMatchObject({ kind: 'conflict' });
    expect(await client.delete(reference, { uid })).toBe(true);
    expect(await client.get(reference)).toBeUndefined();
  });

  it('names the manager that owns a field', async () => {
    await client.apply(configMap('owned', '1'), { manager: 'other', force: false });
    const error = await client
      .apply(configMap('owned', '2'), { manager, force: false })
      .catch((reason) => reason);
    const value = expect.objectContaining({ manager: 'other', field: '.data.value' });
    expect(error).toMatchObject({ kind: 'fieldConflict', fieldConflicts: expect.arrayContaining([value]) });
  });

  it('maintains a cache by label through broken connections and compacted history, with own writes immediately', async () => {
    const selection = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', labelSelector: 'app=web' };
    const cache = caches.ensure(selection);
    await cache.synced();
    await client.apply(configMap('web', '1', { app: 'web' }), { manager, force: false });
    await client.apply(configMap('other', '1'), { manager, force: false });
    expect(cache.store.list().map(({ metadata }) => metadata.name)).toEqual(['web']);
    sandbox.cutWatches('reset');
    sandbox.expireHistory();
    await client.apply(configMap('web', '2', { app: 'web' }), { manager, force: false });
    await client.apply(configMap('other', '2', { app: 'web' }), { manager, force: false });
    await client.apply(configMap('web', '3', {}), { manager, force: false });
    await eventually(() => cache.store.list().length === 1 && cache.health().healthy, 'one object is left');
    expect(cache.store.list()[0]).toMatchObject({ metadata: { name: 'other' }, data: { value: '2' } });
    await cache.release();
  });

  it('stores metadata alone on request', async () => {
    await client.apply(configMap('private', 'hunter2'), { manager, force: false });
    const cache = caches.ensure({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      namespace: 'default',
      metadataOnly: true,
    });
    await cache.synced();
    await client.apply(configMap('private', 'hunter3'), { manager, force: false });
    expect(JSON.stringify(cache.store.list())).not.toContain('hunter');
    expect(cache.store.get('default', 'private')).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap' });
    await cache.release();
  });

  it('costs no request while nothing happens', async () => {
    const cache = caches.ensure({ apiVersion: 'apps/v1', kind: 'Deployment' });
    await cache.synced();
    const before = transport.counts();
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(transport.counts()).toEqual(before);
    await cache.release();
  });

  it('elects one leader of two and hands over immediately', async () => {
    const times = { leaseMs: 60_000, renewMs: 40_000, retryMs: 100 };
    const names = { client, caches, namespace: 'default', name: 'holdfast', manager, times };
    const first = startElection({ ...names, identity: 'one' });
    const signal = await first.elected();
    const second = startElection({ ...names, identity: 'two' });
    await eventually(() => second.holder() === 'one', 'the second sees the first');
    expect(second.leading()).toBe(false);
    await first.stop();
    await second.elected();
    expect(signal.aborted).toBe(true);
    expect(second.leading()).toBe(true);
    await second.stop();
  });
});
