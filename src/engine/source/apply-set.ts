import { createHash } from 'node:crypto';
import { partOfLabel } from '../../api/applyset.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { leftToOwner } from '../../workload/taken-over.ts';

/** Identity of a Source as the parent of its objects: `applyset-<hash>-v1`. */
export function applySetId({ metadata }: Pick<KubernetesObject, 'metadata'>): string {
  return applySetIdOf(`${metadata.namespace ?? ''}/${metadata.name}`);
}

/** The same by the Source's key, `namespace/name`. */
export function applySetIdOf(sourceKey: string): string {
  const [namespace = '', name = ''] = sourceKey.split('/');
  const parent = `${name}.${namespace}.Source.holdfast.dev`;
  return `applyset-${createHash('sha256').update(parent).digest('base64url')}-v1`;
}

/** The object as it is applied over the live one: with the label of its Source, and without what a rollout writes of it. */
export function inApplySet(
  object: KubernetesObject,
  id: string,
  live: KubernetesObject | undefined,
): KubernetesObject {
  return asMember(leftToOwner(object, live), id);
}

/** The object with the label of the set that it belongs to. */
export function asMember(object: KubernetesObject, id: string): KubernetesObject {
  const { metadata, ...rest } = object;
  return { ...rest, metadata: { ...metadata, labels: { ...metadata.labels, [partOfLabel]: id } } };
}
