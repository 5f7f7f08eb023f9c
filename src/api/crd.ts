/** CustomResourceDefinitions of our kinds, made from the one schema of each. */
import { parentTypeLabel } from './applyset.ts';
import { type KindDefinition, type KindName, kindNames, kinds } from './kinds.ts';
import type { KubernetesObject } from './kubernetes.ts';
import { type StructuralSchema, structuralSchemaOf } from './structural.ts';

const schemaCache = new Map<KindName, StructuralSchema>();

/** The whole object's structural schema of a kind: what the API server validates and prunes by. */
export function objectSchemaOf(name: KindName): StructuralSchema {
  const known = schemaCache.get(name);
  if (known) return known;
  const schema = buildObjectSchema(kinds[name]);
  schemaCache.set(name, schema);
  return schema;
}

function buildObjectSchema(definition: KindDefinition): StructuralSchema {
  const properties: Record<string, StructuralSchema> = {
    apiVersion: { type: 'string', description: 'Version of this schema.' },
    kind: { type: 'string', description: 'Kind of the object.' },
    metadata: { type: 'object' },
    spec: { description: 'What is wanted.', ...structuralSchemaOf(definition.spec) },
  };
  if (definition.status) {
    properties.status = { description: 'What is.', ...structuralSchemaOf(definition.status) };
  }
  const schema: StructuralSchema = { type: 'object', description: definition.description, properties };
  return definition.specRequired ? { ...schema, required: ['spec'] } : schema;
}

/** The CRD of a kind, ready to apply. It is kept when a Helm release that holds it is removed, as Flagger's are. */
export function crdOf(name: KindName): KubernetesObject {
  const { group, version, kind, plural, singular, columns, isParent } = kinds[name];
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${group}`,
      ...(isParent ? { labels: { [parentTypeLabel]: 'true' } } : {}),
      annotations: { 'helm.sh/resource-policy': 'keep' },
    },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, listKind: `${kind}List`, plural, singular, categories: ['all'] },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: columns.map((column) => ({ ...column })),
          schema: { openAPIV3Schema: structuredClone(objectSchemaOf(name)) },
        },
      ],
    },
  };
}

/** All our CRDs, in the order of the table of kinds. */
export function allCrds(): KubernetesObject[] {
  return kindNames.map(crdOf);
}
