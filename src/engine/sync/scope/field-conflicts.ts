/** Applying what others have changed: who that was is reported, and annotations of the object decide what happens. */
import {
  describe,
  isRecord,
  type KubernetesObject,
  listOf,
  pointerSteps,
  recordOf,
} from '../../../api/kubernetes.ts';
import { listNames } from '../../../api/limits.ts';
import type { ApplyOptions, Cluster } from '../../../contracts/cluster.ts';
import { isOfHoldfast, managedFieldsOf, newestOf } from '../../../workload/compare/managed-fields.ts';
import { differencesOf } from '../../../workload/compare/semantic-compare.ts';
import { takenAccount } from '../../applied.ts';
import type { Correction } from '../../corrections.ts';
import { EngineError } from '../../failure.ts';

/** What happens to fields that another manager has: `override` (default) takes them back, `leave` leaves them, `refuse` writes nothing. */
const onConflictAnnotation = 'holdfast.dev/on-conflict';
/** JSON pointers, with commas between, of fields that are left to whoever else writes them. */
const ignoreFieldsAnnotation = 'holdfast.dev/ignore-fields';

/** A field that another manager has written. */
export interface Contested {
  readonly manager: string;
  /** As the API server names it: `.data.level`. */
  readonly field: string;
  /** RFC 3339; undefined where the server does not say. */
  readonly time?: string | undefined;
  readonly subresource?: string | undefined;
}

/** What came of applying. */
export interface ContestedWrite {
  readonly written: KubernetesObject;
  /** Taken back from others. */
  readonly taken: readonly Contested[];
  /** Left to others. */
  readonly left: readonly Contested[];
}

/** How it is applied. */
interface ContestOptions {
  readonly over: ApplyOptions['over'] | undefined;
  /** The object as it is now, whose managed fields have the times of the writes, which the server's refusal does not tell. */
  readonly read: () => Promise<KubernetesObject | undefined>;
}

/**
 * Server-side apply. Where others have written our fields the server says who, and they are taken, left or refused. Throws EngineError
 * FieldConflict, and what the server refuses.
 */
export async function applyOverOthers(
  cluster: Pick<Cluster, 'apply'>,
  wanted: KubernetesObject,
  { over, read }: ContestOptions,
): Promise<ContestedWrite> {
  const options = { manager: 'holdfast', ...(over ? { over } : {}) } as const;
  try {
    return { written: await cluster.apply(wanted, { ...options, force: false }), taken: [], left: [] };
  } catch (error) {
    // Adapters give such an error the fields and their managers.
    const { kind, fieldConflicts } = (error ?? {}) as {
      kind?: unknown;
      fieldConflicts?: readonly Contested[];
    };
    const found = kind === 'fieldConflict' ? (fieldConflicts ?? []) : [];
    if (found.length === 0) throw error;
    const contested = withTimes(found, await read());
    const left = contested.filter((field) => isLeft(wanted, field));
    const taken = contested.filter((field) => !left.includes(field));
    const ofOthers = taken.filter((field) => !isOfHoldfast(field));
    if (ofOthers.length > 0 && policyOf(wanted) === 'refuse')
      throw new EngineError(
        'FieldConflict',
        `others write what Git says: ${contestedInWords(ofOthers)}; take it out of Git, or set ${onConflictAnnotation} to override or leave`,
      );
    const kept = withoutFields(
      wanted,
      left.map(({ field }) => field),
    );
    return { written: await cluster.apply(kept, { ...options, force: true }), taken, left };
  }
}

/** The contested fields with the time of the last write of each manager. */
function withTimes(contested: readonly Contested[], live: KubernetesObject | undefined): Contested[] {
  const entries = live ? managedFieldsOf(live) : [];
  return contested.map((one) => {
    const own = entries.filter(({ manager, subresource }) => {
      return manager === one.manager && (subresource || undefined) === one.subresource;
    });
    const time = newestOf(own)?.time;
    return time ? { ...one, time } : one;
  });
}

/** What was found of an object that had been applied as it is in Git. `live`: read anew, with its managers; undefined: it was deleted. */
export function driftFound(
  wanted: KubernetesObject,
  live: KubernetesObject | undefined,
  taken: readonly Contested[],
): Correction {
  const drift = (what: string): Correction => ({ object: wanted, message: `${describe(wanted)}: ${what}` });
  if (!live) return drift('was deleted');
  if (taken.length > 0) return drift(contestedInWords(taken));
  const fields = differencesOf(live, wanted).map(({ path }) => path);
  const others = managedFieldsOf(live).filter(
    ({ manager, subresource }) => manager !== 'holdfast' && subresource !== 'status',
  );
  const writer = newestOf(others);
  const who = writer ? ` (${writer.manager}${writer.time ? ` at ${writer.time}` : ''})` : '';
  return drift(`${fields.slice(0, 3).join(', ')}${who}`);
}

/** Fields in words: `.data.level (kubectl-edit at 2026-11-21T10:00:00Z)`. */
export function contestedInWords(contested: readonly Contested[]): string {
  const each = contested.map(({ field, manager, time }) => {
    return `${field} (${manager}${time ? ` at ${time}` : ''})`;
  });
  return listNames(each, 3);
}

function isLeft(wanted: KubernetesObject, contested: Contested): boolean {
  // HorizontalPodAutoscalers, those that KEDA makes included, write by the subresource.
  if (
    (contested.manager === 'kube-controller-manager' && contested.subresource === 'scale') ||
    // What a rollout wrote of a target that has no Canary any more is Git's again.
    (policyOf(wanted) === 'leave' && !isOfHoldfast(contested)) ||
    // Only ours is taken away, not what another manager sets.
    contested.field === takenAccount(wanted)
  )
    return true;
  const pointers = (wanted.metadata.annotations?.[ignoreFieldsAnnotation] ?? '').split(',');
  return pointers.some((pointer) => isInPointer(wanted, pointer.trim(), contested.field));
}

/** Whether any of the object's fields is left to others. */
export function leavesFields(wanted: KubernetesObject): boolean {
  return policyOf(wanted) === 'leave' || wanted.metadata.annotations?.[ignoreFieldsAnnotation] !== undefined;
}

function policyOf({ metadata }: KubernetesObject): 'override' | 'leave' | 'refuse' {
  const said = metadata.annotations?.[onConflictAnnotation];
  return said === 'leave' || said === 'refuse' ? said : 'override';
}

// Fields by the paths that the API server gives in conflicts: `.spec.replicas`, `.spec.template.spec.containers[name="app"].image`. Pure.

/** The object without these fields; a path that leads nowhere changes nothing. */
export function withoutFields(object: KubernetesObject, fields: readonly string[]): KubernetesObject {
  if (fields.length === 0) return object;
  return without(object, '', new Set(fields)) as KubernetesObject;
}

/** Whether such a path leads to something in the value. */
export function hasField(value: unknown, path: string): boolean {
  if (path === '') return value !== undefined;
  if (Array.isArray(value)) {
    return value.some((item) => {
      const key = keyIn(path, item);
      return key !== undefined && hasField(item, path.slice(key.length));
    });
  }
  const fields = isRecord(value) ? Object.entries(value) : [];
  // Names of fields may have dots.
  return fields.some(
    ([name, inner]) => path.startsWith(`.${name}`) && hasField(inner, path.slice(name.length + 1)),
  );
}

/** Whether a field, as the server names it, is the one that a JSON pointer names, or is in it. */
export function isInPointer(object: KubernetesObject, pointer: string, field: string): boolean {
  const steps = pointerSteps(pointer);
  if (!steps || steps.length === 0) return false;
  let value: unknown = object;
  let rest = field;
  for (const step of steps) {
    const isList = Array.isArray(value);
    const fields: Record<string, unknown> = isList ? { ...listOf(value) } : recordOf(value);
    if (!Object.hasOwn(fields, step)) return false;
    value = fields[step];
    const name = isList ? keyIn(rest, value) : `.${step}`;
    if (name === undefined || !rest.startsWith(name)) return false;
    rest = rest.slice(name.length);
  }
  return /^($|[.[])/.test(rest);
}

/** The key at the beginning of a path, `[name="app"]`, if it is this element's. */
function keyIn(path: string, item: unknown): string | undefined {
  const key = /^\[[^\]]*\]/.exec(path)?.[0];
  return key && answersTo(item, key.slice(1, -1)) ? key : undefined;
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
    const key = keyIn(field.slice(path.length), item);
    if (key) return `${path}${key}`;
  }
  return undefined;
}

/** `name="app"`, `containerPort=80,protocol="TCP"`, or `="value"` for an element of a set. */
function answersTo(item: unknown, key: string): boolean {
  return key.split(/,(?=\w+=)/).every((part) => {
    const at = part.indexOf('=');
    const wanted = part.slice(at + 1);
    const value =
      at === 0 ? item : isRecord(item) ? (item[part.slice(0, at)] ?? defaultKeys[part]) : undefined;
    return JSON.stringify(value) === wanted;
  });
}

/** Ports are told apart by their protocol, also where Git does not name it. */
const defaultKeys: Readonly<Record<string, string>> = { 'protocol="TCP"': 'TCP' };
