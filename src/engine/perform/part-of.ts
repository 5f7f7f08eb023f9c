import { partOfLabel } from '../../api/applyset.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { keyOf } from '../canary/checks.ts';
import { applySetIdOf, asMember } from '../source/apply-set.ts';
import type { ActionContext } from './action-context.ts';

/**
 * What a rollout writes of Git's own objects, with the label of the Source that holds them: a target or a config that leaves Git is found by it
 * and pruned. Without a Source the label of the live object stays.
 */
export function partOfSource(
  { parts, observation }: ActionContext,
  object: KubernetesObject,
  live?: KubernetesObject,
): KubernetesObject {
  const source = parts.heads.sourceOf(keyOf(observation.canary));
  const id = source === undefined ? live?.metadata.labels?.[partOfLabel] : applySetIdOf(source);
  return id === undefined ? object : asMember(object, id);
}
