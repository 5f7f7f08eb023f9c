import { isRecord, listOf, recordOf, recordsOf } from '../../src/api/kubernetes.ts';
import type { FieldProblem } from './errors.ts';
import { clone, type JsonRecord, sameJson } from './json.ts';

/** Paths (`.spec.foo`) of fields that a structural schema does not declare. */
export function unknownFields(value: unknown, schema: JsonRecord, path = ''): string[] {
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => unknownFields(item, recordOf(schema.items), `${path}[${index}]`));
  }
  if (!isRecord(value)) return [];
  const properties = recordOf(schema.properties);
  const extra = schema.additionalProperties;
  const open = schema['x-kubernetes-preserve-unknown-fields'] === true || extra === true;
  return Object.entries(value).flatMap(([field, child]) => {
    const below = `${path}.${field}`;
    if (field === 'metadata' && standardField(schema, path, field)) return [];
    if (isRecord(properties[field])) return unknownFields(child, properties[field], below);
    if (isRecord(extra)) return unknownFields(child, extra, below);
    if (open || standardField(schema, path, field)) return [];
    return [below];
  });
}

function standardField(schema: JsonRecord, path: string, field: string): boolean {
  const embedded = path === '' || schema['x-kubernetes-embedded-resource'] === true;
  return embedded && ['apiVersion', 'kind', 'metadata'].includes(field);
}

/** The value without undeclared fields and with declared defaults. The argument is not changed. */
export function pruneAndDefault(value: unknown, schema: JsonRecord): unknown {
  const copy = clone(value);
  fill(copy, schema, true);
  return copy;
}

function fill(value: unknown, schema: JsonRecord, root: boolean): void {
  if (Array.isArray(value)) for (const item of value) fill(item, recordOf(schema.items), false);
  if (!isRecord(value)) return;
  addDefaults(value, recordOf(schema.properties));
  for (const field of Object.keys(value)) fillField(value, field, schema, root);
}

function addDefaults(value: JsonRecord, properties: JsonRecord): void {
  for (const [field, child] of Object.entries(properties)) {
    const { default: fallback, nullable } = recordOf(child);
    const missing = value[field] === undefined || (value[field] === null && nullable !== true);
    if (missing && fallback !== undefined) value[field] = clone(fallback);
  }
}

function fillField(value: JsonRecord, field: string, schema: JsonRecord, root: boolean): void {
  const declared = recordOf(schema.properties)[field] ?? schema.additionalProperties;
  if (isRecord(declared)) fill(value[field], declared, false);
  else if (!keeps(schema, root ? '' : '.', field)) delete value[field];
}

function keeps(schema: JsonRecord, path: string, field: string): boolean {
  const open =
    schema['x-kubernetes-preserve-unknown-fields'] === true || schema.additionalProperties === true;
  return open || standardField(schema, path, field);
}

/** What the schema refuses. `field` is the dotted path without a leading dot, as a real server words it. */
export function schemaProblems(value: unknown, schema: JsonRecord, path = ''): FieldProblem[] {
  if (value === null && schema.nullable === true) return [];
  const typeProblem = checkType(value, schema, path);
  if (typeProblem) return [typeProblem];
  return [
    ...scalarProblems(value, schema, path),
    ...requiredProblems(value, schema, path),
    ...childProblems(value, schema, path),
    ...junctionProblems(value, schema, path),
  ];
}

function typeName(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (value === null) return 'null';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

function checkType(value: unknown, schema: JsonRecord, path: string): FieldProblem | undefined {
  const actual = typeName(value);
  if (schema['x-kubernetes-int-or-string'] === true) {
    return actual === 'integer' || actual === 'string'
      ? undefined
      : typeProblem(path, value, 'integer,string');
  }
  const wanted = schema.type;
  if (wanted === undefined || wanted === actual || (wanted === 'number' && actual === 'integer'))
    return undefined;
  return typeProblem(path, value, String(wanted));
}

function problem(path: string, reason: string, kind: string, value: unknown, message: string): FieldProblem {
  const field = path || '<nil>';
  return { field, reason, message: `${kind}: ${JSON.stringify(value)}: ${field} in body ${message}` };
}

function typeProblem(path: string, value: unknown, wanted: string): FieldProblem {
  return problem(
    path,
    'FieldValueTypeInvalid',
    'Invalid value',
    typeName(value),
    `must be of type ${wanted}: "${typeName(value)}"`,
  );
}

function scalarProblems(value: unknown, schema: JsonRecord, path: string): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const refuse = (message: string) =>
    problems.push(problem(path, 'FieldValueInvalid', 'Invalid value', value, message));
  if (Array.isArray(schema.enum) && !schema.enum.some((allowed) => sameJson(allowed, value))) {
    const allowed = schema.enum.map((item) => JSON.stringify(item)).join(', ');
    const message = `Unsupported value: ${JSON.stringify(value)}: supported values: ${allowed}`;
    problems.push({ field: path, reason: 'FieldValueNotSupported', message });
  }
  if (
    typeof value === 'string' &&
    typeof schema.pattern === 'string' &&
    !patternOf(schema.pattern).test(value)
  ) {
    refuse(`should match '${schema.pattern}'`);
  }
  for (const [keyword, { size, fails, wording }] of BOUNDS) {
    const bound = schema[keyword];
    if (typeof bound !== 'number') continue;
    const actual = size(value);
    if (actual !== undefined && fails(actual, bound)) refuse(`${wording} ${bound}`);
  }
  return problems;
}

/** Each write of a custom resource asks for all of its schema's. */
const patterns = new Map<string, RegExp>();

function patternOf(source: string): RegExp {
  const pattern = patterns.get(source) ?? new RegExp(source);
  patterns.set(source, pattern);
  return pattern;
}

interface Bound {
  readonly size: (value: unknown) => number | undefined;
  readonly fails: (actual: number, bound: number) => boolean;
  readonly wording: string;
}

const number = (value: unknown) => (typeof value === 'number' ? value : undefined);
const textLength = (value: unknown) => (typeof value === 'string' ? value.length : undefined);
const listLength = (value: unknown) => (Array.isArray(value) ? value.length : undefined);
const below = (actual: number, bound: number) => actual < bound;
const above = (actual: number, bound: number) => actual > bound;
const BOUNDS: ReadonlyArray<[keyword: string, Bound]> = Object.entries({
  minimum: { size: number, fails: below, wording: 'should be greater than or equal to' },
  maximum: { size: number, fails: above, wording: 'should be less than or equal to' },
  minLength: { size: textLength, fails: below, wording: 'should be at least of length' },
  maxLength: { size: textLength, fails: above, wording: 'should be at most of length' },
  minItems: { size: listLength, fails: below, wording: 'should have at least this many items:' },
  maxItems: { size: listLength, fails: above, wording: 'should have at most this many items:' },
});

function requiredProblems(value: unknown, schema: JsonRecord, path: string): FieldProblem[] {
  if (!isRecord(value)) return [];
  const missing = listOf(schema.required).filter((field) => value[String(field)] === undefined);
  return missing.map((field) => {
    return {
      field: path ? `${path}.${String(field)}` : String(field),
      reason: 'FieldValueRequired',
      message: 'Required value',
    };
  });
}

function childProblems(value: unknown, schema: JsonRecord, path: string): FieldProblem[] {
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => schemaProblems(item, recordOf(schema.items), `${path}[${index}]`));
  }
  if (!isRecord(value)) return [];
  const properties = recordOf(schema.properties);
  return Object.entries(value).flatMap(([field, child]) => {
    const childSchema = properties[field] ?? schema.additionalProperties;
    return isRecord(childSchema) ? schemaProblems(child, childSchema, path ? `${path}.${field}` : field) : [];
  });
}

function junctionProblems(value: unknown, schema: JsonRecord, path: string): FieldProblem[] {
  const passing = (branches: JsonRecord[]) =>
    branches.filter((branch) => schemaProblems(value, branch, path).length === 0).length;
  const refuse = (message: string) => [problem(path, 'FieldValueInvalid', 'Invalid value', value, message)];
  const oneOf = recordsOf(schema.oneOf);
  const anyOf = recordsOf(schema.anyOf);
  return [
    ...(oneOf.length > 0 && passing(oneOf) !== 1
      ? refuse('must validate one and only one schema (oneOf)')
      : []),
    ...(anyOf.length > 0 && passing(anyOf) === 0 ? refuse('must validate at least one schema (anyOf)') : []),
    ...recordsOf(schema.allOf).flatMap((branch) => schemaProblems(value, branch, path)),
    ...(isRecord(schema.not) && passing([schema.not]) === 1
      ? refuse('must not validate the schema (not)')
      : []),
  ];
}
