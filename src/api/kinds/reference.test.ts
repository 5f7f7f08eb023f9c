import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { objectSchemaOf, type StructuralSchema } from './crd.ts';
import { kindNames } from './kinds.ts';
import { referencePage } from './reference.ts';

const folder = new URL('../../../docs/reference/', import.meta.url);

describe('reference pages', () => {
  test.each(kindNames)('of %s are what the schema says', (name) => {
    const file = new URL(`${name.toLowerCase()}.md`, folder);
    if (process.env.UPDATE_DOCS === '1') {
      mkdirSync(folder, { recursive: true });
      writeFileSync(file, referencePage(name));
    }
    expect(readFileSync(file, 'utf8'), 'renew with UPDATE_DOCS=1').toBe(referencePage(name));
  });

  test.each(kindNames)('of %s say a word about every field', (name) => {
    const { spec, status } = objectSchemaOf(name).properties ?? {};
    const silent = [...fieldsWithoutDescription('spec', spec), ...fieldsWithoutDescription('status', status)];
    expect(silent).toEqual([]);
  });
});

function fieldsWithoutDescription(path: string, schema: StructuralSchema | undefined): string[] {
  if (!schema) return [];
  const inner = schema.items ?? schema.additionalProperties;
  return [
    ...Object.entries(schema.properties ?? {}).flatMap(([name, field]) => [
      ...(field.description ? [] : [`${path}.${name}`]),
      ...fieldsWithoutDescription(`${path}.${name}`, field),
    ]),
    ...fieldsWithoutDescription(`${path}[]`, inner),
  ];
}
