import { expect, test } from 'vitest';
import { configMap, deployment } from './bodies.ts';
import type { Suite } from './suite.ts';
import { eventually, freshNamespace, type Json } from './target.ts';

const MERGE = 'application/merge-patch+json';
const JSON_PATCH = 'application/json-patch+json';
const STRATEGIC = 'application/strategic-merge-patch+json';

/** Create, read, replace, patch, delete. */
export function objectTests({ target }: Suite): void {
  test('creates, reads, replaces and deletes an object', async () => {
    const namespace = await freshNamespace(target());
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    const created = await target().request('POST', path, { body: configMap(namespace, 'a', { x: '1' }) });
    expect(created.code).toBe(201);
    expect(created.body.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(created.body.metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    const replaced = await target().request('PUT', `${path}/a`, {
      body: { ...created.body, data: { x: '2' } },
    });
    expect([replaced.code, replaced.body.data.x]).toEqual([200, '2']);
    expect(replaced.body.metadata.resourceVersion).not.toBe(created.body.metadata.resourceVersion);
    const deleted = await target().request('DELETE', `${path}/a`);
    expect([deleted.code, deleted.body.status]).toEqual([200, 'Success']);
    expect((await target().request('GET', `${path}/a`)).code).toBe(404);
  });

  test('answers a second create with AlreadyExists', async () => {
    const namespace = await freshNamespace(target());
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    await target().request('POST', path, { body: configMap(namespace, 'a', {}) });
    const second = await target().request('POST', path, { body: configMap(namespace, 'a', {}) });
    expect([second.code, second.body.reason, second.body.message]).toEqual([
      409,
      'AlreadyExists',
      'configmaps "a" already exists',
    ]);
  });

  test('answers 404 in a Status that names the object', async () => {
    const { code, body } = await target().request(
      'GET',
      '/apis/apps/v1/namespaces/default/deployments/no-such',
    );
    expect(code).toBe(404);
    expect(body).toMatchObject({ kind: 'Status', status: 'Failure', reason: 'NotFound', code: 404 });
    expect(body.message).toBe('deployments.apps "no-such" not found');
    expect(body.details).toMatchObject({ name: 'no-such', group: 'apps', kind: 'deployments' });
  });

  test('refuses to create in a namespace that does not exist', async () => {
    const path = '/api/v1/namespaces/no-such-namespace/configmaps';
    const { code, body } = await target().request('POST', path, {
      body: configMap('no-such-namespace', 'a', {}),
    });
    expect([code, body.message]).toEqual([404, 'namespaces "no-such-namespace" not found']);
  });

  test('refuses a replace and a patch with an old resourceVersion', async () => {
    const namespace = await freshNamespace(target());
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    const first = await target().request('POST', path, { body: configMap(namespace, 'a', { x: '1' }) });
    await target().request('PATCH', `${path}/a`, { body: { data: { x: '2' } }, contentType: MERGE });
    const put = await target().request('PUT', `${path}/a`, { body: first.body });
    expect([put.code, put.body.reason]).toEqual([409, 'Conflict']);
    const body = { metadata: { resourceVersion: first.body.metadata.resourceVersion }, data: { x: '3' } };
    const patch = await target().request('PATCH', `${path}/a`, { body, contentType: MERGE });
    expect([patch.code, patch.body.reason]).toEqual([409, 'Conflict']);
  });

  test('refuses a create that carries a resourceVersion', async () => {
    const namespace = await freshNamespace(target());
    const body = configMap(namespace, 'a', {}, { resourceVersion: '1' });
    const { code, body: status } = await target().request(
      'POST',
      `/api/v1/namespaces/${namespace}/configmaps`,
      { body },
    );
    expect([code, status.message]).toEqual([
      500,
      'resourceVersion should not be set on objects to be created',
    ]);
  });

  test('merges a JSON merge patch and removes nulls', async () => {
    const namespace = await freshNamespace(target());
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    await target().request('POST', path, { body: configMap(namespace, 'a', { keep: '1', drop: '2' }) });
    const { body } = await target().request('PATCH', `${path}/a`, {
      body: { data: { drop: null, add: '3' } },
      contentType: MERGE,
    });
    expect(body.data).toEqual({ keep: '1', add: '3' });
  });

  test('applies a JSON patch, and nothing of it when a test fails', async () => {
    const namespace = await freshNamespace(target());
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    await target().request('POST', path, { body: configMap(namespace, 'a', { x: '1' }) });
    const good = [
      { op: 'test', path: '/data/x', value: '1' },
      { op: 'add', path: '/data/y', value: '2' },
    ];
    const first = await target().request('PATCH', `${path}/a`, { body: good, contentType: JSON_PATCH });
    expect([first.code, first.body.data]).toEqual([200, { x: '1', y: '2' }]);
    const bad = [
      { op: 'replace', path: '/data/y', value: '9' },
      { op: 'test', path: '/data/x', value: 'other' },
    ];
    const second = await target().request('PATCH', `${path}/a`, { body: bad, contentType: JSON_PATCH });
    expect(second.code).toBe(422);
    expect((await target().request('GET', `${path}/a`)).body.data.y).toBe('2');
  });

  test('merges containers by name in a strategic merge patch', async () => {
    const namespace = await freshNamespace(target());
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments`;
    await target().request('POST', path, { body: deployment(namespace, 'web', { replicas: 0 }) });
    const body = { spec: { template: { spec: { containers: [{ name: 'app', image: 'fake/app:v2' }] } } } };
    const patched = await target().request('PATCH', `${path}/web`, { body, contentType: STRATEGIC });
    expect(patched.code).toBe(200);
    expect(patched.body.spec.template.spec.containers[0]).toMatchObject({
      image: 'fake/app:v2',
      ports: [{ containerPort: 8080 }],
    });
  });

  test('changes nothing on a dry run', async () => {
    const namespace = await freshNamespace(target());
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    const created = await target().request('POST', `${path}?dryRun=All`, {
      body: configMap(namespace, 'a', {}),
    });
    expect([created.code, typeof created.body.metadata.uid]).toEqual([201, 'string']);
    expect((await target().request('GET', `${path}/a`)).code).toBe(404);
    await target().request('POST', path, { body: configMap(namespace, 'a', { x: '1' }) });
    const patched = await target().request('PATCH', `${path}/a?dryRun=All`, {
      body: { data: { x: '2' } },
      contentType: MERGE,
    });
    expect(patched.body.data.x).toBe('2');
    expect((await target().request('GET', `${path}/a`)).body.data.x).toBe('1');
    await target().request('DELETE', `${path}/a?dryRun=All`);
    expect((await target().request('GET', `${path}/a`)).code).toBe(200);
  });

  test('counts the generation up for the spec only', async () => {
    const namespace = await freshNamespace(target());
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments`;
    const created = await target().request('POST', path, {
      body: deployment(namespace, 'web', { replicas: 0 }),
    });
    expect(created.body.metadata.generation).toBe(1);
    const labelled = await target().request('PATCH', `${path}/web`, {
      body: { metadata: { labels: { a: 'b' } } },
      contentType: MERGE,
    });
    expect(labelled.body.metadata.generation).toBe(1);
    const paused = await target().request('PATCH', `${path}/web`, {
      body: { spec: { paused: true } },
      contentType: MERGE,
    });
    expect(paused.body.metadata.generation).toBe(2);
  });

  test('keeps the resourceVersion when a patch changes nothing', async () => {
    const namespace = await freshNamespace(target());
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    const created = await target().request('POST', path, { body: configMap(namespace, 'a', { x: '1' }) });
    const same = await target().request('PATCH', `${path}/a`, {
      body: { data: { x: '1' } },
      contentType: MERGE,
    });
    expect(same.body.metadata.resourceVersion).toBe(created.body.metadata.resourceVersion);
  });

  test('honours uid and resourceVersion preconditions of a delete', async () => {
    const namespace = await freshNamespace(target());
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    const { body: live } = await target().request('POST', path, { body: configMap(namespace, 'a', {}) });
    const remove = (preconditions: Json) =>
      target().request('DELETE', `${path}/a`, { body: { preconditions } });
    const otherUid = await remove({ uid: '00000000-0000-0000-0000-000000000000' });
    expect([otherUid.code, otherUid.body.reason]).toEqual([409, 'Conflict']);
    const otherVersion = await remove({ resourceVersion: '1' });
    expect([otherVersion.code, otherVersion.body.reason]).toEqual([409, 'Conflict']);
    const { uid, resourceVersion } = live.metadata;
    expect((await remove({ uid, resourceVersion })).code).toBe(200);
  });

  test('deletes everything a label selects', async () => {
    const namespace = await freshNamespace(target());
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    for (const [name, tier] of [
      ['a', 'x'],
      ['b', 'x'],
      ['c', 'y'],
    ] as const) {
      await target().request('POST', path, { body: configMap(namespace, name, {}, { labels: { tier } }) });
    }
    expect((await target().request('DELETE', `${path}?labelSelector=tier%3Dx`)).code).toBe(200);
    const left = () => target().request('GET', `${path}?labelSelector=tier`);
    const { body } = await eventually(left, (answer) => answer.body.items.length === 1);
    expect(body.items[0].metadata.name).toBe('c');
  });
}
