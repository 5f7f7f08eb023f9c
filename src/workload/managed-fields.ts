/** Moves the fields that Flagger wrote to our manager, so that a later apply takes out what a release no longer has. Pure. */
import type { KubernetesObject } from '../api/kubernetes.ts';
import { type ManagedFieldsEntry, managedFieldsOf } from './owned-fields.ts';

type Fields = Record<string, unknown>;

/** The name of Flagger's program, by which the API server knows its writes (flagger-behaviour 2.17). */
const theirManager = /^flagger/;

/**
 * `metadata.managedFields` with Flagger's entries as ours of server-side apply; undefined when there are none. Without it what Flagger once
 * wrote would stay for ever, however often a release without it is applied.
 */
export function takenOverFields(live: KubernetesObject, manager: string): ManagedFieldsEntry[] | undefined {
  const entries = managedFieldsOf(live) ?? [];
  const isTheirs = (entry: ManagedFieldsEntry) =>
    theirManager.test(entry.manager ?? '') && entry.operation === 'Update' && !entry.subresource;
  const theirs = entries.filter(isTheirs);
  const [first] = theirs;
  if (!first) return undefined;
  const isOurs = (entry: ManagedFieldsEntry) => entry.manager === manager && entry.operation === 'Apply';
  const ours = entries.filter(isOurs);
  const fieldsV1 = [...ours, ...theirs].reduce<Fields>((all, { fieldsV1: one = {} }) => merged(all, one), {});
  const others = entries.filter((entry) => !isTheirs(entry) && !isOurs(entry));
  return [...others, { ...first, manager, operation: 'Apply', fieldsV1 }];
}

function merged(left: Fields, right: Fields): Fields {
  const result: Fields = { ...left };
  for (const [key, value] of Object.entries(right)) {
    const before = result[key];
    result[key] = before === undefined ? value : merged(before as Fields, value as Fields);
  }
  return result;
}
