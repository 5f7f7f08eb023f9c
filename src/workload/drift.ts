/** Who changed a field that Holdfast owns. */
import type { KubernetesObject } from '../api/kubernetes.ts';
import { covers } from './covers.ts';
import { managedFieldsOf, namedPart } from './owned-fields.ts';

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
  const culprits = (managedFieldsOf(live) ?? []).filter(
    ({ subresource, fieldsV1 }) =>
      subresource !== 'status' && !covers(live, namedPart(wanted, fieldsV1 ?? {})),
  );
  const other = culprits.find((entry) => entry.manager !== manager);
  if (other) return { kind: 'foreign', manager: other.manager ?? 'unknown' };
  return culprits.length > 0 ? { kind: 'own' } : { kind: 'gone' };
}

/** Whether spec and data of the live object say all that was applied; managedFields are not needed for that. */
export function saysAll(live: KubernetesObject, applied: KubernetesObject): boolean {
  return covers(live, contentOf(applied));
}

/** What an object is for, without its metadata. */
export function contentOf({ spec, data, binaryData }: KubernetesObject): Record<string, unknown> {
  return { spec, data, binaryData };
}
