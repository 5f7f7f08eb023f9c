import { createHash } from 'node:crypto';
import {
  canonicalJson,
  describe,
  hashOfFields,
  type KubernetesObject,
  podTemplatePath,
  recordOf,
  recordsOf,
  valueAt,
} from '../api/kubernetes.ts';
import { covers, differencesOf } from '../workload/compare/semantic-compare.ts';
import { appliedAnnotation } from '../workload/shared/metadata.ts';

/**
 * Remembers what was applied last, so that an unchanged object costs no request. Lost on restart: then it is applied once more, except
 * objects that carry a hash of what was applied (`withMark`).
 */
export interface Applied {
  /**
   * True when the object has all of these fields and we applied exactly this before, so that nothing of an older write is left. Of what was noted
   * with its answer the fields must be ours still, too, if it is known whose they are: a list that has one owner differs by what others add to its
   * elements, which a comparison takes for defaults.
   */
  has(live: KubernetesObject | undefined, wanted: KubernetesObject): boolean;
  /** True when exactly this was applied before, whatever the object is now. */
  knows(wanted: KubernetesObject): boolean;
  /** `written`: the API server's answer. */
  note(wanted: KubernetesObject, written?: KubernetesObject): void;
  forget(wanted: KubernetesObject): void;
}

interface Noted {
  readonly hash: string;
  readonly fields: string | undefined;
  /** `defaultsFor` of the answer. */
  readonly defaults: string | undefined;
}

/** An empty memory of what this field manager applied. */
export function createApplied(manager: string): Applied {
  const known = new Map<string, Noted>();
  return {
    has(live, wanted) {
      const { hash, fields, defaults } = known.get(objectId(wanted)) ?? {};
      return (
        live !== undefined &&
        [hash, markOf(live)].includes(hashOf(wanted)) &&
        [undefined, fields].includes(fields && fieldsOf(live, manager)) &&
        holds(live, wanted, defaults)
      );
    },
    knows: (wanted) => known.get(objectId(wanted))?.hash === hashOf(wanted),
    note: (wanted, written) =>
      void known.set(objectId(wanted), {
        hash: hashOf(wanted),
        fields: written && fieldsOf(written, manager),
        defaults: written && defaultsFor(written, wanted),
      }),
    forget: (wanted) => void known.delete(objectId(wanted)),
  };
}

/**
 * What the object has where nothing is wanted (`metrics:` or `clusterIP: ""`, as charts leave them), if that is all in which it differs: the API
 * server's own defaults as long as they are those of its answer.
 */
function defaultsFor(live: KubernetesObject, wanted: KubernetesObject): string | undefined {
  const found = differencesOf(live, wanted);
  const isAll = found.length > 0 && found.every((one) => isNothing(one.wanted) && one.live !== undefined);
  return isAll ? canonicalJson(found) : undefined;
}

function isNothing(wanted: unknown): boolean {
  return Array.isArray(wanted) ? wanted.length === 0 : [null, '', 0, false].includes(wanted as null);
}

/** The object with a hash of itself as annotation, for another replica and after a restart. */
export function withMark(wanted: KubernetesObject): KubernetesObject {
  const { metadata } = wanted;
  const annotations = { ...metadata.annotations, [appliedAnnotation]: hashOf(wanted) };
  return { ...wanted, metadata: { ...metadata, annotations } };
}

/**
 * What to apply of a workload without a service account over one that has one: the API server keeps its name under the deprecated name of the
 * field, too, which nobody owns, and would take it from there again. It is left to others who set it. Custom resources have no such second name.
 */
export function withAccountTaken(
  wanted: KubernetesObject,
  live: KubernetesObject | undefined,
): KubernetesObject {
  const pod = podOf(wanted);
  const isTaken = pod && !pod.serviceAccountName && !pod.serviceAccount && podOf(live)?.serviceAccount;
  if (!isTaken) return wanted;
  const withPod = (value: unknown, [field, ...rest]: readonly string[]): object =>
    field === undefined
      ? { ...pod, serviceAccount: '' }
      : { ...recordOf(value), [field]: withPod(recordOf(value)[field], rest) };
  return withPod(wanted, podPath(wanted)) as KubernetesObject;
}

/** The field that `withAccountTaken` empties of this object, as the API server names it; undefined: none. */
export function takenAccount(wanted: KubernetesObject): string | undefined {
  return podOf(wanted)?.serviceAccount === '' ? `.${podPath(wanted).join('.')}.serviceAccount` : undefined;
}

interface Pod {
  readonly serviceAccountName?: string;
  readonly serviceAccount?: string;
}

function podPath({ kind }: KubernetesObject): readonly string[] {
  return [...podTemplatePath(kind), 'spec'];
}

function podOf(object: KubernetesObject | undefined): Pod | undefined {
  return object && (valueAt(object, podPath(object)) as Pod | undefined);
}

/** Whether the object's annotation says that exactly this was applied last. */
export function hasMark(live: KubernetesObject, wanted: KubernetesObject): boolean {
  return markOf(live) === hashOf(wanted);
}

/** The same, and its fields still say so. */
export function isAsMarked(live: KubernetesObject, wanted: KubernetesObject): boolean {
  return hasMark(live, wanted) && holds(live, wanted);
}

/**
 * Fields that others add make no difference, but labels of a Service's selector, which is one value where it is wanted: its pods may not have them.
 * `defaults`: what it may have where nothing is wanted.
 */
function holds(live: KubernetesObject, wanted: KubernetesObject, defaults?: string): boolean {
  const labels = ({ spec }: KubernetesObject) => {
    const { selector } = (spec ?? {}) as { selector?: object };
    return selector && Object.keys(selector).length;
  };
  const asked = wanted.kind === 'Service' ? labels(wanted) : undefined;
  if (asked !== undefined && labels(live) !== asked) return false;
  return covers(live, wanted) || (defaults !== undefined && defaultsFor(live, wanted) === defaults);
}

/** A hash of the fields that the manager has applied and has still; watches tell no more of them. Undefined: this object does not tell. */
function fieldsOf({ metadata }: KubernetesObject, owner: string): string | undefined {
  if (!metadata.managedFields) return undefined;
  const entry = recordsOf(metadata.managedFields).find(
    ({ manager, operation, appliedHash, subresource }) =>
      manager === owner && (appliedHash !== undefined || (operation === 'Apply' && !subresource)),
  );
  return entry ? String(entry.appliedHash ?? hashOfFields(entry.fieldsV1)) : 'none';
}

function markOf({ metadata }: KubernetesObject): string | undefined {
  return metadata.annotations?.[appliedAnnotation];
}

function objectId(object: KubernetesObject): string {
  return `${object.apiVersion} ${describe(object)}`;
}

function hashOf(object: KubernetesObject): string {
  return createHash('sha256').update(canonicalJson(object)).digest('base64');
}
