import { type KubernetesObject, namespacedName } from '../../src/api/kubernetes.ts';
import { asNumber, at, type JsonRecord } from '../api-server/json.ts';
import {
  type Controller,
  type ControllerClient,
  type ControllerLoop,
  controllerName,
  controllersOf,
  findCondition,
  isControlledBy,
} from './controller.ts';
import { ensureNewest, observe, type Rollout, resize } from './deployment-revisions.ts';
import {
  isRecreate,
  newReplicaCount,
  oldReplicaCounts,
  proportionalCounts,
  wantedReplicas,
} from './deployment-scaling.ts';
import { countStatus, deadlineMs, isComplete, withProgress } from './deployment-status.ts';

const DEPLOYMENTS = 'apps/deployments';
const REPLICA_SETS = 'apps/replicasets';

/** Rolls Deployments out through ReplicaSets, RollingUpdate and Recreate, as the real controller does. */
export function deploymentController(client: ControllerClient, loop: ControllerLoop): Controller {
  return {
    name: 'deployments',
    keysFor(event) {
      if (event.storageKey === DEPLOYMENTS) return [namespacedName(event.object)];
      if (event.storageKey === '/pods' && event.type === 'DELETED')
        return deploymentsOfPod(client, event.object);
      return controllersOf(event, REPLICA_SETS, 'Deployment');
    },
    reconcile(key) {
      const rollout = observe(client, key);
      if (!rollout) return;
      if (!rollout.deployment.metadata.deletionTimestamp) advance(client, rollout);
      const fresh = observe(client, key);
      if (fresh) writeStatus(client, loop, fresh, key);
    },
  };
}

function deploymentsOfPod(client: ControllerClient, pod: KubernetesObject): string[] {
  const replicaSet = client.get(
    REPLICA_SETS,
    pod.metadata.namespace,
    controllerName(pod, 'ReplicaSet') ?? '',
  );
  const owner = replicaSet ? controllerName(replicaSet, 'Deployment') : undefined;
  return owner ? [`${pod.metadata.namespace}/${owner}`] : [];
}

function advance(client: ControllerClient, rollout: Rollout): void {
  if (at(rollout.deployment, 'spec', 'paused') === true || wasScaled(rollout))
    return scaleOnly(client, rollout);
  if (isRecreate(rollout.deployment)) return recreate(client, rollout);
  const newest = ensureNewest(client, rollout);
  if (newest) rollingUpdate(client, { ...rollout, newest });
}

/** The Deployment's own replicas changed since its ReplicaSets were last sized. */
function wasScaled({ deployment, old, newest }: Rollout): boolean {
  const active = [...old, ...(newest ? [newest] : [])].filter((each) => wantedReplicas(each) > 0);
  return active.some((each) => {
    const desired = each.metadata.annotations?.['deployment.kubernetes.io/desired-replicas'];
    return desired !== undefined && Number(desired) !== wantedReplicas(deployment);
  });
}

function scaleOnly(client: ControllerClient, { deployment, old, newest }: Rollout): void {
  const all = [...old, ...(newest ? [newest] : [])];
  const active = all.filter((each) => wantedReplicas(each) > 0);
  const [only] = active.length === 0 ? all.slice(-1) : active;
  if (active.length <= 1 && only) return resize(client, deployment, only, wantedReplicas(deployment));
  if (isRecreate(deployment)) return recreate(client, { deployment, old, newest });
  for (const [each, count] of proportionalCounts(deployment, active)) resize(client, deployment, each, count);
}

function recreate(client: ControllerClient, rollout: Rollout): void {
  const { deployment, old } = rollout;
  const active = old.filter((each) => wantedReplicas(each) > 0);
  for (const each of active) resize(client, deployment, each, 0);
  if (active.length > 0) return;
  const oldPods = client
    .list('/pods', deployment.metadata.namespace)
    .filter((pod) => old.some((each) => isControlledBy(pod, each)));
  if (oldPods.length > 0) return;
  const newest = ensureNewest(client, rollout);
  if (newest) resize(client, deployment, newest, wantedReplicas(deployment));
}

function rollingUpdate(client: ControllerClient, { deployment, old, newest }: Rollout): void {
  if (!newest) return;
  const wanted = newReplicaCount(deployment, [...old, newest], newest);
  resize(client, deployment, newest, wanted);
  if (wanted !== wantedReplicas(newest)) return;
  for (const [each, count] of oldReplicaCounts(deployment, old, newest))
    resize(client, deployment, each, count);
}

function writeStatus(client: ControllerClient, loop: ControllerLoop, rollout: Rollout, key: string): void {
  const { deployment, old, newest } = rollout;
  const all = [...old, ...(newest ? [newest] : [])];
  const counted = countStatus(deployment, all, newest, client.nowMs());
  const paused = at(deployment, 'spec', 'paused') === true;
  const status: JsonRecord = paused ? counted : withProgress(deployment, counted, newest, client.nowMs());
  client.updateStatus(deployment, status);
  if (paused) return;
  if (isComplete(deployment, status)) forgetOldRevisions(client, rollout);
  const deadline = deadlineMs(deployment, findCondition(status.conditions, 'Progressing'));
  const left = deadline === undefined ? 0 : deadline - client.nowMs() + 1000;
  if (left > 0) loop.later(left, 'deployments', key);
}

function forgetOldRevisions(client: ControllerClient, { deployment, old }: Rollout): void {
  const limit = asNumber(at(deployment, 'spec', 'revisionHistoryLimit'), 10);
  const idle = old.filter(
    (each) => wantedReplicas(each) === 0 && asNumber(at(each, 'status', 'replicas')) === 0,
  );
  for (const each of idle.slice(0, Math.max(0, idle.length - limit))) client.remove(each);
}
