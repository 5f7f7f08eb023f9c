import { applyPatch, type Operation } from 'rfc6902';
import { isRecord, recordOf } from '../../src/api/kubernetes.ts';
import { ApiError, badRequest } from './errors.ts';
import { asString, clone, type JsonRecord, sameJson } from './json.ts';
import { childNode, type MergeNode } from './merge-schema.ts';

/** JSON merge patch (RFC 7386). Neither argument is changed. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const out: JsonRecord = { ...recordOf(target) };
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) delete out[field];
    else out[field] = mergePatch(out[field], value);
  }
  return out;
}

/**
 * Strategic merge patch: keyed lists merge by their keys; `$patch: delete|replace` and `$retainKeys` are honoured, `$setElementOrder` is
 * only a hint for the order and ignored. Neither argument is changed. Throws 400 for other directives.
 */
export function strategicPatch(target: unknown, patch: unknown, node: MergeNode): unknown {
  if (Array.isArray(patch) && Array.isArray(target) && node.keys) return strategicList(target, patch, node);
  if (Array.isArray(patch) && Array.isArray(target) && node.set) return [...new Set([...target, ...patch])];
  if (!isRecord(patch)) return patch;
  const { $patch: directive, $retainKeys: retained, ...fields } = patch;
  if (directive === 'delete') return undefined;
  const base = retain(directive === 'replace' ? {} : recordOf(target), retained);
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
    const position = out.findIndex((other) => sameJson(recordOf(other)[key], recordOf(item)[key]));
    const merged = strategicPatch(out[position], item, { ...(node.fields ? { fields: node.fields } : {}) });
    if (position >= 0 && merged === undefined) out.splice(position, 1);
    else if (position >= 0) out[position] = merged;
    else if (merged !== undefined) out.push(merged);
  }
  return out;
}

/**
 * JSON patch (RFC 6902). Throws 422 when a test fails or a path does not exist, 400 for what is no operation. The target is not changed, nor is any
 * prototype.
 */
export function jsonPatch(target: unknown, operations: unknown): unknown {
  if (!Array.isArray(operations)) throw badRequest('a JSON patch is a list of operations');
  // A path of the whole document has a parent then, too.
  const root = { document: clone(target) };
  for (const operation of operations.map((one) => recordOf(one))) {
    const [failed] = applyPatch(root, [below('/document', operation)]);
    if (failed?.name === 'InvalidOperationError')
      throw badRequest(`unknown JSON patch operation ${String(operation.op)}`);
    if (failed?.name === 'TestError') throw refused(`testing value ${asString(operation.path)} failed`);
    if (failed) throw refused(`missing path ${asString(operation.path)}`);
  }
  return root.document;
}

function below(parent: string, operation: JsonRecord): Operation {
  const { path, from, ...rest } = operation;
  const paths = [path, from].map((one) => asString(one));
  if (paths.some((one) => one.split('/').includes('__proto__')))
    throw badRequest('a JSON patch does not reach __proto__');
  return {
    ...rest,
    path: parent + paths[0],
    ...(from === undefined ? {} : { from: parent + paths[1] }),
  } as Operation;
}

function refused(message: string): ApiError {
  return new ApiError(
    422,
    'Invalid',
    `the server rejected our request due to an error in our request: ${message}`,
  );
}
