import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { asNumber, asStrings, at, sameJson } from '../api-server/json.ts';
import { templateHash } from '../api-server/safe-names.ts';
import { type ControllerClient, isControlledBy } from './controller.ts';

const REVISIONS = 'apps/controllerrevisions';

/** Label of a ControllerRevision and of the pods made from it. */
export const HASH_LABEL = 'controller-revision-hash';

/**
 * The ControllerRevision of a DaemonSet's or StatefulSet's current template: it is created, or gets the highest number again, as the real
 * controllers do.
 */
export function ensureRevision(client: ControllerClient, workload: KubernetesObject): KubernetesObject {
  const owned = client
    .list(REVISIONS, workload.metadata.namespace)
    .filter((revision) => isControlledBy(revision, workload));
  const highest = Math.max(0, ...owned.map(numberOf));
  const current = owned.find((revision) => sameJson(revisedTemplate(revision), templateOf(workload)));
  if (!current) return create(client, workload, highest + 1);
  return numberOf(current) < highest ? client.update({ ...current, revision: highest + 1 }) : current;
}

/** What the pods of a ControllerRevision carry in HASH_LABEL, for a DaemonSet. */
export function hashOfRevision({ metadata }: KubernetesObject): string {
  return asStrings(metadata.labels)[HASH_LABEL] ?? '';
}

/** The pod template in a ControllerRevision. */
export function revisedTemplate(revision: KubernetesObject): unknown {
  return at(revision, 'data', 'spec', 'template');
}

function create(client: ControllerClient, workload: KubernetesObject, revision: number): KubernetesObject {
  const { name, namespace, uid } = workload.metadata;
  const template = templateOf(workload);
  const hash = templateHash(template);
  const labels = { ...asStrings(at(template, 'metadata', 'labels')), [HASH_LABEL]: hash };
  const owner = {
    apiVersion: 'apps/v1',
    kind: workload.kind,
    name,
    uid: uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  };
  return client.create({
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
}

function templateOf(workload: KubernetesObject): unknown {
  return at(workload, 'spec', 'template');
}

function numberOf(revision: KubernetesObject): number {
  return asNumber(revision.revision);
}
