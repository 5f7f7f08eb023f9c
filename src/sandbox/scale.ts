import type { KubernetesObject } from '../api/kubernetes.ts';
import { badRequest, invalid, unknownPath } from './api-error.ts';
import { asNumber, asRecord, asStrings, at, clone, type JsonRecord } from './json.ts';
import type { KindInfo } from './kinds.ts';
import { badValue } from './validation.ts';

/** The scale subresource's view of an object; throws 404 for kinds without one. */
export function scaleOf(kind: KindInfo, object: KubernetesObject): JsonRecord {
  if (!kind.scale) throw unknownPath();
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selector = kind.scale.selector ? selectorText(at(object, ...kind.scale.selector)) : undefined;
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: asNumber(at(object, ...kind.scale.replicas)) },
    status: {
      replicas: asNumber(at(object, ...kind.scale.statusReplicas)),
      ...(selector ? { selector } : {}),
    },
  };
}

function selectorText(selector: unknown): string {
  if (typeof selector === 'string') return selector;
  const labels = Object.entries(asStrings(at(selector, 'matchLabels')));
  return labels.map(([key, value]) => `${key}=${value}`).join(',');
}

/** The object with the replicas of a Scale; throws 422 for a negative number. */
export function withScale(kind: KindInfo, live: KubernetesObject, scale: JsonRecord): KubernetesObject {
  if (!kind.scale) throw unknownPath();
  const replicas = asNumber(at(scale, 'spec', 'replicas'));
  if (replicas < 0) {
    throw invalid(kind, live.metadata.name, [
      badValue('spec.replicas', replicas, 'must be greater than or equal to 0'),
    ]);
  }
  const field = kind.scale.replicas.at(-1);
  if (field === undefined) throw badRequest('the kind declares no replicas path');
  const object = clone(live);
  asRecord(at(object, ...kind.scale.replicas.slice(0, -1)))[field] = replicas;
  const version = at(scale, 'metadata', 'resourceVersion');
  if (typeof version === 'string') object.metadata.resourceVersion = version;
  return object;
}
