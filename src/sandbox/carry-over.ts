import type { KubernetesObject } from '../api/kubernetes.ts';
import { clone, type JsonRecord, sameJson } from './json.ts';
import type { KindInfo } from './kinds.ts';

const SYSTEM_METADATA = [
  'name',
  'namespace',
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'generation',
  'managedFields',
  'resourceVersion',
];

/** The object a write leads to: what the door does not open for, and what only the server sets, comes from the live object. */
export function carryOver(
  kind: KindInfo,
  live: KubernetesObject,
  body: KubernetesObject,
  subresource?: string,
): KubernetesObject {
  if (subresource === 'status')
    return clone({ ...live, ...('status' in body ? { status: body.status } : {}) });
  const system = SYSTEM_METADATA.filter((field) => live.metadata[field] !== undefined).map((field) => [
    field,
    live.metadata[field],
  ]);
  const own = Object.entries(body.metadata).filter(([field]) => !SYSTEM_METADATA.includes(field));
  const { status, ...rest } = body;
  const kept = kind.hasStatus ? live.status : status;
  return clone({
    ...rest,
    metadata: Object.fromEntries([...own, ...system]) as KubernetesObject['metadata'],
    ...(kept === undefined ? {} : { status: kept }),
  }) as KubernetesObject;
}

/** Counts the generation up when anything but metadata and status changed. */
export function withGeneration(
  kind: KindInfo,
  live: KubernetesObject,
  next: KubernetesObject,
): KubernetesObject {
  if (!kind.hasGeneration || sameJson(specOf(kind, live), specOf(kind, next))) return next;
  return { ...next, metadata: { ...next.metadata, generation: (live.metadata.generation ?? 0) + 1 } };
}

function specOf(kind: KindInfo, object: KubernetesObject): JsonRecord {
  const { metadata: _metadata, status, ...spec } = object;
  return kind.hasStatus ? spec : { ...spec, status };
}
