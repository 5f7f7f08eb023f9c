import { describe, expect, test } from 'vitest';
import { objectSchemaOf, type StructuralSchema } from '../../src/api/kinds/crd.ts';
import { validate } from '../../src/review/validate/validate.ts';
import { flaggerFields, flaggerFieldsFolder } from '../documents/flagger-fields.ts';

const kinds = ['Canary', 'MetricTemplate', 'AlertProvider'] as const;

/** Fields and words that Flagger does not know. */
const own = [
  /^Canary\.spec\.(postPromotion|revisionIgnore)\b/,
  /^Canary\.spec\.analysis\.metrics\[\]\.(onNoData|minSamples|maxSampleAge|compareWith|compare|maxRelativeIncrease)\b/,
  /^Canary\.spec\.analysis\.nodeOrder\b/,
  /^Canary\.spec\.analysis\.webhooks\[\]\.deadline$/,
  /^Canary\.spec\.provider=native$/,
  /^Canary\.spec\.routeRef\.kind=(HTTPRoute|HTTPProxy|VirtualService)$/,
  /^Canary\.spec\.targetRef\.kind=StatefulSet$/,
  /^MetricTemplate\.spec\.provider\.(type=(loki|web|job)|jsonPointer)$/,
  /^AlertProvider\.spec\.type=(alertmanager|webhook)$/,
];

/** Paths of all fields, and `path=word` for each word of a closed list. */
function fieldsOf(schema: StructuralSchema, path: string): string[] {
  const words = ((schema.enum as unknown[] | undefined) ?? []).map((word) => `${path}=${word}`);
  const properties = Object.entries(schema.properties ?? {});
  const { items, additionalProperties } = schema;
  const children = [
    ...properties.map(([name, child]) => [child, `${path}.${name}`] as const),
    ...(items ? [[items, `${path}[]`] as const] : []),
    ...(typeof additionalProperties === 'object' ? [[additionalProperties, `${path}{}`] as const] : []),
  ];
  return [path, ...words, ...children.flatMap(([child, below]) => fieldsOf(child, below))];
}

/** The same of a document, following the schema. */
function usedBy(value: unknown, schema: StructuralSchema, path: string): string[] {
  if (value === undefined) return [];
  const words = typeof value === 'string' ? [`${path}=${value}`] : [];
  if (Array.isArray(value))
    return [path, ...value.flatMap((item) => usedBy(item, schema.items ?? {}, `${path}[]`))];
  if (typeof value !== 'object' || value === null) return [path, ...words];
  const below = Object.entries(value).flatMap(([name, item]) => {
    const child = schema.properties?.[name];
    if (child) return usedBy(item, child, `${path}.${name}`);
    const rest = schema.additionalProperties;
    return typeof rest === 'object' ? usedBy(item, rest, `${path}{}`) : [];
  });
  return [path, ...below];
}

describe('the documents of every field', () => {
  test.each(kinds)('use every field and every word of closed lists of Flagger: %s', (kind) => {
    const schema = objectSchemaOf(kind).properties?.spec ?? {};
    const objects = flaggerFields().filter((object) => object.kind === kind);
    const used = new Set(objects.flatMap(({ spec }) => usedBy(spec, schema, `${kind}.spec`)));
    const missing = fieldsOf(schema, `${kind}.spec`).filter(
      (field) => !used.has(field) && !own.some((pattern) => pattern.test(field)),
    );
    expect(missing).toEqual([]);
    expect([...used].filter((field) => own.some((pattern) => pattern.test(field)))).toEqual([]);
  });

  test('are taken by holdfast validate, which names what this version does not act on', async () => {
    const { findings } = await validate({
      paths: [flaggerFieldsFolder],
      strict: true,
      forbidsOtherNamespaces: false,
    });
    const problems = findings.filter(({ severity }) => severity === 'problem');
    expect(problems.filter(({ message }) => !message.includes('this version cannot act on it yet'))).toEqual(
      [],
    );
    expect(problems.filter(({ file }) => !file.endsWith('waiting.yaml'))).toEqual([]);
  });
});
