/** Who changed a field that Holdfast owns. */
import type { KubernetesObject } from '../api/kubernetes.ts';
import { covers } from './covers.ts';
import { managedFieldsOf, namedPart } from './owned-fields.ts';

/**
 * Name of the manager that changed something in our fields; undefined when the live object still says what was applied, or when the
 * change is our own (a scale or settings patch). `unknown`: a field was taken away, or the object carries no managedFields.
 */
export function driftOf(
  live: KubernetesObject,
  applied: KubernetesObject,
  manager: string,
): string | undefined {
  const wanted = { spec: applied.spec, data: applied.data };
  if (covers(live, wanted)) return undefined;
  const culprits = (managedFieldsOf(live) ?? []).filter(
    ({ subresource, fieldsV1 }) =>
      subresource !== 'status' && !covers(live, namedPart(wanted, fieldsV1 ?? {})),
  );
  const other = culprits.find((entry) => entry.manager !== manager);
  if (other) return other.manager ?? 'unknown';
  return culprits.length > 0 ? undefined : 'unknown';
}
