/** Who changed a field that Holdfast owns. */
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { isOfRelease } from '../../health/drift.ts';
import { type ManagedFieldsEntry, managedFieldsOf, namedPart } from './managed-fields.ts';
import { coversWorkload, type Difference, workloadDifferencesOf } from './semantic-compare.ts';

/** What differs from what was applied. */
type Drift =
  /** Nothing; defaults and fields that others added make no difference. */
  | { readonly kind: 'none' }
  /**
   * Only fields that we wrote ourselves: a setting on its way, or an admission webhook that rewrote what we applied. We never patch a
   * template, so a field of it that was updated under our manager's name was changed by another tool.
   */
  | { readonly kind: 'own' }
  | { readonly kind: 'foreign'; readonly manager: string }
  /** A field was removed and has no owner, or the object has no managedFields. */
  | { readonly kind: 'gone' };

/** Compares a live object, which must carry its managedFields, with what our manager applied. Build `applied` without replicas. */
export function driftOf(live: KubernetesObject, applied: KubernetesObject, manager: string): Drift {
  if (coversApplied(live, applied)) return { kind: 'none' };
  const wanted = contentOf(applied);
  const culprits = culpritsOf(live, wanted);
  const other = culprits.find((entry) => isOthers(entry, { live, wanted, manager }));
  if (other)
    return {
      kind: 'foreign',
      manager: other.manager === manager ? `another client as ${manager}` : (other.manager ?? 'unknown'),
    };
  return culprits.length > 0 ? { kind: 'own' } : { kind: 'gone' };
}

/** Which fields others changed, those of what was released first: nothing else changes what pods run. */
export function differencesBy(
  live: KubernetesObject,
  applied: KubernetesObject,
  manager: string,
): Difference[] {
  const wanted = contentOf(applied);
  const found = culpritsOf(live, wanted)
    .filter((entry) => isOthers(entry, { live, wanted, manager }))
    .flatMap(({ fieldsV1 }) => workloadDifferencesOf(live, namedPart(wanted, fieldsV1 ?? {})));
  return releaseFirst([...new Map(found.map((one) => [one.path, one])).values()]);
}

/** Every field that is not as it was applied, those of what was released first. */
export function allDifferences(live: KubernetesObject, applied: KubernetesObject): Difference[] {
  return releaseFirst(workloadDifferencesOf(live, contentOf(applied)));
}

function releaseFirst(differences: readonly Difference[]): Difference[] {
  const isFirst = ({ path }: Difference) => isOfRelease(path);
  return [...differences.filter(isFirst), ...differences.filter((one) => !isFirst(one))];
}

interface Comparison {
  readonly live: KubernetesObject;
  readonly wanted: unknown;
  readonly manager: string;
}

function isOthers(entry: ManagedFieldsEntry, { live, wanted, manager }: Comparison): boolean {
  if (entry.manager !== manager) return true;
  if (entry.operation !== 'Update') return false;
  const named = namedPart(wanted, entry.fieldsV1 ?? {}) as { spec?: { template?: unknown } };
  const template = named.spec?.template;
  return template !== undefined && !coversWorkload(live, { spec: { template } });
}

/** The manager other than ours of a field that differs from what is wanted; undefined where no entry names one. */
export function managerOfChange(
  live: KubernetesObject,
  wanted: unknown,
  manager: string,
): string | undefined {
  return culpritsOf(live, wanted).find((entry) => entry.manager !== manager)?.manager;
}

function culpritsOf(live: KubernetesObject, wanted: unknown): ManagedFieldsEntry[] {
  return managedFieldsOf(live).filter(
    ({ subresource, fieldsV1 }) =>
      subresource !== 'status' && !coversWorkload(live, namedPart(wanted, fieldsV1 ?? {})),
  );
}

/** Whether spec and data of the live object hold all that was applied; managedFields are not needed for that. */
export function coversApplied(live: KubernetesObject, applied: KubernetesObject): boolean {
  return coversWorkload(live, contentOf(applied));
}

/** Spec and data, without metadata. */
export function contentOf({ spec, data, binaryData }: KubernetesObject): Record<string, unknown> {
  return { spec, data, binaryData };
}
