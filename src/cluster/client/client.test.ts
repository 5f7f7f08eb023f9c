import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import {
  accessTo,
  answer,
  failure,
  type Script,
  type ScriptedServer,
  startScriptedServer,
} from '../testing/scripted-server.ts';
import { createTransport, type Transport } from '../transport/transport.ts';
import { type ClusterClient, createClusterClient } from './client.ts';
import { createDiscovery } from './discovery.ts';

const deployment: KubernetesObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop', managedFields: [{}] },
  spec: { futureField: { kept: true } },
};
const reference = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'web' };
const path = '/apis/apps/v1/namespaces/shop/deployments/web';

let script: Script = () => undefined;
let server: ScriptedServer;
let transport: Transport;
let client: ClusterClient;
let written: KubernetesObject[];

beforeEach(async () => {
  written = [];
  server = await startScriptedServer((request, response) => {
    const listing = discoveryAnswer(request.path);
    if (listing) return answer(response, 200, listing);
    script(request, response);
  });
  transport = createTransport({ access: accessTo(server.url), userAgent: 'test', random: () => 0 });
  const onWritten = (object: KubernetesObject) => void written.push(object);
  client = createClusterClient({ transport, discovery: createDiscovery(transport), onWritten });
});
afterEach(async () => {
  await transport.close();
  await server.close();
});

function discoveryAnswer(requested: string): unknown {
  if (requested !== '/api' && requested !== '/apis') return undefined;
  const resources = [
    { resource: 'deployments', responseKind: { kind: 'Deployment' }, scope: 'Namespaced' },
    { resource: 'nodes', responseKind: { kind: 'Node' }, scope: 'Cluster' },
  ];
  const group = { metadata: { name: 'apps' }, versions: [{ version: 'v1', resources }] };
  return { kind: 'APIGroupDiscoveryList', items: requested === '/apis' ? [group] : [] };
}

const requests = () => server.seen.filter((request) => request.path.startsWith('/apis/apps/v1/'));

describe('cluster client', () => {
  it('applies JSON as server-side apply, preserves unknown fields and drops managedFields', async () => {
    const stored = { ...deployment, metadata: { ...deployment.metadata, resourceVersion: '7' } };
    script = (_, response) => answer(response, 200, stored);
    const got = await client.apply(deployment, {
      manager: 'holdfast',
      force: true,
      resourceVersion: '6',
      uid: 'u',
    });
    const [request] = requests();
    expect(request).toMatchObject({ method: 'PATCH', path });
    expect(request?.headers['content-type']).toBe('application/apply-patch+yaml');
    expect(Object.fromEntries(request?.query ?? [])).toEqual({
      fieldManager: 'holdfast',
      force: 'true',
      fieldValidation: 'Strict',
    });
    expect(request?.body).toEqual({
      ...deployment,
      metadata: { name: 'web', namespace: 'shop', resourceVersion: '6', uid: 'u' },
    });
    expect(got).toEqual(stored);
    expect(written).toEqual([stored]);
  });

  it('does not show the answer of a dry run to the caches', async () => {
    script = (_, response) => answer(response, 200, deployment);
    await client.apply(deployment, {
      manager: 'holdfast',
      force: false,
      dryRun: true,
      fieldValidation: 'Ignore',
    });
    expect(Object.fromEntries(requests()[0]?.query ?? [])).toMatchObject({
      dryRun: 'All',
      force: 'false',
      fieldValidation: 'Ignore',
    });
    expect(written).toEqual([]);
  });

  it('carries the expected version in merge and JSON patches and in subresources', async () => {
    script = (_, response) => answer(response, 200, deployment);
    const options = { manager: 'holdfast-rollout', resourceVersion: '5' };
    await client.patch(
      reference,
      { spec: { replicas: 2 } },
      { ...options, type: 'merge', subresource: 'scale' },
    );
    await client.patch(reference, [{ op: 'remove', path: '/spec/paused' }], { ...options, type: 'json' });
    const [merge, json] = requests();
    expect(merge).toMatchObject({
      path: `${path}/scale`,
      body: { spec: { replicas: 2 }, metadata: { resourceVersion: '5' } },
    });
    expect(merge?.headers['content-type']).toBe('application/merge-patch+json');
    expect(json?.body).toEqual([
      { op: 'replace', path: '/metadata/resourceVersion', value: '5' },
      { op: 'remove', path: '/spec/paused' },
    ]);
  });

  it('deletes with preconditions, and reports an object that does not exist', async () => {
    script = (_, response) => answer(response, 200, { kind: 'Status', status: 'Success' });
    expect(
      await client.delete(reference, { uid: 'u', resourceVersion: '3', propagation: 'Foreground' }),
    ).toBe(true);
    expect(requests()[0]?.body).toMatchObject({
      preconditions: { uid: 'u', resourceVersion: '3' },
      propagationPolicy: 'Foreground',
    });
    script = (_, response) => answer(response, 404, failure(404, 'NotFound', 'gone', { name: 'web' }));
    expect(await client.delete(reference)).toBe(false);
    expect(await client.get(reference)).toBeUndefined();
  });

  it('shows the caches an object that is now being deleted', async () => {
    const leaving = {
      ...deployment,
      metadata: { name: 'web', namespace: 'shop', resourceVersion: '9', deletionTimestamp: 'x' },
    };
    script = (_, response) => answer(response, 200, leaving);
    await client.delete(reference);
    expect(written).toEqual([leaving]);
  });

  it('lists page by page, fills in kinds, and starts over when the snapshot expires between pages', async () => {
    let expired = false;
    script = (request, response) => {
      const page = request.query.get('continue');
      if (!page)
        return answer(response, 200, {
          metadata: { resourceVersion: '10', continue: 'p2' },
          items: [{ metadata: { name: 'a' } }],
        });
      if (!expired) {
        expired = true;
        return answer(response, 410, failure(410, 'Expired', 'too old'));
      }
      answer(response, 200, { metadata: { resourceVersion: '10' }, items: [{ metadata: { name: 'b' } }] });
    };
    const list = await client.list('apps/v1', 'Deployment', {
      namespace: 'shop',
      labelSelector: 'app=web',
      metadataOnly: true,
    });
    expect(list.resourceVersion).toBe('10');
    expect(list.items).toEqual([
      { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'a' } },
      { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'b' } },
    ]);
    expect(requests()[0]?.query.get('labelSelector')).toBe('app=web');
    expect(requests()[0]?.headers.accept).toContain('as=PartialObjectMetadataList');
  });

  it('creates in the collection and names the object in errors', async () => {
    script = (_, response) => answer(response, 403, failure(403, 'Forbidden', 'deployments is forbidden'));
    const error = await client.create(deployment, { manager: 'holdfast' }).catch((reason) => reason);
    expect(requests()[0]).toMatchObject({
      method: 'POST',
      path: '/apis/apps/v1/namespaces/shop/deployments',
    });
    expect(error.message).toBe('create Deployment shop/web: 403 deployments is forbidden');
  });

  it.each(['..', '.', 'a/b', 'a%2fb', ''])('refuses the name "%s" without a request', async (name) => {
    await expect(client.get({ ...reference, name })).rejects.toMatchObject({ kind: 'invalid' });
    expect(requests()).toEqual([]);
  });

  it('refuses a scope that cannot be right', async () => {
    const { namespace: _, ...withoutNamespace } = reference;
    await expect(client.get(withoutNamespace)).rejects.toThrow(/namespace is missing/);
    const node = { apiVersion: 'apps/v1', kind: 'Node', name: 'n', namespace: 'shop' };
    await expect(client.get(node)).rejects.toThrow(/cluster-scoped/);
  });

  it('forgets its table of kinds when a path it knew is gone', async () => {
    script = (_, response) =>
      answer(response, 404, failure(404, 'NotFound', 'the server could not find the requested resource'));
    await expect(client.get(reference)).rejects.toMatchObject({ kind: 'unknownKind' });
    const before = server.seen.length;
    await client.resolve('apps/v1', 'Deployment');
    expect(server.seen.length).toBe(before + 2);
  });
});
