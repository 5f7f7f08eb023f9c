/** Moves fields that others wrote to our manager, so that a later apply takes out what Git no longer has. Pure. */
import { describe, type KubernetesObject, valueAt } from '../../api/kubernetes.ts';
import { answersToKey } from './list-keys.ts';

type Fields = Record<string, unknown>;

/** The field manager of what a rollout decides (design section 3). */
export const rolloutManager = 'holdfast-rollout';

/** Field managers of Flagger (flagger-behaviour 2.17). */
const theirManager = /^flagger/;

/**
 * `metadata.managedFields` with Flagger's entries as entries of our server-side apply; undefined when there are none. Otherwise fields that Flagger
 * wrote would stay, however often a release without them is applied. `known`: only fields that this object has, too; the others stay Flagger's,
 * and so stay as they are.
 */
export function takenOverFields(
  live: KubernetesObject,
  manager: string,
  known?: KubernetesObject,
): ManagedFieldsEntry[] | undefined {
  const isTheirs = (entry: ManagedFieldsEntry) =>
    theirManager.test(entry.manager ?? '') && entry.operation === 'Update' && !entry.subresource;
  const taken = new Set<ManagedFieldsEntry>();
  const entries = managedFieldsOf(live).flatMap((entry) => {
    if (!isTheirs(entry)) return [entry];
    const fields = entry.fieldsV1 ?? {};
    const fieldsV1 = known ? sharedWith(fields, known) : fields;
    const rest = known && without(fields, fieldsV1);
    const ours = { ...entry, fieldsV1 };
    if (Object.keys(fieldsV1).length > 0) taken.add(ours);
    return [...(taken.has(ours) ? [ours] : []), ...(rest ? [{ ...entry, fieldsV1: rest }] : [])];
  });
  return moved(entries, (entry) => taken.has(entry), manager);
}

/** The part of a tree of fields that the value has. A list that is both sides' is one field. */
function sharedWith(fields: Fields, value: unknown): Fields {
  const shared = Object.entries(fields).flatMap(([key, tree]): Array<[string, unknown]> => {
    const child = key.startsWith('f:') ? (value as Record<string, unknown>)[key.slice(2)] : undefined;
    if (child === undefined) return [];
    const isMap = typeof child === 'object' && child !== null && !Array.isArray(child);
    if (!isMap || Object.keys(tree as Fields).length === 0) return [[key, tree]];
    const inner = sharedWith(tree as Fields, child);
    return Object.keys(inner).length > 0 ? [[key, inner]] : [];
  });
  return Object.fromEntries(shared);
}

function moved(
  entries: readonly ManagedFieldsEntry[],
  isTheirs: (entry: ManagedFieldsEntry) => boolean,
  manager: string,
): ManagedFieldsEntry[] | undefined {
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

/**
 * `metadata.managedFields` in which the managers `from` no longer have the fields that the manager `to` has applied; the fields that only they have stay
 * theirs. Undefined when nothing changes.
 */
export function relinquishedFields(
  entries: readonly ManagedFieldsEntry[],
  { from, to, but }: { from: readonly string[]; to: string; but?: Fields },
): ManagedFieldsEntry[] | undefined {
  const ours = entries.find((entry) => entry.manager === to && entry.operation === 'Apply');
  const applied = ours?.fieldsV1 && without(ours.fieldsV1, but ?? {});
  if (!applied) return undefined;
  const isTheirs = ({ manager = '', subresource }: ManagedFieldsEntry) =>
    from.includes(manager) && !subresource;
  const remaining = entries.flatMap((entry) => {
    if (!isTheirs(entry)) return [entry];
    const fieldsV1 = without(entry.fieldsV1 ?? {}, applied);
    return fieldsV1 ? [{ ...entry, fieldsV1 }] : [];
  });
  return JSON.stringify(remaining) === JSON.stringify(entries) ? undefined : remaining;
}

/** The fields of the one tree that are not in the other; undefined: nothing but their containers (`.`). */
function without(fields: Fields, taken: Fields): Fields | undefined {
  const remaining = Object.entries(fields).flatMap(([key, value]): Array<[string, unknown]> => {
    const other = taken[key] as Fields | undefined;
    if (other === undefined) return [[key, value]];
    const isLeaf = Object.keys(other).length === 0 || Object.keys(value as Fields).length === 0;
    const inner = isLeaf ? undefined : without(value as Fields, other);
    return inner ? [[key, inner]] : [];
  });
  return remaining.some(([key]) => key !== '.') ? Object.fromEntries(remaining) : undefined;
}

const replicas = { 'f:spec': { 'f:replicas': {} } };

/**
 * `metadata.managedFields` in which `spec.replicas` is no more what the manager `of` has applied: taken out of that, it would be 1. Undefined where the
 * manager has not applied it.
 */
export function releasedReplicas(
  entries: readonly ManagedFieldsEntry[],
  of: string,
): ManagedFieldsEntry[] | undefined {
  const ours = entries.find((entry) => entry.manager === of && entry.operation === 'Apply');
  const spec = ours?.fieldsV1?.['f:spec'] as Fields | undefined;
  if (!ours || spec?.['f:replicas'] === undefined) return undefined;
  const rest = without(ours.fieldsV1 ?? {}, replicas);
  return [
    ...entries.filter((entry) => entry !== ours),
    ...(rest ? [{ ...ours, fieldsV1: rest }] : []),
    { ...ours, manager: `${of}-replicas`, operation: 'Update', fieldsV1: replicas },
  ];
}

/** Field managers of people, and of what was there before anything was applied: they do not take back a field that Git has no more. */
const people = [
  'before-first-apply',
  'kubectl',
  'kubectl-client-side-apply',
  'kubectl-create',
  'kubectl-edit',
  'kubectl-patch',
  'kubectl-replace',
  'kubectl-set',
];

/**
 * `metadata.managedFields` in which people no longer have what the manager `to` has applied, but for `spec.replicas`: without any manager it would be
 * 1. Undefined when nothing changes.
 */
export function ownedAlone(
  entries: readonly ManagedFieldsEntry[],
  to: string,
): ManagedFieldsEntry[] | undefined {
  return relinquishedFields(entries, { from: people, to, but: replicas });
}

/** Whether a person wrote these fields, with kubectl. */
export function isOfPeople({ manager = '' }: Pick<ManagedFieldsEntry, 'manager'>): boolean {
  return people.includes(manager);
}

/** `metadata.managedFields` with what the managers `from` have as server-side apply of `to`, but for `spec.replicas`; undefined: they have nothing. */
export function inheritedFields(
  entries: readonly ManagedFieldsEntry[],
  { from, to }: { from: readonly string[]; to: string },
): ManagedFieldsEntry[] | undefined {
  const isTheirs = ({ manager = '', subresource }: ManagedFieldsEntry) =>
    from.includes(manager) && !subresource;
  const split = entries.flatMap((entry) => {
    const spec = entry.fieldsV1?.['f:spec'] as Fields | undefined;
    if (!isTheirs(entry) || spec?.['f:replicas'] === undefined) return [{ entry, isMoved: isTheirs(entry) }];
    const rest = without(entry.fieldsV1 ?? {}, replicas);
    return [
      { entry: { ...entry, fieldsV1: replicas }, isMoved: false },
      ...(rest ? [{ entry: { ...entry, fieldsV1: rest }, isMoved: true }] : []),
    ];
  });
  const isMoved = new Set(split.filter((one) => one.isMoved).map(({ entry }) => entry));
  return moved(
    split.map(({ entry }) => entry),
    (entry) => isMoved.has(entry),
    to,
  );
}

// What a server-side apply would remove: fields that our manager owns in the live object and that the new configuration does not have.

/** One entry of managedFields. */
export interface ManagedFieldsEntry {
  manager?: string;
  operation?: string;
  subresource?: string;
  time?: string;
  fieldsV1?: Record<string, unknown>;
}

/** Whether Holdfast wrote these fields, under any of its managers. */
export function isOfHoldfast({ manager }: Pick<ManagedFieldsEntry, 'manager'>): boolean {
  return manager?.startsWith('holdfast') === true;
}

/** managedFields as typed entries; none when the object carries none. */
export function managedFieldsOf({ metadata }: Pick<KubernetesObject, 'metadata'>): ManagedFieldsEntry[] {
  return Array.isArray(metadata.managedFields) ? (metadata.managedFields as ManagedFieldsEntry[]) : [];
}

/** The entry that was written last. */
export function newestOf(entries: readonly ManagedFieldsEntry[]): ManagedFieldsEntry | undefined {
  return entries.toSorted((left, right) => (left.time ?? '').localeCompare(right.time ?? '')).at(-1);
}

/**
 * Why a field is not to be changed in the cluster alone: its manager applies repeatedly, as Git does, and would set it back. Undefined for other
 * fields; a manual edit is not repeated. `own` applies once.
 */
export function whySetBack(
  live: KubernetesObject,
  path: readonly string[],
  own?: string,
): string | undefined {
  const keys = path.map((field) => `f:${field}`);
  const owner = managedFieldsOf(live).find(
    ({ manager, operation, fieldsV1 }) =>
      operation === 'Apply' && manager !== own && valueAt(fieldsV1, keys) !== undefined,
  );
  return (
    owner &&
    `${describe(live)}: ${path.join('.')} is set by ${owner.manager}, which would set it back; change it there`
  );
}

function childAt(value: unknown, key: string): unknown {
  const rest = key.slice(2);
  if (key.startsWith('f:')) return (value as Record<string, unknown> | null)?.[rest];
  if (!Array.isArray(value)) return undefined;
  const wantedKey: unknown = JSON.parse(rest);
  if (key.startsWith('v:')) return value.find((element) => element === wantedKey);
  return value.find((element) => answersToKey(element, wantedKey as Record<string, unknown>));
}

/** The part of a configuration that a fieldsV1 tree names; elements of associative lists include their keys. Undefined: nothing. */
export function namedPart(value: unknown, fields: Readonly<Record<string, unknown>>): unknown {
  const inner = Object.entries(fields).filter(([key]) => key !== '.');
  if (inner.length === 0 || value === undefined) return value;
  if (inner.some(([key]) => key.startsWith('v:'))) return value;
  if (Array.isArray(value))
    return inner.flatMap(([key, tree]) => {
      const element = childAt(value, key);
      if (element === undefined) return [];
      const part = namedPart(element, tree as Record<string, unknown>);
      return { ...(JSON.parse(key.slice(2)) as object), ...(part as object) };
    });
  const parts = inner.map(([key, tree]) => [
    key.slice(2),
    namedPart(childAt(value, key), tree as Record<string, unknown>),
  ]);
  return Object.fromEntries(parts.filter(([, part]) => part !== undefined));
}
