import { expect, test } from 'vitest';
import { configMap, deployment } from './objects.ts';
import type { Suite } from './suite.ts';
import { type Answer, freshNamespace, type Json, type Target } from './target.ts';

interface ApplyOptions {
  readonly manager: string;
  readonly force?: boolean;
  readonly query?: string;
  readonly subresource?: string;
}

const PLURALS: Record<string, string> = {
  ConfigMap: '/api/v1/namespaces/NS/configmaps',
  Service: '/api/v1/namespaces/NS/services',
  Deployment: '/apis/apps/v1/namespaces/NS/deployments',
};

function pathOf(object: Json): string {
  return `${PLURALS[object.kind]?.replace('NS', object.metadata.namespace)}/${object.metadata.name}`;
}

function apply(target: Target, object: Json, options: ApplyOptions): Promise<Answer> {
  const suffix = options.subresource ? `/${options.subresource}` : '';
  const query = `fieldManager=${options.manager}&force=${options.force ?? false}${options.query ?? ''}`;
  return target.request('PATCH', `${pathOf(object)}${suffix}?${query}`, {
    body: object,
    contentType: 'application/apply-patch+yaml',
  });
}

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
    expect(settled.body.metadata.managedFields).toEqual(read.body.metadata.managedFields);
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
