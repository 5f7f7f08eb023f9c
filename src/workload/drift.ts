/** Who changed a field that Holdfast owns. */
import type { KubernetesObject } from '../api/kubernetes.ts';
import { covers } from './covers.ts';
import { type ManagedFieldsEntry, managedFieldsOf, namedPart } from './owned-fields.ts';

/** What differs from what was applied. */
export type Drift =
  /** Nothing; defaults and fields that others added make no difference. */
  | { readonly kind: 'none' }
  /** Only fields that we wrote ourselves: a setting on its way, or an admission webhook that rewrote what we applied. */
  | { readonly kind: 'own' }
  | { readonly kind: 'foreign'; readonly manager: string }
  /** A field is gone that nobody owns any more, or the object carries no managedFields. */
  | { readonly kind: 'gone' };

/** Compares a live object, which must carry its managedFields, with what our manager applied. Build `applied` without replicas. */
export function driftOf(live: KubernetesObject, applied: KubernetesObject, manager: string): Drift {
  if (saysAll(live, applied)) return { kind: 'none' };
  const wanted = contentOf(applied);
  const culprits = culpritsOf(live, wanted);
  const other = culprits.find((entry) => entry.manager !== manager);
  if (other) return { kind: 'foreign', manager: other.manager ?? 'unknown' };
  return culprits.length > 0 ? { kind: 'own' } : { kind: 'gone' };
}

/** The manager other than ours of a field that does not say what is wanted; undefined where nobody can be named. */
export function changedBy(live: KubernetesObject, wanted: unknown, manager: string): string | undefined {
  return culpritsOf(live, wanted).find((entry) => entry.manager !== manager)?.manager;
}

function culpritsOf(live: KubernetesObject, wanted: unknown): ManagedFieldsEntry[] {
  return (managedFieldsOf(live) ?? []).filter(
    ({ subresource, fieldsV1 }) =>
      subresource !== 'status' && !covers(live, namedPart(wanted, fieldsV1 ?? {})),
  );
}

/** Whether spec and data of the live object say all that was applied; managedFields are not needed for that. */
export function saysAll(live: KubernetesObject, applied: KubernetesObject): boolean {
  return covers(live, contentOf(applied));
}

/** What an object is for, without its metadata. */
export function contentOf({ spec, data, binaryData }: KubernetesObject): Record<string, unknown> {
  return { spec, data, binaryData };
}
