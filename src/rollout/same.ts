/** The stamp of the last change is no change itself. */
const NO_CHANGE = 'lastTransitionTime';

/** Whether two statuses say the same: the order of keys, keys without a value, and `lastTransitionTime` tell nothing. */
export function isSame(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((entry, index) => isSame(entry, b[index]));
  }
  if (!isObject(a) || !isObject(b) || Array.isArray(b)) return false;
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  keys.delete(NO_CHANGE);
  return [...keys].every((key) => isSame(a[key], b[key]));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return value !== null && typeof value === 'object';
}
