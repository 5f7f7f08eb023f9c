/** Reading of unvalidated JSON: manifests may have any value anywhere. */
import { isRecord } from '../api/json.ts';

/** The value if it is a JSON object, else an empty one. */
export function recordOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

/** The JSON objects in the value if it is an array, else none. */
export function recordsOf(value: unknown): Array<Record<string, unknown>> {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** The value if it is a string that is not empty. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The value if it is a finite number. */
export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/**
 * JSON with sorted keys (by UTF-16 code unit) and no white space: equal values have equal text. Undefined fields are left out, `-0` is `0`.
 * Throws TypeError for values that are not JSON (functions, bigint, NaN, infinity).
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (isRecord(value)) {
    const fields = Object.keys(value)
      .filter((key) => value[key] !== undefined)
      .sort()
      .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`);
    return `{${fields.join(',')}}`;
  }
  if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError('not a JSON number');
  const text = JSON.stringify(value);
  if (text === undefined) throw new TypeError(`a ${typeof value} is not JSON`);
  return text;
}

/** The steps of a JSON pointer (RFC 6901); undefined: it is not valid. The pointer to the whole document has no steps. */
export function pointerSteps(pointer: string): string[] | undefined {
  if (pointer === '') return [];
  if (!pointer.startsWith('/') || /~(?![01])/.test(pointer)) return undefined;
  return pointer
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** A copy without the value that the steps lead to; the same value if they lead nowhere. */
export function withoutPath(value: unknown, steps: readonly string[]): unknown {
  const [step, ...rest] = steps;
  if (step === undefined) return value;
  if (Array.isArray(value)) {
    const index = /^(0|[1-9][0-9]*)$/.test(step) ? Number(step) : value.length;
    if (index >= value.length) return value;
    return rest.length === 0 ? value.toSpliced(index, 1) : value.with(index, withoutPath(value[index], rest));
  }
  if (!isRecord(value) || !Object.hasOwn(value, step)) return value;
  const kept = Object.entries(value).filter(([key]) => rest.length > 0 || key !== step);
  return fromEntries(kept.map(([key, field]) => [key, key === step ? withoutPath(field, rest) : field]));
}

/** An object of these fields; `__proto__` becomes a field like any other. */
export function fromEntries(entries: ReadonlyArray<readonly [string, unknown]>): Record<string, unknown> {
  return Object.fromEntries(entries);
}
