/** Objects of Git as a Source applies them. */
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import { manifestForOwner } from '../../../workload/service/existing-service.ts';
import { applySetId, asMember } from '../../apply-set.ts';
import type { SourceContext } from '../context/context.ts';
import { withoutFields } from '../scope/field-conflicts.ts';

/** The object as it is applied over a live one: with the Source's label, without what rollouts and others write of it. */
export function wantedOver(
  { source, state }: Pick<SourceContext, 'source' | 'state'>,
  object: KubernetesObject,
  live: KubernetesObject | undefined,
): KubernetesObject {
  return inApplySet(source, withoutFields(object, state.left.get(object) ?? []), live);
}

/** The same with the fields that others have. */
export function inApplySet(
  source: Pick<KubernetesObject, 'metadata'>,
  object: KubernetesObject,
  live: KubernetesObject | undefined,
): KubernetesObject {
  return asMember(manifestForOwner(object, live), applySetId(source));
}
