import { expect, test } from 'vitest';
import { apply, pathOf } from './apply.ts';
import { configMap, deployment } from './bodies.ts';
import type { Suite } from './suite.ts';
import { freshNamespace, type Json } from './target.ts';

/** What server-side apply refuses, and which part of an object each door takes. */
export function applyLimitTests({ target }: Suite): void {
  test('refuses a stale resourceVersion, also by force', async () => {
    const namespace = await freshNamespace(target());
    const first = await apply(target(), configMap(namespace, 'a', { x: '1' }), { manager: 'one' });
    await apply(target(), configMap(namespace, 'a', { x: '2' }), { manager: 'one' });
    const { resourceVersion } = first.body.metadata;
    const stale = configMap(namespace, 'a', { x: '3' }, { resourceVersion });
    const refused = await apply(target(), stale, { manager: 'one', force: true });
    expect([refused.code, refused.body.reason]).toEqual([409, 'Conflict']);
  });

  test('refuses to create with a uid, but a resourceVersion keeps nobody from creating', async () => {
    const namespace = await freshNamespace(target());
    const uid = '11111111-1111-1111-1111-111111111111';
    const identified = await apply(target(), configMap(namespace, 'a', {}, { uid }), { manager: 'one' });
    const versioned = await apply(target(), configMap(namespace, 'b', {}, { resourceVersion: '5' }), {
      manager: 'one',
    });
    expect([identified.code, versioned.code]).toEqual([409, 201]);
  });

  test('a uid with the version keeps an apply from creating anew what was deleted, or from changing what replaced it', async () => {
    const namespace = await freshNamespace(target());
    const { body: first } = await apply(target(), configMap(namespace, 'a', { x: '1' }), { manager: 'one' });
    const { uid, resourceVersion } = first.metadata;
    const over = configMap(namespace, 'a', { x: '2' }, { uid, resourceVersion });
    await target().request('DELETE', pathOf(over));
    const gone = await apply(target(), over, { manager: 'one', force: true });
    await apply(target(), configMap(namespace, 'a', { x: '3' }), { manager: 'two' });
    const replaced = await apply(target(), over, { manager: 'one', force: true });
    expect([gone.code, gone.body.reason, replaced.code]).toEqual([409, 'Conflict', 409]);
  });

  test('refuses an unknown field of a typed object with 500', async () => {
    const namespace = await freshNamespace(target());
    const odd = deployment(namespace, 'web', { replicas: 0 }, { imagePolicy: 'Never' });
    const { code, body } = await apply(target(), odd, { manager: 'one' });
    expect(code).toBe(500);
    expect(body.message).toContain('failed to create typed patch object');
    expect(body.message).toContain('field not declared in schema');
  });

  test('refuses an apply without a manager, and one that carries managedFields', async () => {
    const namespace = await freshNamespace(target());
    const body = configMap(namespace, 'a', {});
    const contentType = 'application/apply-patch+yaml';
    const anonymous = await target().request('PATCH', pathOf(body), { body, contentType });
    expect(anonymous.code).toBe(422);
    const { body: created } = await apply(target(), body, { manager: 'one' });
    const echoed = { ...body, metadata: { ...body.metadata, managedFields: created.metadata.managedFields } };
    const refused = await apply(target(), echoed, { manager: 'one' });
    expect([refused.code, refused.body.message]).toEqual([400, 'metadata.managedFields must be nil']);
  });

  test('refuses two items of a list with the same key', async () => {
    const namespace = await freshNamespace(target());
    const env = [
      { name: 'A', value: '1' },
      { name: 'A', value: '2' },
    ];
    const { code, body } = await apply(target(), deployment(namespace, 'web', { replicas: 0 }, { env }), {
      manager: 'one',
    });
    expect([code, body.message]).toEqual([
      500,
      expect.stringContaining('duplicate entries for key [name="A"]'),
    ]);
  });

  test('replaces ports of a Service by port and protocol', async () => {
    const namespace = await freshNamespace(target());
    const service = (ports: Json): Json => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', namespace },
      spec: { selector: { app: 'web' }, ports },
    });
    await apply(target(), service([{ name: 'http', port: 80 }]), { manager: 'one' });
    const { body } = await apply(target(), service([{ name: 'web', port: 81 }]), { manager: 'one' });
    expect(body.spec.ports).toEqual([{ name: 'web', port: 81, targetPort: 81, protocol: 'TCP' }]);
  });

  test('keeps status and spec apart: each door owns and changes its own part', async () => {
    const namespace = await freshNamespace(target());
    const body = deployment(namespace, 'web', { replicas: 0, paused: true });
    await apply(target(), { ...body, status: { collisionCount: 3 } }, { manager: 'one' });
    const conditions = [{ type: 'Example', status: 'True', reason: 'Test', message: 'from a test' }];
    const status = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: body.metadata,
      status: { conditions },
    };
    const written = await apply(target(), status, { manager: 'reporter', subresource: 'status' });
    expect([written.code, written.body.spec.replicas]).toEqual([200, 0]);
    const entry = written.body.metadata.managedFields.find((each: Json) => each.manager === 'reporter');
    expect([entry.subresource, Object.keys(entry.fieldsV1)]).toEqual(['status', ['f:status']]);
    const again = await apply(target(), body, { manager: 'one' });
    expect(again.body.status.conditions.some((each: Json) => each.type === 'Example')).toBe(true);
    expect(again.body.status.collisionCount).toBeUndefined();
  });
}
