import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { versionOf } from '../../src/terminal/output.ts';
import { outputKinds } from '../output-documents.ts';
import { jsonSchemaOf } from './json-schema.ts';
import { allCommands, kindsByCommand } from './output-commands.ts';
import { breakingChanges } from './schema-changes.ts';

const folder = join(import.meta.dirname, '../../docs/schemas');

type Schema = Record<string, unknown>;

describe('the schemas of docs/schemas', () => {
  it.each(outputKinds)('%s is as the code has it, and what was kept of it still holds', (kind) => {
    const file = join(folder, versionOf(kind), `${kind}.json`);
    const now = JSON.parse(JSON.stringify(jsonSchemaOf(kind))) as Schema;
    const kept = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Schema) : now;

    expect(breakingChanges(kept, now), `give ${kind} the next version in src/terminal/output.ts`).toEqual([]);
    if (process.env.UPDATE_DOCS) {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, `${JSON.stringify(now, undefined, 2)}\n`);
    }
    expect(JSON.parse(readFileSync(file, 'utf8')), 'renew with UPDATE_DOCS=1').toEqual(now);
  });

  it('are those of kinds that there are, in this version or an earlier one', () => {
    const number = (version: string) => Number(version.slice(1));
    const lost = readdirSync(folder).flatMap((version) =>
      readdirSync(join(folder, version)).filter((file) => {
        const kind = outputKinds.find((name) => `${name}.json` === file);
        return !kind || number(versionOf(kind)) < number(version);
      }),
    );
    expect(lost).toEqual([]);
  });

  it.each(outputKinds)('%s says a word about every field', (kind) => {
    expect(silentFields(jsonSchemaOf(kind), kind)).toEqual([]);
  });
});

function silentFields(schema: Schema, path: string): string[] {
  const {
    $defs = {},
    properties = {},
    items,
    allOf = [],
    oneOf = [],
    anyOf = [],
  } = schema as Record<string, object>;
  return [
    ...Object.entries($defs).flatMap(([name, inner]) => silentFields(inner as Schema, name)),
    ...Object.entries(properties).flatMap(([name, inner]) => [
      ...('description' in inner || isList(inner) || name === 'client' ? [] : [`${path}.${name}`]),
      ...silentFields(inner, `${path}.${name}`),
    ]),
    ...(items ? silentFields(items as Schema, `${path}[]`) : []),
    ...[allOf, oneOf, anyOf].flatMap((parts) =>
      (parts as Schema[]).flatMap((part) => silentFields(part, path)),
    ),
  ];
}

/** One thing for each Canary or move: its fields have descriptions. */
function isList({ items }: { readonly items?: unknown }): boolean {
  return (items as { type?: string } | undefined)?.type === 'object';
}

describe('the page on output', () => {
  const documented = kindsByCommand();

  it('has every command with -o json, and no other', () => {
    const offering = allCommands.filter(({ formats }) => formats.includes('json'));
    expect([...documented.keys()].sort()).toEqual(offering.map(({ name }) => name).sort());
  });

  it('has every kind', () => {
    const named = new Set(['Error', ...documented.values()].flat());
    expect([...named].filter((kind) => kind !== 'Object').sort()).toEqual(outputKinds.toSorted());
  });

  it('is true of every command: those without -o json print nothing for programs to read', () => {
    const without = allCommands.filter(({ formats }) => !formats.includes('json'));
    // The controller's log is JSON already; completion prints a script; migrate itself only has others below it.
    expect(without.map(({ name }) => name).sort()).toEqual(['completion', 'migrate', 'run']);
  });
});

const before = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    count: { type: 'integer' },
    note: { type: ['string', 'null'] },
    state: { type: 'string', enum: ['good', 'bad'] },
    items: {
      type: 'array',
      items: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
    },
  },
  required: ['name', 'count', 'state', 'items'],
};

function changed(change: (schema: typeof before) => void): Schema {
  const schema = structuredClone(before);
  change(schema);
  return schema;
}

const addedField = changed((schema) => Object.assign(schema.properties, { more: { type: 'string' } }));
const addedWord = changed((schema) => schema.properties.state.enum.push('unknown'));
const nowRequired = changed((schema) => schema.properties.items.items.required.push('more'));

test.each([
  ['a field more', addedField],
  ['a word more', addedWord],
  ['a field that is always there', nowRequired],
  [
    'a value that is always there',
    changed((schema) => Object.assign(schema.properties.note, { type: 'string' })),
  ],
])('%s breaks nobody', (_what, after) => {
  expect(breakingChanges(before, after)).toEqual([]);
});

test.each([
  ['a field less', '.count', changed((schema) => Reflect.deleteProperty(schema.properties, 'count'))],
  ['a field that may be absent', '.name', changed((schema) => schema.required.shift())],
  ['another type', '.count', changed((schema) => Object.assign(schema.properties.count, { type: 'string' }))],
  [
    'a value that may be null',
    '.name',
    changed((schema) => Object.assign(schema.properties.name, { type: ['string', 'null'] })),
  ],
  ['a word less', '.state', changed((schema) => schema.properties.state.enum.pop())],
  ['any text', '.state', changed((schema) => Reflect.deleteProperty(schema.properties.state, 'enum'))],
  [
    'a field less in a list',
    '.items[].id',
    changed((schema) => Reflect.deleteProperty(schema.properties.items.items.properties, 'id')),
  ],
])('%s breaks those who read it', (_what, path, after) => {
  expect(breakingChanges(before, after)).toEqual([expect.stringContaining(`${path}:`)]);
});

test('an alternative more breaks nobody, one less or another one does', () => {
  const event = (type: string, field = 'text') => ({
    type: 'object',
    properties: { type: { type: 'string', const: type }, [field]: { type: 'string' } },
    required: ['type', field],
  });
  const two = { oneOf: [event('begun'), event('ended')] };
  expect(breakingChanges(two, { oneOf: [...two.oneOf, event('paused')] })).toEqual([]);
  expect(breakingChanges(two, { oneOf: [event('begun')] })).toEqual([
    ': alternative 2 was taken away or changed',
  ]);
  expect(breakingChanges(two, { oneOf: [event('begun', 'line'), event('ended')] })).toEqual([
    ': alternative 1 was taken away or changed',
  ]);
});
