import type { KubernetesObject } from '../api/kubernetes.ts';

/** Large, never read from a cache, and for a Secret a copy of its content (even in metadata-only watches). */
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/** The form caches keep: without managedFields and kubectl's own copy of the object; metadata alone when asked. */
export function trimForCache(object: KubernetesObject, metadataOnly: boolean): KubernetesObject {
  const { managedFields: _, ...metadata } = object.metadata;
  if (metadata.annotations && lastApplied in metadata.annotations) {
    const { [lastApplied]: __, ...annotations } = metadata.annotations;
    metadata.annotations = annotations;
  }
  return metadataOnly
    ? { apiVersion: object.apiVersion, kind: object.kind, metadata }
    : { ...object, metadata };
}
