/** What a server-side apply would take away: fields our manager owns in the live object that the new configuration no longer names. */
import type { KubernetesObject } from '../api/kubernetes.ts';
import { answersToKey } from './list-keys.ts';

/** One entry of managedFields. */
export interface ManagedFieldsEntry {
  manager?: string;
  operation?: string;
  subresource?: string;
  time?: string;
  fieldsV1?: Record<string, unknown>;
}

/** managedFields as typed entries, undefined when the object carries none. */
export function managedFieldsOf(live: KubernetesObject): ManagedFieldsEntry[] | undefined {
  const { managedFields } = live.metadata;
  return Array.isArray(managedFields) ? (managedFields as ManagedFieldsEntry[]) : undefined;
}

function childAt(value: unknown, key: string): unknown {
  const rest = key.slice(2);
  if (key.startsWith('f:')) return (value as Record<string, unknown> | null)?.[rest];
  if (!Array.isArray(value)) return undefined;
  const wantedKey: unknown = JSON.parse(rest);
  if (key.startsWith('v:')) return value.find((element) => element === wantedKey);
  return value.find((element) => answersToKey(element, wantedKey as Record<string, unknown>));
}

/** The part of a configuration that a fieldsV1 tree names; elements of associative lists keep their keys. Undefined: nothing of it. */
export function namedPart(value: unknown, fields: Readonly<Record<string, unknown>>): unknown {
  const inner = Object.entries(fields).filter(([key]) => key !== '.');
  if (inner.length === 0 || value === undefined) return value;
  if (inner.some(([key]) => key.startsWith('v:'))) return value;
  if (Array.isArray(value)) return inner.flatMap(([key, tree]) => namedElement(value, key, tree) ?? []);
  const parts = inner.map(([key, tree]) => [
    key.slice(2),
    namedPart(childAt(value, key), tree as Record<string, unknown>),
  ]);
  return Object.fromEntries(parts.filter(([, part]) => part !== undefined));
}

function namedElement(list: readonly unknown[], key: string, tree: unknown): unknown {
  const element = childAt(list, key);
  if (element === undefined) return undefined;
  const part = namedPart(element, tree as Record<string, unknown>);
  return { ...(JSON.parse(key.slice(2)) as object), ...(part as object) };
}
