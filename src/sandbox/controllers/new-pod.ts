import { randomBytes } from 'node:crypto';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { asRecord, asStrings, at } from '../json.ts';

/** What a pod of an owner has beyond its template. */
export interface PodExtras {
  /** Default: the owner's name with five random characters. */
  readonly name?: string;
  /** Default: the owner's own. */
  readonly template?: unknown;
  readonly labels?: Readonly<Record<string, string>>;
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** A pod of the owner's template, controlled by the owner, named after it with five random characters. */
export function newPod(
  owner: KubernetesObject,
  { name: podName, template: given, labels = {}, spec = {} }: PodExtras = {},
): KubernetesObject {
  const { apiVersion, kind } = owner;
  const { name, namespace, uid = '' } = owner.metadata;
  const template = asRecord(given ?? at(owner, 'spec', 'template'));
  const { creationTimestamp: _none, ...metadata } = asRecord(template.metadata);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...metadata,
      name: podName ?? `${name}-${randomBytes(4).toString('hex').slice(0, 5)}`,
      ...(namespace ? { namespace } : {}),
      labels: { ...asStrings(metadata.labels), ...labels },
      ownerReferences: [{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }],
    },
    spec: { ...asRecord(template.spec), ...spec },
  };
}
