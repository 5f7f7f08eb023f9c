import { type FieldSet, itemElement, joinPath, SEPARATOR } from './field-set.ts';
import { asRecord, isRecord, type JsonRecord, sameJson } from './json.ts';
import { childNode, type MergeNode } from './merge-schema.ts';

/** The live value with an applied configuration laid over it. Neither argument is changed. */
export function mergeApplied(live: unknown, applied: unknown, node: MergeNode): unknown {
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

/** The applied order, with items that only the live list has kept after the item they followed. */
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
export function removeFields(
  value: JsonRecord,
  node: MergeNode,
  remove: FieldSet,
  owned: FieldSet,
): JsonRecord {
  if (remove.size === 0) return value;
  const keep = new Set<string>();
  for (const path of owned) {
    for (let end = path.length; end > 0; end = path.lastIndexOf(SEPARATOR, end - 1))
      keep.add(path.slice(0, end));
  }
  return asRecord(prune(value, node, '', { remove, keep }));
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
