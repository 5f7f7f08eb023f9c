/** CustomResourceDefinitions of our kinds, made from the one schema of each. */
import * as z from 'zod';
import { type KubernetesObject, parentTypeLabel } from '../kubernetes.ts';
import { flaggerDefaultKey } from '../schema.ts';
import { type KindDefinition, type KindName, kindNames, kinds } from './kinds.ts';

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

/** The CRD of a kind, ready to apply. It stays when a Helm release that holds it is removed, as Flagger's CRDs do. */
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

// zod schema -> structural OpenAPI v3 schema, the dialect that CustomResourceDefinitions speak.

/** One node of a structural schema; only what we emit and read is typed. */
export interface StructuralSchema {
  type?: 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean';
  description?: string;
  properties?: Record<string, StructuralSchema>;
  items?: StructuralSchema;
  additionalProperties?: StructuralSchema;
  required?: string[];
  enum?: string[];
  default?: string | number;
  oneOf?: unknown[];
  pattern?: string;
  format?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
  maxProperties?: number;
  'x-kubernetes-int-or-string'?: true;
  'x-kubernetes-preserve-unknown-fields'?: true;
  'x-kubernetes-validations'?: Array<{ rule: string; message: string }>;
}

type JsonNode = Record<string, unknown>;

const copiedKeys = [
  'type',
  'description',
  'required',
  'enum',
  'oneOf',
  'pattern',
  'format',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'maxItems',
  'maxProperties',
  'x-kubernetes-validations',
] as const;

/**
 * Converts a schema for the API server. Defaults do not come through, since they would change what users stored (and what
 * Flagger wrote) on the server, but those of Flagger's own CRD. Unions, apart from number-or-text, are a mistake of ours: throws an Error.
 */
export function structuralSchemaOf(schema: z.ZodType): StructuralSchema {
  return convert(z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input' }) as JsonNode, 'schema');
}

function convert(node: JsonNode, path: string): StructuralSchema {
  if (node['x-kubernetes-int-or-string']) {
    return { ...pick(node, ['description']), 'x-kubernetes-int-or-string': true };
  }
  if (node.anyOf !== undefined || node.$ref !== undefined || typeof node.type !== 'string') {
    throw new Error(`${path}: a CRD cannot express this schema (union, reference or no type)`);
  }
  const result: StructuralSchema = pick(node, copiedKeys);
  // zod bounds every integer by what a double can hold; that says nothing about the field.
  if (result.maximum === Number.MAX_SAFE_INTEGER) delete result.maximum;
  if (result.minimum === Number.MIN_SAFE_INTEGER) delete result.minimum;
  const fallback = node[flaggerDefaultKey];
  if (fallback !== undefined) result.default = fallback as string | number;
  const properties = node.properties as Record<string, JsonNode> | undefined;
  if (properties) {
    result.properties = Object.fromEntries(
      Object.entries(properties).map(([name, child]) => [name, convert(child, `${path}.${name}`)]),
    );
  }
  if (node.items) result.items = convert(node.items as JsonNode, `${path}[]`);
  // A map keeps its value schema; a loose object keeps unknown fields; from a plain object the server prunes them.
  const additional = node.additionalProperties;
  if (typeof additional !== 'object' || additional === null) return result;
  if (Object.keys(additional).length === 0) result['x-kubernetes-preserve-unknown-fields'] = true;
  else result.additionalProperties = convert(additional as JsonNode, `${path}{}`);
  return result;
}

function pick(node: JsonNode, keys: readonly string[]): StructuralSchema {
  return Object.fromEntries(keys.filter((key) => node[key] !== undefined).map((key) => [key, node[key]]));
}
