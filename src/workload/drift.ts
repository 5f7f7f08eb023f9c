/** Who changed a field that Holdfast owns. */
import type { KubernetesObject } from '../api/kubernetes.ts';
import { covers } from './covers.ts';
import { managedFieldsOf } from './owned-fields.ts';

/**
 * Name of the manager that changed something in our fields, undefined when the live object still says all that was applied. Without
 * managedFields, or when nobody else is named, `unknown`. The newest other manager of anything but the status is blamed.
 */
export function driftOf(
  live: KubernetesObject,
  applied: KubernetesObject,
  manager: string,
): string | undefined {
  if (covers({ spec: live.spec, data: live.data }, { spec: applied.spec, data: applied.data }))
    return undefined;
  const others = (managedFieldsOf(live) ?? [])
    .filter((entry) => entry.manager && entry.manager !== manager && entry.subresource !== 'status')
    .sort((a, b) => (a.time ?? '').localeCompare(b.time ?? ''));
  return others.at(-1)?.manager ?? 'unknown';
}
