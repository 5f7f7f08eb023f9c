import { isRecord, type KubernetesObject, recordOf, recordsOf } from '../../src/api/kubernetes.ts';
import { ApiError } from './errors.ts';
import {
  dotted,
  type FieldSet,
  fieldSetOf,
  fieldsV1Of,
  flatten,
  itemElement,
  joinPath,
  SEPARATOR,
} from './field-set.ts';
import { asString, type JsonRecord, sameJson } from './json.ts';
import { childNode, type MergeNode } from './merge-schema.ts';

/** Who writes, and through which door. */
export interface Writer {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource?: string;
  /** RFC 3339, seconds. */
  readonly time: string;
}

interface Entry extends Writer {
  readonly fields: FieldSet;
}

const UNTRACKED_METADATA = [
  'name',
  'namespace',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'selfLink',
  'uid',
  'generation',
  'managedFields',
  'resourceVersion',
];
const UNTRACKED = new Set([
  'f:apiVersion',
  'f:kind',
  'f:metadata',
  ...UNTRACKED_METADATA.map((field) => joinPath('f:metadata', `f:${field}`)),
]);

function tracked(object: JsonRecord): JsonRecord {
  const { managedFields: _ignored, ...metadata } = recordOf(object.metadata);
  return { ...object, metadata };
}

/** Every field of an object that can have an owner. */
function trackedFields(object: JsonRecord, node: MergeNode): Set<string> {
  const fields = new Set(flatten(tracked(object), node).keys());
  for (const path of UNTRACKED) fields.delete(path);
  return fields;
}

function decode(object: KubernetesObject | undefined): Entry[] {
  return recordsOf(object?.metadata.managedFields).map((entry) => ({
    manager: asString(entry.manager),
    operation: entry.operation === 'Apply' ? 'Apply' : 'Update',
    apiVersion: asString(entry.apiVersion),
    ...(entry.subresource ? { subresource: asString(entry.subresource) } : {}),
    time: asString(entry.time),
    fields: fieldSetOf(recordOf(entry.fieldsV1)),
  }));
}

function encode(entries: readonly Entry[]): JsonRecord[] {
  return [...entries]
    .filter((entry) => entry.fields.size > 0)
    .sort(byWriter)
    .map(({ manager, operation, apiVersion, subresource, time, fields }) => ({
      manager,
      operation,
      apiVersion,
      time,
      fieldsType: 'FieldsV1',
      fieldsV1: fieldsV1Of(fields),
      ...(subresource ? { subresource } : {}),
    }));
}

/** A fixed order, so that a write that changes no ownership changes no byte. */
function byWriter(left: Writer, right: Writer): number {
  const key = (writer: Writer) =>
    [writer.operation, writer.manager, writer.subresource ?? '', writer.apiVersion].join(' ');
  return key(left) < key(right) ? -1 : 1;
}

function sameWriter(left: Writer, right: Writer): boolean {
  return (
    left.manager === right.manager &&
    left.operation === right.operation &&
    left.apiVersion === right.apiVersion &&
    left.subresource === right.subresource
  );
}

function minus(fields: FieldSet, taken: FieldSet): FieldSet {
  if (![...taken].some((path) => fields.has(path))) return fields;
  return new Set([...fields].filter((path) => !taken.has(path)));
}

/** What two objects differ in: fields that are new or have another value, and fields that are gone. Only what differs is made into paths. */
function differences(
  previous: KubernetesObject | undefined,
  next: KubernetesObject,
  node: MergeNode,
): { readonly changed: Set<string>; readonly removed: Set<string> } {
  const before = new Map<string, unknown>();
  const after = new Map<string, unknown>();
  const compare = (left: unknown, right: unknown, at: MergeNode, path: string): void => {
    if (sameJson(left, right)) return;
    if (!at.atomic && isFilled(left) && isFilled(right)) {
      for (const field of new Set([...Object.keys(left), ...Object.keys(right)]))
        compare(left[field], right[field], childNode(at, field), joinPath(path, `f:${field}`));
      return;
    }
    if (left !== undefined) flatten(left, at, path, before);
    if (right !== undefined) flatten(right, at, path, after);
  };
  compare(previous && tracked(previous), tracked(next), node, '');
  const isTracked = (path: string) => !UNTRACKED.has(path);
  const changed = [...after].filter(
    ([path, value]) => isTracked(path) && !(before.has(path) && sameJson(before.get(path), value)),
  );
  const removed = [...before.keys()].filter((path) => isTracked(path) && !after.has(path));
  return { changed: new Set(changed.map(([path]) => path)), removed: new Set(removed) };
}

/** An object of which only the fields below it have owners. */
function isFilled(value: unknown): value is JsonRecord {
  return isRecord(value) && Object.keys(value).length > 0;
}

/** `managedFields` after a create, update or patch: what changed now belongs to the writer. */
export function trackUpdate(
  previous: KubernetesObject | undefined,
  next: KubernetesObject,
  node: MergeNode,
  writer: Writer,
): JsonRecord[] {
  const { changed, removed } = differences(previous, next, node);
  const entries = decode(previous);
  if (changed.size === 0 && removed.size === 0) return encode(entries);
  const lost = new Set([...removed, ...changed]);
  const others = entries
    .filter((entry) => !sameWriter(entry, writer))
    .map((entry) => ({ ...entry, fields: minus(entry.fields, lost) }));
  const mine = entries.find((entry) => sameWriter(entry, writer));
  const fields = new Set([...minus(mine?.fields ?? new Set(), removed), ...changed]);
  return encode([...others, { ...writer, fields }]);
}

/** The outcome of laying a configuration over the live object. */
interface Applied {
  readonly object: KubernetesObject;
  readonly managedFields: JsonRecord[];
}

/**
 * Server-side apply: merges, removes what the manager applied before and leaves out now, and moves ownership.
 * Throws a 409 naming managers and fields when another manager owns a field that would change, unless `force`.
 */
export function applyConfiguration(
  live: KubernetesObject | undefined,
  config: KubernetesObject,
  node: MergeNode,
  writer: Writer,
  force: boolean,
): Applied {
  const applied = trackedFields(config, node);
  const entries = decode(live);
  const mine = entries.find((entry) => sameWriter(entry, writer));
  const others = entries.filter((entry) => entry !== mine);
  const owned = new Set([...applied, ...others.flatMap((entry) => [...entry.fields])]);
  const dropped = minus(mine?.fields ?? new Set(), owned);
  const merged = removeFields(
    recordOf(mergeApplied(live, config, node)),
    node,
    dropped,
    owned,
  ) as KubernetesObject;
  const { changed } = differences(live, merged, node);
  const conflicts = others.map((entry) => ({
    entry,
    paths: [...entry.fields].filter((path) => changed.has(path)),
  }));
  if (!force) refuseConflicts(conflicts.filter(({ paths }) => paths.length > 0));
  const left = conflicts.map(({ entry, paths }) => ({
    ...entry,
    fields: minus(entry.fields, new Set(paths)),
  }));
  const isSame = mine?.fields.size === applied.size && minus(applied, mine.fields).size === 0;
  const time = isSame ? mine.time : writer.time;
  return { object: merged, managedFields: encode([...left, { ...writer, time, fields: applied }]) };
}

interface FieldConflict {
  readonly entry: Entry;
  readonly paths: readonly string[];
}

function printedWriter({ manager, subresource, operation, apiVersion }: Writer): string {
  const through = subresource ? ` with subresource "${subresource}"` : '';
  return `"${manager}"${through}${operation === 'Update' ? ` using ${apiVersion}` : ''}`;
}

function refuseConflicts(conflicts: readonly FieldConflict[]): void {
  const causes = conflicts.flatMap(({ entry, paths }) => {
    const message = `conflict with ${printedWriter(entry)}`;
    return paths.map((path) => ({ reason: 'FieldManagerConflict', message, field: dotted(path) }));
  });
  const [first] = causes;
  if (!first) return;
  const text =
    causes.length === 1
      ? `Apply failed with 1 conflict: ${first.message}: ${first.field}`
      : `Apply failed with ${causes.length} conflicts: ${causes.map((cause) => `${cause.message}:\n- ${cause.field}`).join('\n')}`;
  throw new ApiError(409, 'Conflict', text, { causes });
}

/** The live value with an applied configuration laid over it. Neither argument is changed. */
function mergeApplied(live: unknown, applied: unknown, node: MergeNode): unknown {
  if (node.atomic || live === undefined) return applied;
  if (Array.isArray(live) && Array.isArray(applied)) return mergeLists(live, applied, node);
  if (!isRecord(live) || !isRecord(applied)) return applied;
  const merged: JsonRecord = { ...live };
  for (const [field, value] of Object.entries(applied)) {
    merged[field] = mergeApplied(live[field], value, childNode(node, field));
  }
  return merged;
}

function mergeLists(live: unknown[], applied: unknown[], node: MergeNode): unknown[] {
  if (node.set) return [...live, ...applied.filter((item) => !live.some((other) => sameJson(item, other)))];
  if (!node.keys) return applied;
  const liveByKey = new Map(live.map((item) => [itemElement(item, node), item]));
  const appliedKeys = applied.map((item) => itemElement(item, node));
  const itemNode: MergeNode = { ...(node.fields ? { fields: node.fields } : {}) };
  const merged = applied.map((item, index) =>
    mergeApplied(liveByKey.get(appliedKeys[index] ?? ''), item, itemNode),
  );
  return interleave([...liveByKey], appliedKeys, merged);
}

/** The applied order, in which items that only the live list has stay after the item that they followed. */
function interleave(live: Array<[string, unknown]>, appliedKeys: string[], merged: unknown[]): unknown[] {
  const applied = new Set(appliedKeys);
  const out: unknown[] = [];
  let next = 0;
  for (const [key, item] of live) {
    if (!applied.has(key)) {
      out.push(item);
      continue;
    }
    const position = appliedKeys.indexOf(key);
    while (next <= position) out.push(merged[next++]);
  }
  return [...out, ...merged.slice(next)];
}

/** Takes out the fields of `remove` unless something below them is still owned. Objects and lists left empty go too. */
function removeFields(value: JsonRecord, node: MergeNode, remove: FieldSet, owned: FieldSet): JsonRecord {
  if (remove.size === 0) return value;
  const keep = new Set<string>();
  for (const path of owned) {
    for (let end = path.length; end > 0; end = path.lastIndexOf(SEPARATOR, end - 1))
      keep.add(path.slice(0, end));
  }
  return recordOf(prune(value, node, '', { remove, keep }));
}

interface Pruning {
  readonly remove: FieldSet;
  readonly keep: FieldSet;
}

function dropped(path: string, pruning: Pruning): boolean {
  return pruning.remove.has(path) && !pruning.keep.has(path);
}

function prune(value: unknown, node: MergeNode, path: string, pruning: Pruning): unknown {
  if (Array.isArray(value) && node.set) {
    return value.filter((item) => !dropped(joinPath(path, `v:${JSON.stringify(item)}`), pruning));
  }
  if (Array.isArray(value) && node.keys) {
    const itemNode: MergeNode = { ...(node.fields ? { fields: node.fields } : {}) };
    return value
      .map((item) => ({ item, itemPath: joinPath(path, itemElement(item, node)) }))
      .filter(({ itemPath }) => !dropped(itemPath, pruning))
      .map(({ item, itemPath }) => prune(item, itemNode, itemPath, pruning));
  }
  if (!isRecord(value) || node.atomic) return value;
  return pruneFields(value, node, path, pruning);
}

function pruneFields(value: JsonRecord, node: MergeNode, path: string, pruning: Pruning): JsonRecord {
  const out: JsonRecord = {};
  for (const [field, child] of Object.entries(value)) {
    const childPath = joinPath(path, `f:${field}`);
    if (dropped(childPath, pruning)) continue;
    const pruned = prune(child, childNode(node, field), childPath, pruning);
    if (size(child) > 0 && size(pruned) === 0 && !pruning.keep.has(childPath)) continue;
    out[field] = pruned;
  }
  return out;
}

/** How many children a container has; -1 for scalars, which never count as emptied. */
function size(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return isRecord(value) ? Object.keys(value).length : -1;
}
