import { createHash } from 'node:crypto';
import { describe, type KubernetesObject } from '../api/kubernetes.ts';
import { canonicalJson } from '../release/json.ts';
import { covers } from '../workload/covers.ts';

/** Remembers what was applied last, so that what is there already costs no request. Lost on restart: then it is applied once more. */
export interface Applied {
  /** True when the object says all of this and we applied exactly this before, so that nothing of an older write is left. */
  has(live: KubernetesObject | undefined, wanted: KubernetesObject): boolean;
  note(wanted: KubernetesObject): void;
  forget(wanted: KubernetesObject): void;
}

/** An empty memory. */
export function createApplied(): Applied {
  const hashes = new Map<string, string>();
  return {
    has: (live, wanted) =>
      live !== undefined && hashes.get(idOf(wanted)) === hashOf(wanted) && covers(live, wanted),
    note: (wanted) => void hashes.set(idOf(wanted), hashOf(wanted)),
    forget: (wanted) => void hashes.delete(idOf(wanted)),
  };
}

function idOf(object: KubernetesObject): string {
  return `${object.apiVersion} ${describe(object)}`;
}

function hashOf(object: KubernetesObject): string {
  return createHash('sha256').update(canonicalJson(object)).digest('base64');
}
