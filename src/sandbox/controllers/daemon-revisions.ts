import { createHash } from 'node:crypto';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { asNumber, asStrings, at, sameJson } from '../json.ts';
import { type ControllerClient, isControlledBy } from './controller-client.ts';

const REVISIONS = 'apps/controllerrevisions';

/** Label of a ControllerRevision and of the pods made from it. */
export const HASH_LABEL = 'controller-revision-hash';

/** The hash of a DaemonSet's current template. Its ControllerRevision is created, or gets the highest number anew, as the real controller does. */
export function ensureRevision(client: ControllerClient, daemonSet: KubernetesObject): string {
  const owned = client
    .list(REVISIONS, daemonSet.metadata.namespace)
    .filter((revision) => isControlledBy(revision, daemonSet));
  const highest = Math.max(0, ...owned.map(numberOf));
  const current = owned.find((revision) => sameJson(templateOf(revision), templateOf(daemonSet)));
  if (!current) return create(client, daemonSet, highest + 1);
  if (numberOf(current) < highest) client.update({ ...current, revision: highest + 1 });
  return asStrings(current.metadata.labels)[HASH_LABEL] ?? '';
}

function create(client: ControllerClient, daemonSet: KubernetesObject, revision: number): string {
  const { name, namespace, uid } = daemonSet.metadata;
  const template = templateOf(daemonSet);
  const hash = createHash('sha256').update(JSON.stringify(template)).digest('hex').slice(0, 10);
  const labels = { ...asStrings(at(template, 'metadata', 'labels')), [HASH_LABEL]: hash };
  const owner = {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    name,
    uid: uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  };
  client.create({
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: {
      name: `${name}-${hash}`,
      ...(namespace ? { namespace } : {}),
      labels,
      ownerReferences: [owner],
    },
    data: { spec: { template } },
    revision,
  });
  return hash;
}

function templateOf(object: KubernetesObject): unknown {
  return object.kind === 'DaemonSet'
    ? at(object, 'spec', 'template')
    : at(object, 'data', 'spec', 'template');
}

function numberOf(revision: KubernetesObject): number {
  return asNumber(revision.revision);
}
