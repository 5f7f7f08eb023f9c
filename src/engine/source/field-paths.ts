/** Fields by the paths that the API server gives in conflicts: `.spec.replicas`, `.spec.template.spec.containers[name="app"].image`. Pure. */
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { isRecord, pointerSteps } from '../../release/json.ts';

/** The object without these fields; a path that leads nowhere changes nothing. */
export function withoutFields(object: KubernetesObject, fields: readonly string[]): KubernetesObject {
  if (fields.length === 0) return object;
  return without(object, '', new Set(fields)) as KubernetesObject;
}

/** Whether a field, as the server names it, is the one that a JSON pointer names, or is in it. */
export function isInPointer(object: KubernetesObject, pointer: string, field: string): boolean {
  const path = pathOfPointer(object, pointer);
  return (
    path !== undefined && (field === path || field.startsWith(`${path}.`) || field.startsWith(`${path}[`))
  );
}

/** Undefined where the pointer leads nowhere. */
function pathOfPointer(object: KubernetesObject, pointer: string): string | undefined {
  const steps = pointerSteps(pointer);
  if (!steps || steps.length === 0) return undefined;
  let value: unknown = object;
  let path = '';
  for (const step of steps) {
    const next = stepInto(value, step);
    if (next.value === undefined) return undefined;
    value = next.value;
    path += next.path;
  }
  return path;
}

function stepInto(value: unknown, step: string): { value: unknown; path: string } {
  if (!Array.isArray(value)) {
    const inner = isRecord(value) && Object.hasOwn(value, step) ? value[step] : undefined;
    return { value: inner, path: `.${step}` };
  }
  const item: unknown = value[Number(step)];
  const name = isRecord(item) ? item.name : undefined;
  return { value: item, path: typeof name === 'string' ? `[name=${JSON.stringify(name)}]` : `[${step}]` };
}

function without(value: unknown, path: string, fields: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) {
    const kept = value.flatMap((item) => {
      const itemPath = elementPath(item, path, fields);
      if (itemPath === undefined) return [item];
      return fields.has(itemPath) ? [] : [without(item, itemPath, fields)];
    });
    return kept;
  }
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([field]) => !fields.has(`${path}.${field}`))
      .map(([field, inner]) => [field, without(inner, `${path}.${field}`, fields)]),
  );
}

/** Which of the paths goes through this element of the list; undefined: none. */
function elementPath(item: unknown, path: string, fields: ReadonlySet<string>): string | undefined {
  for (const field of fields) {
    if (!field.startsWith(`${path}[`)) continue;
    const key = /^\[[^\]]*\]/.exec(field.slice(path.length))?.[0];
    if (key && answersTo(item, key.slice(1, -1))) return `${path}${key}`;
  }
  return undefined;
}

/** `name="app"`, `containerPort=80,protocol="TCP"`, or `="value"` for an element of a set. */
function answersTo(item: unknown, key: string): boolean {
  return key.split(/,(?=\w+=)/).every((part) => {
    const at = part.indexOf('=');
    const wanted = part.slice(at + 1);
    const value = at === 0 ? item : isRecord(item) ? item[part.slice(0, at)] : undefined;
    return JSON.stringify(value) === wanted;
  });
}
