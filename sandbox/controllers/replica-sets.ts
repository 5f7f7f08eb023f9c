import { type KubernetesObject, namespacedName, recordsOf } from '../../src/api/kubernetes.ts';
import { asNumber, asString, at } from '../api-server/json.ts';
import {
  type Controller,
  type ControllerClient,
  type ControllerLoop,
  controllersOf,
  findCondition,
  isControlledBy,
  splitKey,
} from './controller.ts';
import { isServing, newPod } from './pods.ts';

const REPLICA_SETS = 'apps/replicasets';

/** Maintains the number of pods of each ReplicaSet, and counts them in its status. */
export function replicaSetController(client: ControllerClient, loop: ControllerLoop): Controller {
  function reconcile(key: string): void {
    const replicaSet = client.get(REPLICA_SETS, ...splitKey(key));
    if (!replicaSet) return;
    const active = (): KubernetesObject[] => {
      const pods = client.list('/pods', replicaSet.metadata.namespace);
      return pods.filter((pod) => isControlledBy(pod, replicaSet) && !pod.metadata.deletionTimestamp);
    };
    if (!replicaSet.metadata.deletionTimestamp) adjust(client, replicaSet, active());
    const left = writeStatus(client, replicaSet, active());
    if (left !== undefined) loop.later(left, 'replicasets', key);
  }
  return {
    name: 'replicasets',
    keysFor(event) {
      if (event.storageKey === REPLICA_SETS) return [namespacedName(event.object)];
      return controllersOf(event, '/pods', 'ReplicaSet');
    },
    reconcile,
  };
}

function adjust(client: ControllerClient, replicaSet: KubernetesObject, active: KubernetesObject[]): void {
  const wanted = asNumber(at(replicaSet, 'spec', 'replicas'), 1);
  for (let count = active.length; count < wanted; count += 1) client.create(newPod(replicaSet));
  const expendable = [...active].sort(
    (left, right) => Number(isServing(left)) - Number(isServing(right)) || newerFirst(left, right),
  );
  for (const pod of expendable.slice(0, Math.max(0, active.length - wanted))) client.remove(pod);
}

function newerFirst(left: KubernetesObject, right: KubernetesObject): number {
  return asString(right.metadata.creationTimestamp).localeCompare(asString(left.metadata.creationTimestamp));
}

/** Returns after how many milliseconds a ready pod will count as available, if one is waiting for that. */
function writeStatus(
  client: ControllerClient,
  replicaSet: KubernetesObject,
  pods: KubernetesObject[],
): number | undefined {
  const live = client.get(REPLICA_SETS, replicaSet.metadata.namespace, replicaSet.metadata.name);
  if (!live) return undefined;
  const minReadyMs = asNumber(at(live, 'spec', 'minReadySeconds')) * 1000;
  const ready = pods.filter(isServing);
  const waits = ready.map((pod) => readySinceMs(pod) + minReadyMs - client.nowMs());
  const available = waits.filter((wait) => minReadyMs === 0 || wait <= 0).length;
  client.updateStatus(live, {
    replicas: pods.length,
    fullyLabeledReplicas: pods.length,
    ...(ready.length > 0 ? { readyReplicas: ready.length } : {}),
    ...(available > 0 ? { availableReplicas: available } : {}),
    observedGeneration: live.metadata.generation,
    ...(recordsOf(at(live, 'status', 'conditions')).length > 0
      ? { conditions: at(live, 'status', 'conditions') }
      : {}),
  });
  const pending = minReadyMs === 0 ? [] : waits.filter((wait) => wait > 0);
  return pending.length > 0 ? Math.min(...pending) : undefined;
}

function readySinceMs(pod: KubernetesObject): number {
  return Date.parse(asString(findCondition(at(pod, 'status', 'conditions'), 'Ready')?.lastTransitionTime));
}
