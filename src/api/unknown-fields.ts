/** Fields that the API server would drop without a word: users must hear of them. */
import { fieldPath, nearest, type Problem } from './problems.ts';
import type { StructuralSchema } from './structural.ts';

/** Every field of the value that the schema does not know, with the known name it may be a slip of. */
export function unknownFields(
  schema: StructuralSchema,
  value: unknown,
  path: readonly PropertyKey[],
): Problem[] {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items ? value.flatMap((item, index) => unknownFields(items, item, [...path, index])) : [];
  }
  if (typeof value !== 'object' || value === null || schema.type !== 'object') return [];
  return Object.entries(value).flatMap(([name, child]) => {
    const known = knownChild(schema, name);
    if (known) return unknownFields(known, child, [...path, name]);
    return prunes(schema) ? [unknownField(schema, [...path, name], name)] : [];
  });
}

function knownChild(schema: StructuralSchema, name: string): StructuralSchema | undefined {
  if (schema.properties && Object.hasOwn(schema.properties, name)) return schema.properties[name];
  return schema.additionalProperties;
}

/** A bare object (metadata) and one that keeps unknown fields say nothing about what may be in it. */
function prunes(schema: StructuralSchema): boolean {
  return schema.properties !== undefined && !schema['x-kubernetes-preserve-unknown-fields'];
}

function unknownField(schema: StructuralSchema, path: readonly PropertyKey[], name: string): Problem {
  const near = nearest(name, Object.keys(schema.properties ?? {}));
  const hint = near ? `; did you mean ${near}?` : '';
  return { path: fieldPath(path), message: `is not a known field and would be dropped${hint}` };
}
