import { isRecord, recordOf } from '../../src/api/kubernetes.ts';
import { ApiError } from './errors.ts';
import type { JsonRecord } from './json.ts';
import { childNode, type MergeNode } from './merge-schema.ts';

/** Paths of fields, in the path elements of `fieldsV1` (`f:name`, `k:{"name":"app"}`, `v:"value"`) joined by SEPARATOR. */
export type FieldSet = ReadonlySet<string>;

/** Between two elements of a path; cannot appear in them unescaped. */
export const SEPARATOR = '\u001f';

/** The value of a path that only has children: a list item, or an empty object. */
const BRANCH: unique symbol = Symbol('branch');

/** Appends one element. */
export function joinPath(path: string, element: string): string {
  return path === '' ? element : `${path}${SEPARATOR}${element}`;
}

/** The element that names an item of a keyed list. */
export function itemElement(item: unknown, node: MergeNode): string {
  const entries = (node.keys ?? []).map((key) => [key, recordOf(item)[key] ?? node.keyDefaults?.[key]]);
  return `k:${JSON.stringify(Object.fromEntries(entries))}`;
}

/** Every field of a value with what it holds: scalars and atomic values as they are, branches as BRANCH. */
export function flatten(
  value: unknown,
  node: MergeNode,
  path = '',
  out = new Map<string, unknown>(),
): Map<string, unknown> {
  if (Array.isArray(value) && node.set) {
    for (const item of value) out.set(joinPath(path, `v:${JSON.stringify(item)}`), BRANCH);
  } else if (Array.isArray(value) && node.keys) {
    flattenItems(value, node, path, out);
  } else if (isRecord(value) && !node.atomic) {
    flattenFields(value, node, path, out);
  } else {
    out.set(path, value);
  }
  return out;
}

function flattenFields(value: JsonRecord, node: MergeNode, path: string, out: Map<string, unknown>): void {
  const entries = Object.entries(value);
  if (entries.length === 0 && path !== '') out.set(path, BRANCH);
  for (const [field, child] of entries)
    flatten(child, childNode(node, field), joinPath(path, `f:${field}`), out);
}

function flattenItems(items: unknown[], node: MergeNode, path: string, out: Map<string, unknown>): void {
  const fieldsOnly: MergeNode = {
    ...(node.fields ? { fields: node.fields } : {}),
    ...(node.anyField ? { anyField: node.anyField } : {}),
  };
  for (const item of items) {
    const itemPath = joinPath(path, itemElement(item, node));
    if (out.has(itemPath)) throw duplicateItem(path, item, node);
    out.set(itemPath, BRANCH);
    if (isRecord(item)) flattenFields(item, fieldsOnly, itemPath, out);
  }
}

function duplicateItem(path: string, item: unknown, node: MergeNode): ApiError {
  const keys = (node.keys ?? []).map(
    (key) => `${key}=${JSON.stringify(recordOf(item)[key] ?? node.keyDefaults?.[key])}`,
  );
  const message = `failed to create typed patch object: ${dotted(path)}: duplicate entries for key [${keys.join(',')}]`;
  return new ApiError(500, 'InternalError', message);
}

/** A path in the notation of conflict messages: `.spec.template.spec.containers[name="app"].image`. */
export function dotted(path: string): string {
  return path.split(SEPARATOR).map(dottedElement).join('');
}

function dottedElement(element: string): string {
  if (element.startsWith('f:')) return `.${element.slice(2)}`;
  if (element.startsWith('v:')) return `[=${element.slice(2)}]`;
  const keys = Object.entries(recordOf(JSON.parse(element.slice(2))));
  return `[${keys.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(',')}]`;
}

/** Most writes change the fields of one manager: the sets of the others, and their wire forms, are known. */
const sets = new WeakMap<JsonRecord, FieldSet>();
const wireForms = new WeakMap<FieldSet, JsonRecord>();

/** Reads the wire form of a set. Neither is to be changed afterwards. */
export function fieldSetOf(fieldsV1: JsonRecord): FieldSet {
  const known = sets.get(fieldsV1);
  if (known) return known;
  const fields = fromFieldsV1(fieldsV1);
  sets.set(fieldsV1, fields);
  wireForms.set(fields, fieldsV1);
  return fields;
}

/** The wire form of a set. Neither is to be changed afterwards. */
export function fieldsV1Of(fields: FieldSet): JsonRecord {
  const known = wireForms.get(fields);
  if (known) return known;
  const fieldsV1 = toFieldsV1(fields);
  sets.set(fieldsV1, fields);
  wireForms.set(fields, fieldsV1);
  return fieldsV1;
}

/** Nested objects, `.` marking branches that are members themselves. */
function toFieldsV1(fields: FieldSet): JsonRecord {
  const root: JsonRecord = {};
  for (const path of [...fields].sort()) {
    let current = root;
    for (const element of path.split(SEPARATOR)) {
      const next = recordOf(current[element]);
      current[element] = next;
      current = next;
    }
    current['.'] = {};
  }
  return withoutLeafDots(root);
}

function withoutLeafDots(node: JsonRecord): JsonRecord {
  const names = Object.keys(node);
  if (names.length === 1 && names[0] === '.') return {};
  const entries = names.map((name) => [name, name === '.' ? {} : withoutLeafDots(recordOf(node[name]))]);
  return Object.fromEntries(entries);
}

function fromFieldsV1(node: JsonRecord, path = '', out = new Set<string>()): Set<string> {
  const entries = Object.entries(node);
  if (entries.length === 0 && path !== '') out.add(path);
  for (const [element, child] of entries) {
    if (element === '.') out.add(path);
    else fromFieldsV1(recordOf(child), joinPath(path, element), out);
  }
  return out;
}
