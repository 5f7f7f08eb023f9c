import { isRecord } from '../../api/json.ts';
import { limits } from '../../api/limits.ts';
import type { FieldChange } from '../../dashboard/views.ts';

/**
 * The fields in which two pod templates differ, by path; entries of lists are told apart by their names where they have some. `ownName`: what
 * the left side calls things that the right side calls otherwise without meaning a change. At most `limits.dashboardFieldChanges`.
 */
export function fieldChanges(
  before: unknown,
  after: unknown,
  ownName: (text: string) => string = (text) => text,
): FieldChange[] {
  const left = flat(before, ownName);
  const right = flat(after, (text) => text);
  return [...new Set([...left.keys(), ...right.keys()])]
    .filter((path) => left.get(path) !== right.get(path))
    .sort()
    .slice(0, limits.dashboardFieldChanges)
    .map((path) => ({ path, before: left.get(path), after: right.get(path) }));
}

/** Values by path, as texts. */
function flat(value: unknown, ownName: (text: string) => string, path = ''): Map<string, string> {
  if (value === undefined || value === null) return new Map();
  const parts = partsOf(value, path);
  if (!parts) return new Map([[path, typeof value === 'string' ? ownName(value) : JSON.stringify(value)]]);
  return new Map(parts.flatMap(([key, part]) => [...flat(part, ownName, key)]));
}

function partsOf(value: unknown, path: string): Array<[path: string, part: unknown]> | undefined {
  if (Array.isArray(value)) return value.map((entry, index) => [`${path}[${keyOf(entry, index)}]`, entry]);
  if (!isRecord(value)) return undefined;
  return Object.entries(value).map(([key, entry]) => [path ? `${path}.${key}` : key, entry]);
}

function keyOf(entry: unknown, index: number): string {
  return isRecord(entry) && typeof entry.name === 'string' ? entry.name : String(index);
}
