import { expect, test } from 'vitest';
import { apply, pathOf } from './apply.ts';
import { configMap, deployment } from './bodies.ts';
import type { Suite } from './suite.ts';
import { type Answer, freshNamespace, type Json } from './target.ts';

function managersOf(object: Json): string[] {
  return object.metadata.managedFields.map((entry: Json) => entry.manager);
}

/** Ownership, conflicts, removal. */
export function applyTests({ target }: Suite): void {
  test('creates with 201, then answers 200, and keeps version and generation when nothing changes', async () => {
    const namespace = await freshNamespace(target());
    const body = deployment(namespace, 'web', { replicas: 0, paused: true });
    const created = await apply(target(), body, { manager: 'one' });
    expect(created.code).toBe(201);
    const first = await apply(target(), { ...body, spec: { ...body.spec, replicas: 1 } }, { manager: 'one' });
    expect([first.code, first.body.metadata.generation]).toEqual([200, 2]);
    const again = await apply(target(), { ...body, spec: { ...body.spec, replicas: 1 } }, { manager: 'one' });
    expect([again.code, again.body.metadata.generation]).toEqual([200, 2]);
    const settled = await apply(
      target(),
      { ...body, spec: { ...body.spec, replicas: 1 } },
      { manager: 'one', query: '&dryRun=All' },
    );
    const read = await target().request('GET', pathOf(body));
    // The controller may write its status between the two.
    const ofOne = ({ body: { metadata } }: Answer) =>
      metadata.managedFields.filter((each: Json) => each.manager === 'one');
    expect(ofOne(settled)).toEqual(ofOne(read));
    const plain = configMap(namespace, 'plain', { x: '1' });
    const versions = [
      await apply(target(), plain, { manager: 'one' }),
      await apply(target(), plain, { manager: 'one' }),
    ];
    expect(versions[1]?.body.metadata.resourceVersion).toBe(versions[0]?.body.metadata.resourceVersion);
  });

  test('records what a manager applied, list items by their keys', async () => {
    const namespace = await freshNamespace(target());
    const { body } = await apply(target(), deployment(namespace, 'web', { replicas: 0 }), { manager: 'one' });
    const entry = body.metadata.managedFields.find((each: Json) => each.manager === 'one');
    expect(entry).toMatchObject({ operation: 'Apply', apiVersion: 'apps/v1', fieldsType: 'FieldsV1' });
    expect(entry.fieldsV1).toEqual({
      'f:spec': {
        'f:replicas': {},
        'f:selector': {},
        'f:template': {
          'f:metadata': { 'f:labels': { 'f:app': {} } },
          'f:spec': {
            'f:containers': {
              'k:{"name":"app"}': {
                '.': {},
                'f:image': {},
                'f:name': {},
                'f:ports': {
                  'k:{"containerPort":8080,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {} },
                },
              },
            },
          },
        },
      },
    });
  });

  test('refuses to change what another manager owns, and names manager and field', async () => {
    const namespace = await freshNamespace(target());
    await apply(target(), deployment(namespace, 'web', { replicas: 0 }), { manager: 'one' });
    const other = deployment(namespace, 'web', { replicas: 0 }, { image: 'fake/app:v2' });
    const refused = await apply(target(), other, { manager: 'two' });
    expect([refused.code, refused.body.reason]).toEqual([409, 'Conflict']);
    expect(refused.body.message).toContain('conflict with "one"');
    expect(refused.body.message).toContain('.spec.template.spec.containers[name="app"].image');
    expect(refused.body.details.causes).toEqual([
      {
        reason: 'FieldManagerConflict',
        message: 'conflict with "one"',
        field: '.spec.template.spec.containers[name="app"].image',
      },
    ]);
  });

  test('takes fields by force, and the former owner loses them', async () => {
    const namespace = await freshNamespace(target());
    await apply(target(), configMap(namespace, 'a', { x: '1', y: '1' }), { manager: 'one' });
    const forced = await apply(target(), configMap(namespace, 'a', { x: '2' }), {
      manager: 'two',
      force: true,
    });
    expect([forced.code, forced.body.data]).toEqual([200, { x: '2', y: '1' }]);
    const one = forced.body.metadata.managedFields.find((each: Json) => each.manager === 'one');
    expect(one.fieldsV1).toEqual({ 'f:data': { 'f:y': {} } });
  });

  test('lets two managers share a field they agree on, and removes it when both let go', async () => {
    const namespace = await freshNamespace(target());
    await apply(target(), configMap(namespace, 'a', { shared: '1', one: '1' }), { manager: 'one' });
    const second = await apply(target(), configMap(namespace, 'a', { shared: '1' }), { manager: 'two' });
    expect(second.code).toBe(200);
    const oneLeft = await apply(target(), configMap(namespace, 'a', { one: '1' }), { manager: 'one' });
    expect(oneLeft.body.data).toEqual({ shared: '1', one: '1' });
    const bothLeft = await apply(target(), configMap(namespace, 'a', {}), { manager: 'two' });
    expect(bothLeft.body.data).toEqual({ one: '1' });
  });

  test('lets ownership be handed on by writing it: what the new owner leaves out is then removed', async () => {
    const namespace = await freshNamespace(target());
    const body = configMap(namespace, 'a', { kept: '1', left: '1' });
    const { path, collection } = { path: pathOf(body), collection: pathOf(body).replace(/\/a$/, '') };
    const made = await target().request('POST', `${collection}?fieldManager=flagger`, { body });
    const [entry] = made.body.metadata.managedFields;
    const { uid, resourceVersion } = made.body.metadata;
    const managedFields = [{ ...entry, manager: 'one', operation: 'Apply' }];
    const handed = await target().request('PATCH', `${path}?fieldManager=one`, {
      body: { metadata: { uid, resourceVersion, managedFields, labels: { by: 'one' } } },
      contentType: 'application/merge-patch+json',
    });
    expect(handed.code).toBe(200);
    const owners = handed.body.metadata.managedFields.map(
      (each: Json) => `${each.manager} ${each.operation}`,
    );
    expect(owners.sort()).toEqual(['one Apply', 'one Update']);
    const applied = await apply(target(), configMap(namespace, 'a', { kept: '2' }), { manager: 'one' });
    expect([applied.code, applied.body.data]).toEqual([200, { kept: '2' }]);
  });

  test('removes containers, ports, variables and volumes that are applied no longer, and defaults come back', async () => {
    const namespace = await freshNamespace(target());
    const full = deployment(
      namespace,
      'web',
      { replicas: 0, minReadySeconds: 5, revisionHistoryLimit: 3 },
      {
        ports: [{ containerPort: 8080 }, { containerPort: 9090, name: 'metrics' }],
        env: [
          { name: 'A', value: '1' },
          { name: 'B', value: '2' },
        ],
      },
    );
    full.spec.template.spec.containers.push({ name: 'sidecar', image: 'fake/sidecar:v1' });
    full.spec.template.spec.volumes = [{ name: 'scratch', emptyDir: {} }];
    await apply(target(), full, { manager: 'one' });
    const slim = deployment(namespace, 'web', { replicas: 0 }, { env: [{ name: 'B', value: '3' }] });
    const { body } = await apply(target(), slim, { manager: 'one' });
    const { template, minReadySeconds, revisionHistoryLimit } = body.spec;
    expect(template.spec.containers.map((each: Json) => each.name)).toEqual(['app']);
    expect(template.spec.containers[0].ports).toEqual([{ containerPort: 8080, protocol: 'TCP' }]);
    expect(template.spec.containers[0].env).toEqual([{ name: 'B', value: '3' }]);
    expect(template.spec.volumes).toBeUndefined();
    expect([minReadySeconds, revisionHistoryLimit]).toEqual([undefined, 10]);
  });

  test('keeps what other managers added: labels, replicas, containers', async () => {
    const namespace = await freshNamespace(target());
    const body = deployment(namespace, 'web', {});
    await apply(target(), body, { manager: 'one' });
    const patch = { metadata: { labels: { team: 'x' } }, spec: { paused: true, replicas: 0 } };
    await target().request('PATCH', `${pathOf(body)}?fieldManager=editor`, {
      body: patch,
      contentType: 'application/merge-patch+json',
    });
    const applied = await apply(target(), deployment(namespace, 'web', {}, { image: 'fake/app:v2' }), {
      manager: 'one',
    });
    expect(applied.code).toBe(200);
    expect(applied.body.metadata.labels).toEqual({ team: 'x' });
    expect(applied.body.spec).toMatchObject({ replicas: 0, paused: true });
    expect(managersOf(applied.body)).toContain('editor');
  });

  test('gives a field to the manager that updated it last, which then conflicts with an apply', async () => {
    const namespace = await freshNamespace(target());
    const body = configMap(namespace, 'a', { x: '1' });
    await apply(target(), body, { manager: 'one' });
    const patch = { body: { data: { x: 'edited' } }, contentType: 'application/merge-patch+json' };
    const edited = await target().request('PATCH', `${pathOf(body)}?fieldManager=editor`, patch);
    expect(managersOf(edited.body)).toEqual(['editor']);
    const refused = await apply(target(), body, { manager: 'one' });
    expect([refused.code, refused.body.message]).toEqual([
      409,
      expect.stringContaining('conflict with "editor" using v1: .data.x'),
    ]);
  });

  test('changes nothing on a dry run, also when it would create', async () => {
    const namespace = await freshNamespace(target());
    const body = configMap(namespace, 'a', { x: '1' });
    const dry = await apply(target(), body, { manager: 'one', query: '&dryRun=All' });
    expect([dry.code, typeof dry.body.metadata.uid]).toEqual([201, 'string']);
    expect((await target().request('GET', pathOf(body))).code).toBe(404);
    const created = await apply(target(), body, { manager: 'one' });
    const changed = await apply(target(), configMap(namespace, 'a', { x: '2' }), {
      manager: 'one',
      query: '&dryRun=All',
    });
    expect(changed.body.data.x).toBe('2');
    expect((await target().request('GET', pathOf(body))).body).toEqual(created.body);
  });
}
