import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Suite } from './suite.ts';
import { type Answer, eventually, freshNamespace, type Json, type Target } from './target.ts';

const MERGE = 'application/merge-patch+json';

const SPEC_SCHEMA = {
  type: 'object',
  required: ['size'],
  properties: {
    size: { type: 'integer', minimum: 1, maximum: 10 },
    mode: { type: 'string', enum: ['fast', 'slow'], default: 'slow' },
    id: { type: 'string', pattern: '^[a-z]+$' },
    target: { 'x-kubernetes-int-or-string': true },
    free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    either: {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'string' } },
      oneOf: [{ required: ['a'] }, { required: ['b'] }],
    },
    items: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      items: {
        type: 'object',
        required: ['name'],
        properties: { name: { type: 'string' }, value: { type: 'string' } },
      },
    },
  },
};

function definition(group: string): Json {
  const schema = {
    openAPIV3Schema: {
      type: 'object',
      properties: {
        spec: SPEC_SCHEMA,
        status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      },
    },
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `widgets.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
      versions: [{ name: 'v1', served: true, storage: true, schema, subresources: { status: {} } }],
    },
  };
}

/** A kind made for one test. */
export interface Widgets {
  readonly path: string;
  readonly crd: string;
  widget(spec: Json): Json;
}

/** Defines a kind of its own in a group of its own, and waits until it is served. */
export async function widgets(target: Target): Promise<Widgets> {
  const group = `g${randomBytes(4).toString('hex')}.example.com`;
  const namespace = await freshNamespace(target);
  const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  await target.request('POST', crds, { body: definition(group) });
  const crd = `${crds}/widgets.${group}`;
  const path = `/apis/${group}/v1/namespaces/${namespace}/widgets`;
  await eventually(
    () => target.request('GET', crd),
    ({ body }) => {
      return (body.status?.conditions ?? []).some(
        (each: Json) => each.type === 'Established' && each.status === 'True',
      );
    },
  );
  await eventually(
    () => target.request('GET', path),
    ({ code }) => code === 200,
  );
  const metadata = { name: 'w', namespace };
  return { path, crd, widget: (spec) => ({ apiVersion: `${group}/v1`, kind: 'Widget', metadata, spec }) };
}

/** Definitions, their schemas, and the objects they serve. */
export function customResourceTests({ target }: Suite): void {
  test('serves the kind of a definition once it is Established, with defaults and without unknown fields', async () => {
    const { path, widget } = await widgets(target());
    const spec = { size: 3, unknown: 'x', free: { any: { thing: 1 } }, target: '50%' };
    const created = await target().request('POST', path, { body: widget(spec) });
    expect([created.code, created.body.metadata.generation]).toEqual([201, 1]);
    expect(created.body.spec).toEqual({ size: 3, mode: 'slow', free: { any: { thing: 1 } }, target: '50%' });
  });

  test('names group and version of a custom resource in aggregated discovery', async () => {
    const { path } = await widgets(target());
    const group = path.split('/')[2];
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
    const entry = ({ body }: Answer) => body.items.find((each: Json) => each.metadata.name === group);
    const found = await eventually(
      () => target().request('GET', '/apis', { accept }),
      (answer) => entry(answer) !== undefined,
    );
    const [resource] = entry(found).versions[0].resources;
    expect(resource).toMatchObject({
      resource: 'widgets',
      responseKind: { group, version: 'v1', kind: 'Widget' },
    });
  });

  test('refuses what the schema refuses', async () => {
    const { path, widget } = await widgets(target());
    const bad = [
      {},
      { size: 'x' },
      { size: 11 },
      { size: 1, mode: 'odd' },
      { size: 1, id: 'A1' },
      { size: 1, either: {} },
    ];
    const worse = [
      { size: 1, either: { a: '1', b: '1' } },
      { size: 1, target: 1.5 },
      { size: 1, items: [{ value: 'nameless' }] },
    ];
    for (const spec of [...bad, ...worse]) {
      const { code, body } = await target().request('POST', path, { body: widget(spec) });
      expect([JSON.stringify(spec), code, body.reason]).toEqual([JSON.stringify(spec), 422, 'Invalid']);
    }
    const missing = await target().request('POST', path, { body: widget({}) });
    expect(missing.body.message).toContain('spec.size: Required value');
  });

  test('refuses an unknown field when validation is strict', async () => {
    const { path, widget } = await widgets(target());
    const { code, body } = await target().request('POST', `${path}?fieldValidation=Strict`, {
      body: widget({ size: 1, odd: 1 }),
    });
    expect([code, body.message]).toEqual([400, expect.stringContaining('unknown field "spec.odd"')]);
  });

  test('merges applied lists by the keys the schema names, and refuses undeclared fields', async () => {
    const { path, widget } = await widgets(target());
    const apply = (spec: Json, manager: string) => {
      const contentType = 'application/apply-patch+yaml';
      return target().request('PATCH', `${path}/w?fieldManager=${manager}`, {
        body: widget(spec),
        contentType,
      });
    };
    await apply({ size: 1, items: [{ name: 'a', value: '1' }] }, 'one');
    const both = await apply({ items: [{ name: 'b', value: '2' }] }, 'two');
    expect(both.body.spec.items).toEqual([
      { name: 'a', value: '1' },
      { name: 'b', value: '2' },
    ]);
    const left = await apply({ size: 1 }, 'one');
    expect(left.body.spec.items).toEqual([{ name: 'b', value: '2' }]);
    const odd = await apply({ size: 1, odd: true }, 'one');
    expect([odd.code, odd.body.message]).toEqual([
      500,
      expect.stringContaining('.spec.odd: field not declared in schema'),
    ]);
  });

  test('keeps generation and spec when status is written, and status when spec is', async () => {
    const { path, widget } = await widgets(target());
    await target().request('POST', path, { body: { ...widget({ size: 1 }), status: { phase: 'Ignored' } } });
    const status = await target().request('PATCH', `${path}/w/status`, {
      body: { spec: { size: 9 }, status: { phase: 'Ready' } },
      contentType: MERGE,
    });
    expect([status.body.metadata.generation, status.body.spec.size, status.body.status.phase]).toEqual([
      1,
      1,
      'Ready',
    ]);
    const spec = await target().request('PATCH', `${path}/w`, {
      body: { spec: { size: 2 }, status: { phase: 'Other' } },
      contentType: MERGE,
    });
    expect([spec.body.metadata.generation, spec.body.spec.size, spec.body.status.phase]).toEqual([
      2,
      2,
      'Ready',
    ]);
  });

  test('takes no strategic merge patch', async () => {
    const { path, widget } = await widgets(target());
    await target().request('POST', path, { body: widget({ size: 1 }) });
    const contentType = 'application/strategic-merge-patch+json';
    expect(
      (await target().request('PATCH', `${path}/w`, { body: { spec: { size: 2 } }, contentType })).code,
    ).toBe(415);
  });

  test('forgets the kind when its definition is deleted', async () => {
    const { path, crd, widget } = await widgets(target());
    await target().request('POST', path, { body: widget({ size: 1 }) });
    await target().request('DELETE', crd);
    await eventually(
      () => target().request('GET', path),
      ({ code }) => code === 404,
    );
  });
}
