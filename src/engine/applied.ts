import { createHash } from 'node:crypto';
import { canonicalJson, describe, type KubernetesObject } from '../api/kubernetes.ts';
import { covers } from '../workload/compare/semantic-compare.ts';
import { appliedAnnotation } from '../workload/shared/metadata.ts';

/**
 * Remembers what was applied last, so that an unchanged object costs no request. Lost on restart: then it is applied once more, except
 * objects that carry a hash of what was applied (`withMark`).
 */
export interface Applied {
  /** True when the object has all of these fields and we applied exactly this before, so that nothing of an older write is left. */
  has(live: KubernetesObject | undefined, wanted: KubernetesObject): boolean;
  /** True when exactly this was applied before, whatever the object is now. */
  knows(wanted: KubernetesObject): boolean;
  note(wanted: KubernetesObject): void;
  forget(wanted: KubernetesObject): void;
}

/** An empty memory. */
export function createApplied(): Applied {
  const hashes = new Map<string, string>();
  return {
    has: (live, wanted) =>
      live !== undefined &&
      [hashes.get(objectId(wanted)), markOf(live)].includes(hashOf(wanted)) &&
      holds(live, wanted),
    knows: (wanted) => hashes.get(objectId(wanted)) === hashOf(wanted),
    note: (wanted) => void hashes.set(objectId(wanted), hashOf(wanted)),
    forget: (wanted) => void hashes.delete(objectId(wanted)),
  };
}

/** The object with a hash of itself as annotation, for another replica and after a restart. */
export function withMark(wanted: KubernetesObject): KubernetesObject {
  const { metadata } = wanted;
  const annotations = { ...metadata.annotations, [appliedAnnotation]: hashOf(wanted) };
  return { ...wanted, metadata: { ...metadata, annotations } };
}

/** Whether the object's annotation says that exactly this was applied last, and its fields still do. */
export function isAsMarked(live: KubernetesObject, wanted: KubernetesObject): boolean {
  return markOf(live) === hashOf(wanted) && holds(live, wanted);
}

/** Fields that others add make no difference, but labels of a Service's selector, which is one value: its pods may not have them. */
function holds(live: KubernetesObject, wanted: KubernetesObject): boolean {
  const labels = ({ spec }: KubernetesObject) =>
    Object.keys((spec as { selector?: object } | undefined)?.selector ?? {}).length;
  return covers(live, wanted) && (wanted.kind !== 'Service' || labels(live) === labels(wanted));
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
