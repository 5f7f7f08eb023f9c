import { createHash } from 'node:crypto';
import type { KubernetesObject } from '../api/kubernetes.ts';
import type { Source } from '../api/source.ts';

/** Label that names the Source an object came from, as Kubernetes' ApplySet defines it. */
export const partOfLabel = 'applyset.kubernetes.io/part-of';
/** Commit an object was last written from, for people. */
export const appliedCommitAnnotation = 'holdfast.dev/commit';

/** Identity of a Source as the parent of its objects: `applyset-<hash>-v1`. */
export function applySetId(source: Source): string {
  const { name, namespace } = source.metadata;
  const parent = `${name}.${namespace ?? ''}.Source.holdfast.dev`;
  return `applyset-${createHash('sha256').update(parent).digest('base64url')}-v1`;
}

/** The object as it is applied: with the label of its Source. */
export function inApplySet(object: KubernetesObject, id: string): KubernetesObject {
  const { metadata } = object;
  return { ...object, metadata: { ...metadata, labels: { ...metadata.labels, [partOfLabel]: id } } };
}
