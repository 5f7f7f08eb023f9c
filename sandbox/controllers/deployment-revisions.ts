import { type KubernetesObject, recordOf } from '../../src/api/kubernetes.ts';
import { asNumber, asStrings, at, sameJson } from '../api-server/json.ts';
import { templateHash } from '../api-server/safe-names.ts';
import { type ControllerClient, isControlledBy, splitKey } from './controller.ts';
import { newReplicaCount, rollingBounds, wantedReplicas } from './deployment-scaling.ts';
import { progressing, setCondition } from './deployment-status.ts';

const DEPLOYMENTS = 'apps/deployments';
const REPLICA_SETS = 'apps/replicasets';
const HASH_LABEL = 'pod-template-hash';
const REVISION = 'deployment.kubernetes.io/revision';

/** A Deployment with its ReplicaSets, oldest first. */
export interface Rollout {
  readonly deployment: KubernetesObject;
  readonly old: readonly KubernetesObject[];
  readonly newest: KubernetesObject | undefined;
}

/** Reads a Deployment and its ReplicaSets; undefined when it is gone. */
export function observe(client: ControllerClient, key: string): Rollout | undefined {
  const deployment = client.get(DEPLOYMENTS, ...splitKey(key));
  if (!deployment) return undefined;
  const owned = client
    .list(REPLICA_SETS, deployment.metadata.namespace)
    .filter((each) => isControlledBy(each, deployment))
    .sort((left, right) => revisionOf(left) - revisionOf(right));
  const newest = owned.find((each) => sameTemplate(each, deployment));
  return { deployment, newest, old: owned.filter((each) => each !== newest) };
}

function revisionOf(object: KubernetesObject): number {
  return Number(object.metadata.annotations?.[REVISION] ?? 0);
}

function sameTemplate(replicaSet: KubernetesObject, deployment: KubernetesObject): boolean {
  const template = recordOf(at(replicaSet, 'spec', 'template'));
  const labels = asStrings(at(template, 'metadata', 'labels'));
  delete labels[HASH_LABEL];
  const bare = { ...template, metadata: { ...recordOf(template.metadata), labels } };
  const wanted = recordOf(at(deployment, 'spec', 'template'));
  return sameJson(bare, {
    ...wanted,
    metadata: { ...recordOf(wanted.metadata), labels: asStrings(at(wanted, 'metadata', 'labels')) },
  });
}

function sizeAnnotations(deployment: KubernetesObject): Record<string, string> {
  const replicas = wantedReplicas(deployment);
  return {
    'deployment.kubernetes.io/desired-replicas': String(replicas),
    'deployment.kubernetes.io/max-replicas': String(replicas + rollingBounds(deployment).maxSurge),
  };
}

/** Gives a ReplicaSet this many replicas. */
export function resize(
  client: ControllerClient,
  deployment: KubernetesObject,
  replicaSet: KubernetesObject,
  replicas: number,
): void {
  const annotations = { ...replicaSet.metadata.annotations, ...sizeAnnotations(deployment) };
  if (replicas === wantedReplicas(replicaSet) && sameJson(annotations, replicaSet.metadata.annotations))
    return;
  client.update({
    ...replicaSet,
    metadata: { ...replicaSet.metadata, annotations },
    spec: { ...recordOf(replicaSet.spec), replicas },
  });
}

/** The ReplicaSet of the current template, created where it is missing. */
export function ensureNewest(client: ControllerClient, rollout: Rollout): KubernetesObject | undefined {
  const { deployment, old, newest } = rollout;
  const revision = String(Math.max(0, ...old.map(revisionOf)) + 1);
  if (!newest) {
    const created = createReplicaSet(client, rollout, revision);
    noteRevision(client, deployment, revision, created.metadata.name);
    return created;
  }
  const latest = String(Math.max(revisionOf(newest), Number(revision)));
  const annotations = { ...newest.metadata.annotations, [REVISION]: latest };
  const minReadySeconds = asNumber(at(deployment, 'spec', 'minReadySeconds'));
  const spec = {
    ...recordOf(newest.spec),
    ...(minReadySeconds || at(newest, 'spec', 'minReadySeconds') ? { minReadySeconds } : {}),
  };
  client.update({ ...newest, metadata: { ...newest.metadata, annotations }, spec });
  noteRevision(client, deployment, latest);
  return client.get(REPLICA_SETS, newest.metadata.namespace, newest.metadata.name);
}

function createReplicaSet(
  client: ControllerClient,
  { deployment, old }: Rollout,
  revision: string,
): KubernetesObject {
  const { name, namespace, uid } = deployment.metadata;
  const template = recordOf(at(deployment, 'spec', 'template'));
  const hash = templateHash(template);
  const labels = { ...asStrings(at(template, 'metadata', 'labels')), [HASH_LABEL]: hash };
  const selector = recordOf(at(deployment, 'spec', 'selector'));
  const owner = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    name,
    uid: uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  };
  const draft: KubernetesObject = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${name}-${hash}`,
      ...(namespace ? { namespace } : {}),
      labels,
      annotations: { ...sizeAnnotations(deployment), [REVISION]: revision },
      ownerReferences: [owner],
    },
    spec: {
      replicas: 0,
      ...(at(deployment, 'spec', 'minReadySeconds')
        ? { minReadySeconds: at(deployment, 'spec', 'minReadySeconds') }
        : {}),
      selector: { ...selector, matchLabels: { ...asStrings(selector.matchLabels), [HASH_LABEL]: hash } },
      template: { ...template, metadata: { ...recordOf(template.metadata), labels } },
    },
  };
  const replicas = newReplicaCount(deployment, [...old, draft], draft);
  return client.create({ ...draft, spec: { ...recordOf(draft.spec), replicas } });
}

function noteRevision(
  client: ControllerClient,
  deployment: KubernetesObject,
  revision: string,
  created?: string,
): void {
  const annotations = { ...deployment.metadata.annotations, [REVISION]: revision };
  const updated = client.update({ ...deployment, metadata: { ...deployment.metadata, annotations } });
  if (!created) return;
  const condition = progressing('True', 'NewReplicaSetCreated', `Created new replica set "${created}"`);
  const conditions = setCondition(at(updated, 'status', 'conditions'), condition, client.nowMs());
  client.updateStatus(updated, { ...recordOf(updated.status), conditions });
}
