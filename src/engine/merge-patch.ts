import { isDeepStrictEqual } from 'node:util';

type Fields = Readonly<Record<string, unknown>>;

/**
 * The JSON merge patch (RFC 7386) that turns `before` into `after`; undefined when they are equal. Fields that are gone become null;
 * lists are replaced whole. Fields whose value is undefined count as absent.
 */
export function mergePatchOf(before: object, after: object): Record<string, unknown> | undefined {
  const patch: Record<string, unknown> = {};
  const [from, to] = [before as Fields, after as Fields];
  for (const field of new Set([...Object.keys(from), ...Object.keys(to)])) {
    const change = changeOf(from[field], to[field]);
    if (change !== undefined) patch[field] = change;
  }
  return Object.keys(patch).length > 0 ? patch : undefined;
}

function changeOf(before: unknown, after: unknown): unknown {
  if (after === undefined) return before === undefined ? undefined : null;
  if (isFields(before) && isFields(after)) return mergePatchOf(before, after);
  return isDeepStrictEqual(before, after) ? undefined : after;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
