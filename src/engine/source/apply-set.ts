import { createHash } from 'node:crypto';
import { partOfLabel } from '../../api/generated-metadata.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { Source } from '../../api/source.ts';
import { leftToOwner } from '../../workload/taken-over.ts';

/** Identity of a Source as the parent of its objects: `applyset-<hash>-v1`. */
export function applySetId(source: Source): string {
  const { name, namespace } = source.metadata;
  const parent = `${name}.${namespace ?? ''}.Source.holdfast.dev`;
  return `applyset-${createHash('sha256').update(parent).digest('base64url')}-v1`;
}

/** The object as it is applied over the live one: with the label of its Source, and without what a rollout writes of it. */
export function inApplySet(
  object: KubernetesObject,
  id: string,
  live: KubernetesObject | undefined,
): KubernetesObject {
  const { metadata, ...rest } = leftToOwner(object, live);
  return { ...rest, metadata: { ...metadata, labels: { ...metadata.labels, [partOfLabel]: id } } };
}
