/**
 * Documents -> typed objects, or problems for people. Accepts and refuses what the API server with our CRDs does, except for the annotation that
 * may replace spec.postPromotion, which the API server does not validate.
 */
import type * as z from 'zod';
import type { AlertProvider } from '../alert-provider.ts';
import { unpackStatus } from '../canary/bookkeeping.ts';
import { type Canary, withAnnotatedPostPromotion } from '../canary/canary.ts';
import { isRecord } from '../kubernetes.ts';
import { limits } from '../limits.ts';
import type { MetricTemplate } from '../metric-template.ts';
import { fieldPath, nearest, type Problem, problemOf } from '../problems.ts';
import type { Source } from '../source/source.ts';
import { objectSchemaOf, type StructuralSchema } from './crd.ts';
import { apiVersionOf, type KindName, kinds } from './kinds.ts';

/** `warnings` never stop anything; they are for events, conditions and `holdfast validate`. */
type ParseResult<T> =
  | { ok: true; value: T; warnings: Problem[] }
  | { ok: false; problems: Problem[]; warnings: Problem[] };

interface ParseOptions {
  /** Unknown fields are problems instead of warnings. */
  strict?: boolean;
}

/** What objects of our kinds are read as. */
export interface ParsedKinds {
  Canary: Canary;
  Source: Source;
  MetricTemplate: MetricTemplate;
  AlertProvider: AlertProvider;
}

/** Reads a Canary. Its status is taken field by field: one that cannot be read is left out with a warning. */
export function parseCanary(object: unknown, options: ParseOptions = {}): ParseResult<Canary> {
  return parseKind('Canary', object, options);
}

/** Reads a Source, from the cluster or from a file. */
export function parseSource(object: unknown, options: ParseOptions = {}): ParseResult<Source> {
  return parseKind('Source', object, options);
}

/** Reads an object of one of our kinds by the kind's name. */
export function parseKind<Name extends KindName>(
  name: Name,
  object: unknown,
  options: ParseOptions = {},
): ParseResult<ParsedKinds[Name]> {
  if (isDeeperThan(limits.objectDepth, object)) {
    const message = `is nested deeper than ${limits.objectDepth} levels`;
    return { ok: false, problems: [{ path: 'spec', message }], warnings: [] };
  }
  const schema = objectSchemaOf(name);
  const raw = holdsNull(object) ? dropNulls(object, schema) : object;
  const problems = identityProblems(name, raw);
  if (!isRecord(raw) || problems.length > 0) return { ok: false, problems, warnings: [] };
  const spec = kinds[name].spec.safeParse(raw.spec);
  const { status: rawStatus, ...document } = raw;
  const unknown = unknownFields(schema, document, []);
  if (!spec.success) problems.push(...spec.error.issues.map((issue) => problemOf(issue, raw.spec, ['spec'])));
  if (options.strict) problems.push(...unknown);
  const warnings = options.strict ? [] : unknown;
  if (!spec.success || problems.length > 0) return { ok: false, problems: capped(problems), warnings };
  const status = readStatus(name, rawStatus);
  const value = { ...document, spec: spec.data, ...(status.value ? storedAnd(name, status.value) : {}) };
  const all = capped([...warnings, ...status.warnings]);
  if (name !== 'Canary') return { ok: true, value: value as unknown as ParsedKinds[Name], warnings: all };
  const annotated = withAnnotatedPostPromotion(value as unknown as Canary);
  if (annotated.problems.length > 0) return { ok: false, problems: annotated.problems, warnings: all };
  return { ok: true, value: annotated.canary as ParsedKinds[Name], warnings: all };
}

/** API servers take 10,000 levels, and code that goes down as many ends the process. */
function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((child) => isDeeperThan(levels - 1, child));
}

/**
 * The API server removes nulls of fields that may not be null before it validates; so must we. Where any field may be it keeps them: in values of a
 * chart a null takes a default away.
 */
function dropNulls(value: unknown, schema: StructuralSchema | undefined): unknown {
  if (Array.isArray(value)) return value.map((item) => dropNulls(item, schema?.items));
  if (!isRecord(value)) return value;
  const {
    properties = {},
    additionalProperties,
    'x-kubernetes-preserve-unknown-fields': keepsAny,
  } = schema ?? {};
  const entries = Object.entries(value).flatMap(([key, child]) => {
    const known = Object.hasOwn(properties, key) ? properties[key] : additionalProperties;
    if (keepsAny && !known) return [[key, child] as const];
    return child === null || child === undefined ? [] : [[key, dropNulls(child, known)] as const];
  });
  return Object.fromEntries(entries);
}

/** Most objects hold none, and need no copy. */
function holdsNull(value: unknown): boolean {
  if (typeof value !== 'object') return value === undefined;
  return value === null || Object.values(value).some(holdsNull);
}

function identityProblems(name: KindName, raw: unknown): Problem[] {
  if (!isRecord(raw)) return [{ path: '', message: 'must be an object' }];
  const problems: Problem[] = [];
  const expected = apiVersionOf(name);
  if (raw.apiVersion !== expected) problems.push({ path: 'apiVersion', message: `must be ${expected}` });
  if (raw.kind !== name) problems.push({ path: 'kind', message: `must be ${name}` });
  const metadata = raw.metadata;
  if (!isRecord(metadata) || typeof metadata.name !== 'string' || metadata.name === '') {
    problems.push({ path: 'metadata.name', message: 'is missing' });
  }
  if (!isRecord(raw.spec)) problems.push({ path: 'spec', message: 'is missing' });
  return problems;
}

/** Holdfast writes the status and the server checks it; still, one broken field must not stop a Canary that serves. */
function readStatus(name: KindName, raw: unknown): { value?: Record<string, unknown>; warnings: Problem[] } {
  const schema = kinds[name].status as z.ZodObject | undefined;
  if (!schema || !isRecord(raw)) return { warnings: [] };
  const value: Record<string, unknown> = {};
  const warnings: Problem[] = [];
  for (const [field, content] of Object.entries(raw)) {
    const issue = schema.shape[field]
      ? (schema.shape[field] as z.ZodType).safeParse(content).error?.issues[0]
      : undefined;
    if (issue) warnings.push(problemOf(issue, content, ['status', field]));
    else value[field] = content;
  }
  return { value: warnings.length > 0 ? value : raw, warnings };
}

/** The status of a Canary is packed in part. */
function storedAnd(name: KindName, stored: Record<string, unknown>): Pick<Canary, 'status' | 'storedStatus'> {
  if (name !== 'Canary' || stored.bookkeeping === undefined) return { status: stored };
  return { status: unpackStatus(stored), storedStatus: stored };
}

function capped(problems: Problem[]): Problem[] {
  if (problems.length <= limits.problemsPerObject) return problems;
  const left = problems.length - limits.problemsPerObject;
  return [...problems.slice(0, limits.problemsPerObject), { path: '', message: `and ${left} more problems` }];
}

/** Fields that the API server would drop without a message, each with the known name that may have been meant. */
function unknownFields(schema: StructuralSchema, value: unknown, path: readonly PropertyKey[]): Problem[] {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items ? value.flatMap((item, index) => unknownFields(items, item, [...path, index])) : [];
  }
  if (typeof value !== 'object' || value === null || schema.type !== 'object') return [];
  const { properties } = schema;
  return Object.entries(value).flatMap(([name, child]) => {
    const isNamed = properties !== undefined && Object.hasOwn(properties, name);
    const known = isNamed ? properties[name] : schema.additionalProperties;
    const at = [...path, name];
    if (known) return unknownFields(known, child, at);
    // A bare object (metadata) and one that keeps unknown fields do not say what may be in it.
    if (!properties || schema['x-kubernetes-preserve-unknown-fields']) return [];
    const near = nearest(name, Object.keys(properties));
    const hint = near ? `; did you mean ${near}?` : '';
    return [{ path: fieldPath(at), message: `is not a known field and would be dropped${hint}` }];
  });
}
