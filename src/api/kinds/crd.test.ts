import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { allCrds, crdOf, objectSchemaOf, type StructuralSchema, structuralSchemaOf } from './crd.ts';
import { kindNames } from './kinds.ts';

/** Every node of a schema with its path; the branches of oneOf are no nodes. */
function nodesOf(schema: StructuralSchema, path = ''): Array<[path: string, node: StructuralSchema]> {
  return [
    [path, schema],
    ...Object.entries(schema.properties ?? {}).flatMap(([name, child]) => nodesOf(child, `${path}.${name}`)),
    ...(schema.items ? nodesOf(schema.items, `${path}[]`) : []),
    ...(schema.additionalProperties ? nodesOf(schema.additionalProperties, `${path}{}`) : []),
  ];
}

function at(name: (typeof kindNames)[number], path: string): StructuralSchema | undefined {
  return nodesOf(objectSchemaOf(name)).find(([nodePath]) => nodePath === path)?.[1];
}

describe('CRDs', () => {
  test.each(kindNames)('of %s are structural: every node has a type or is a number-or-text', (name) => {
    const odd = nodesOf(objectSchemaOf(name)).filter(
      ([, node]) => !node.type && !node['x-kubernetes-int-or-string'],
    );
    expect(odd.map(([path]) => path)).toEqual([]);
  });

  test('hold the defaults of Flagger 1.44 and no others', () => {
    const found = kindNames.flatMap((name) =>
      nodesOf(objectSchemaOf(name)).flatMap(([path, node]) =>
        node.default === undefined ? [] : [[`${name}${path}`, node.default] as const],
      ),
    );
    expect(Object.fromEntries(found)).toEqual({
      'Canary.spec.service.mirror[].backendRef.group': '',
      'Canary.spec.service.mirror[].backendRef.kind': 'Service',
      'Canary.spec.service.gatewayRefs[].group': 'gateway.networking.k8s.io',
      'Canary.spec.service.gatewayRefs[].kind': 'Gateway',
      'Canary.spec.analysis.sessionAffinity.maxAge': 86_400,
    });
  });

  test.each(kindNames)('of %s hold no reference or open schema', (name) => {
    const keys = nodesOf(objectSchemaOf(name)).flatMap(([, node]) => Object.keys(node));
    for (const key of ['$ref', 'anyOf', 'allOf', '$schema', 'nullable']) expect(keys).not.toContain(key);
  });

  test('keep unknown fields only where the rollout core keeps its books, in the spec that stays in force, and in values of charts', () => {
    const open = kindNames.flatMap((name) =>
      nodesOf(objectSchemaOf(name)).flatMap(([path, node]) =>
        node['x-kubernetes-preserve-unknown-fields'] ? [`${name}${path}`] : [],
      ),
    );
    expect(open).toEqual([
      'Canary.status.specInForce.spec',
      'Canary.status.postPromotion',
      'Canary.status.run',
      'Source.spec.helm.values',
    ]);
  });

  test('bound every list and text of the status that Holdfast adds', () => {
    const added = nodesOf(objectSchemaOf('Canary')).filter(([path]) =>
      /^\.status\.(rejected|checks|history|serving|next|message)/.test(path),
    );
    const unbounded = added.filter(([, node]) =>
      node.type === 'array'
        ? !node.maxItems
        : node.type === 'string' && !node.maxLength && !node.enum && !node.format,
    );
    expect(unbounded.map(([path]) => path)).toEqual([]);
  });

  test('let the analysis have one kind of steps, and a port be a number or a name', () => {
    expect(at('Canary', '.spec.analysis')?.oneOf).toHaveLength(3);
    expect(at('Canary', '.spec.service.targetPort')).toMatchObject({ 'x-kubernetes-int-or-string': true });
    expect(at('Canary', '.spec.service.targetPort')?.type).toBeUndefined();
  });

  test('survive the removal of a Helm release, and have a status of their own', () => {
    for (const crd of allCrds()) {
      expect(crd.metadata.annotations).toEqual({ 'helm.sh/resource-policy': 'keep' });
      expect(crd.spec).toMatchObject({ scope: 'Namespaced', versions: [{ subresources: { status: {} } }] });
    }
  });

  test('give each caller a copy of its own', () => {
    const spec = crdOf('Source').spec as {
      versions: Array<{ schema: { openAPIV3Schema: StructuralSchema } }>;
    };
    spec.versions[0]!.schema.openAPIV3Schema.properties = {};
    expect(objectSchemaOf('Source').properties?.spec).toBeDefined();
  });

  test("show Flagger's table, and ours after it with -o wide only", () => {
    const spec = crdOf('Canary').spec as {
      versions: Array<{ additionalPrinterColumns: Array<{ name: string; priority?: number }> }>;
    };
    const columns = spec.versions[0]?.additionalPrinterColumns ?? [];
    const named = (wanted: (priority: number) => boolean) =>
      columns.filter(({ priority = 0 }) => wanted(priority)).map(({ name }) => name);
    expect(named((priority) => priority === 0)).toEqual(['Status', 'Weight', 'LastTransitionTime']);
    expect(named((priority) => priority > 0)).toEqual([
      'Suspended',
      'FailedChecks',
      'Interval',
      'Mirror',
      'StepWeight',
      'StepWeights',
      'MaxWeight',
      'Serving',
      'Head',
      'Reason',
      'Next',
    ]);
  });
});

describe('the converter', () => {
  test('refuses what a CRD cannot say, with the path', () => {
    const schema = z.object({ a: z.object({ b: z.union([z.string(), z.boolean()]) }) });
    expect(() => structuralSchemaOf(schema)).toThrow('schema.a.b: a CRD cannot express this schema');
  });

  test('leaves out defaults of ours and the range of a double', () => {
    const schema = z.object({ a: z.int().default(3), b: z.int().min(1) });
    expect(structuralSchemaOf(schema)).toEqual({
      type: 'object',
      required: ['b'],
      properties: { a: { type: 'integer' }, b: { type: 'integer', minimum: 1 } },
    });
  });
});
