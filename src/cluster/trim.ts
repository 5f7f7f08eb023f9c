import type { KubernetesObject } from '../api/kubernetes.ts';

/** Large, never read from a cache, and for a Secret a copy of its content (even in metadata-only watches). */
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/** How much of an object is kept; everything by default. */
export interface Trimming {
  readonly metadataOnly?: boolean;
  readonly endpointsOnly?: boolean;
}

/**
 * The form caches keep: without managedFields and kubectl's own copy of the object; when asked metadata alone, or of an EndpointSlice its
 * labels, its ports and which pods are ready.
 */
export function trimForCache(object: KubernetesObject, trimming: Trimming): KubernetesObject {
  const { managedFields: _, ...metadata } = object.metadata;
  if (metadata.annotations && lastApplied in metadata.annotations) {
    const { [lastApplied]: __, ...annotations } = metadata.annotations;
    metadata.annotations = annotations;
  }
  const { apiVersion, kind } = object;
  if (trimming.metadataOnly) return { apiVersion, kind, metadata };
  return trimming.endpointsOnly ? endpointsAlone(object) : { ...object, metadata };
}

interface Endpoint {
  readonly conditions?: { readonly ready?: boolean };
  readonly targetRef?: { readonly uid?: string };
}

/** Addresses, nodes, zones and hints go, and the Service's own labels, which are copied to each slice. */
function endpointsAlone({ apiVersion, kind, metadata, ...slice }: KubernetesObject): KubernetesObject {
  const { name, namespace, uid, resourceVersion, labels = {} } = metadata;
  const kept = Object.entries(labels).filter(([key]) => key === serviceName);
  const endpoints = (slice.endpoints ?? []) as readonly Endpoint[];
  return {
    apiVersion,
    kind,
    metadata: { name, namespace, uid, resourceVersion, labels: Object.fromEntries(kept) },
    ports: slice.ports,
    endpoints: endpoints.map(({ conditions, targetRef }) => ({
      ...(conditions?.ready === false ? { conditions: { ready: false } } : {}),
      targetRef: { uid: targetRef?.uid },
    })),
  } as KubernetesObject;
}

const serviceName = 'kubernetes.io/service-name';
