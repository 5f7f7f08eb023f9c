import { expect, test } from 'vitest';
import { configMap } from './bodies.ts';
import type { Suite } from './suite.ts';
import { eventually, freshNamespace, type Json, type Target } from './target.ts';

const MERGE = 'application/merge-patch+json';

async function owned(target: Target, namespace: string): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  const { body: owner } = await target.request('POST', path, { body: configMap(namespace, 'owner', {}) });
  const { uid } = owner.metadata;
  // Only those that block it are waited for in the foreground.
  const ownerReferences = [
    { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid, blockOwnerDeletion: true },
  ];
  await target.request('POST', path, { body: configMap(namespace, 'dependent', {}, { ownerReferences }) });
  return path;
}

/** Finalizers, garbage collection, namespaces. */
export function lifecycleTests({ target }: Suite): void {
  test('keeps a deleted object until its finalizers are gone', async () => {
    const namespace = await freshNamespace(target());
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    await target().request('POST', path, {
      body: configMap(namespace, 'a', {}, { finalizers: ['example.com/hold'] }),
    });
    await target().request('DELETE', `${path}/a`);
    const held = await target().request('GET', `${path}/a`);
    expect([held.code, typeof held.body.metadata.deletionTimestamp]).toEqual([200, 'string']);
    await target().request('PATCH', `${path}/a`, {
      body: { metadata: { finalizers: null } },
      contentType: MERGE,
    });
    expect((await target().request('GET', `${path}/a`)).code).toBe(404);
  });

  test('deletes dependents after their owner', async () => {
    const namespace = await freshNamespace(target());
    const path = await owned(target(), namespace);
    await target().request('DELETE', `${path}/owner`, { body: { propagationPolicy: 'Background' } });
    await eventually(
      () => target().request('GET', `${path}/dependent`),
      (answer) => answer.code === 404,
    );
  });

  test('leaves dependents without their owner when told to orphan them', async () => {
    const namespace = await freshNamespace(target());
    const path = await owned(target(), namespace);
    const orphan = async () => {
      await target().request('DELETE', `${path}/owner`, { body: { propagationPolicy: 'Orphan' } });
      return target().request('GET', `${path}/owner`);
    };
    await eventually(orphan, (answer) => answer.code === 404);
    const { code, body } = await target().request('GET', `${path}/dependent`);
    expect([code, body.metadata.ownerReferences ?? []]).toEqual([200, []]);
  });

  test('deletes dependents before their owner in the foreground', async () => {
    const namespace = await freshNamespace(target());
    const path = await owned(target(), namespace);
    await target().request('DELETE', `${path}/owner`, { body: { propagationPolicy: 'Foreground' } });
    await eventually(
      () => target().request('GET', `${path}/owner`),
      (answer) => answer.code === 404,
    );
    expect((await target().request('GET', `${path}/dependent`)).code).toBe(404);
  });

  test('empties and removes a deleted namespace', async () => {
    const namespace = await freshNamespace(target());
    const path = `/api/v1/namespaces/${namespace}`;
    await target().request('POST', `${path}/configmaps`, { body: configMap(namespace, 'a', {}) });
    const deleted = await target().request('DELETE', path);
    expect(deleted.code).toBe(200);
    await eventually(
      () => target().request('GET', path),
      (answer) => answer.code === 404,
    );
    expect(
      (await target().request('GET', `${path}/configmaps`)).body.items.map(
        (each: Json) => each.metadata.name,
      ),
    ).toEqual([]);
  });
}
