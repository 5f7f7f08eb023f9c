import { ApiError, badRequest } from './api-error.ts';
import { asList, asRecord, asString, clone, isRecord, type JsonRecord, sameJson } from './json.ts';
import { childNode, type MergeNode } from './merge-schema.ts';

/** JSON merge patch (RFC 7386). Neither argument is changed. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const out: JsonRecord = { ...asRecord(target) };
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) delete out[field];
    else out[field] = mergePatch(out[field], value);
  }
  return out;
}

/**
 * Strategic merge patch: keyed lists merge by their keys; `$patch: delete|replace` and `$retainKeys` are honoured, `$setElementOrder` is
 * only a wish for an order and ignored. Neither argument is changed. Throws 400 for other directives.
 */
export function strategicPatch(target: unknown, patch: unknown, node: MergeNode): unknown {
  if (Array.isArray(patch) && Array.isArray(target) && node.keys) return strategicList(target, patch, node);
  if (Array.isArray(patch) && Array.isArray(target) && node.set) return [...new Set([...target, ...patch])];
  if (!isRecord(patch)) return patch;
  const { $patch: directive, $retainKeys: retained, ...fields } = patch;
  if (directive === 'delete') return undefined;
  const base = retain(directive === 'replace' ? {} : asRecord(target), retained);
  return patchFields(base, fields, node);
}

function patchFields(out: JsonRecord, fields: JsonRecord, node: MergeNode): JsonRecord {
  for (const [field, value] of Object.entries(fields)) {
    if (field.startsWith('$setElementOrder/')) continue;
    if (field.startsWith('$')) throw badRequest(`strategic merge directive ${field} is not served here`);
    const merged = value === null ? undefined : strategicPatch(out[field], value, childNode(node, field));
    if (merged === undefined) delete out[field];
    else out[field] = merged;
  }
  return out;
}

/** A copy with only the keys to retain, where the patch names some. */
function retain(target: JsonRecord, keys: unknown): JsonRecord {
  const entries = Object.entries(target);
  return Object.fromEntries(
    Array.isArray(keys) ? entries.filter(([field]) => keys.includes(field)) : entries,
  );
}

function strategicList(target: unknown[], patch: unknown[], node: MergeNode): unknown[] {
  const key = node.keys?.[0] ?? 'name';
  const out = [...target];
  for (const item of patch) {
    const position = out.findIndex((other) => sameJson(asRecord(other)[key], asRecord(item)[key]));
    const merged = strategicPatch(out[position], item, { ...(node.fields ? { fields: node.fields } : {}) });
    if (position >= 0 && merged === undefined) out.splice(position, 1);
    else if (position >= 0) out[position] = merged;
    else if (merged !== undefined) out.push(merged);
  }
  return out;
}

/** JSON patch (RFC 6902). Throws 422 when a test fails or a path does not exist. The target is not changed. */
export function jsonPatch(target: unknown, operations: unknown): unknown {
  if (!Array.isArray(operations)) throw badRequest('a JSON patch is a list of operations');
  let document = clone(target);
  for (const operation of operations) document = applyOperation(document, asRecord(operation));
  return document;
}

function applyOperation(document: unknown, operation: JsonRecord): unknown {
  const path = pointer(operation.path);
  switch (operation.op) {
    case 'add':
      return write(document, path, clone(operation.value), 'insert');
    case 'replace':
      read(document, path);
      return write(document, path, clone(operation.value), 'set');
    case 'remove':
      return remove(document, path);
    case 'test':
      if (!sameJson(read(document, path), operation.value))
        throw refused(`testing value ${asString(operation.path)} failed`);
      return document;
    case 'move':
    case 'copy': {
      const from = pointer(operation.from);
      const value = clone(read(document, from));
      return write(operation.op === 'move' ? remove(document, from) : document, path, value, 'insert');
    }
    default:
      throw badRequest(`unknown JSON patch operation ${String(operation.op)}`);
  }
}

function refused(message: string): ApiError {
  return new ApiError(
    422,
    'Invalid',
    `the server rejected our request due to an error in our request: ${message}`,
  );
}

function pointer(text: unknown): string[] {
  return asString(text)
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function read(document: unknown, path: readonly string[]): unknown {
  let current = document;
  for (const part of path) {
    current = Array.isArray(current) ? current[Number(part)] : asRecord(current)[part];
    if (current === undefined) throw refused(`missing path /${path.join('/')}`);
  }
  return current;
}

function write(document: unknown, path: readonly string[], value: unknown, mode: 'insert' | 'set'): unknown {
  const last = path.at(-1);
  if (last === undefined) return value;
  const parent = read(document, path.slice(0, -1));
  if (Array.isArray(parent)) {
    const position = last === '-' ? asList(parent).length : Number(last);
    parent.splice(position, mode === 'set' ? 1 : 0, value);
  } else {
    asRecord(parent)[last] = value;
  }
  return document;
}

function remove(document: unknown, path: readonly string[]): unknown {
  read(document, path);
  const parent = read(document, path.slice(0, -1));
  const last = path.at(-1) ?? '';
  if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else delete asRecord(parent)[last];
  return document;
}
