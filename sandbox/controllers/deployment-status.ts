import { type KubernetesObject, recordOf, recordsOf } from '../../src/api/kubernetes.ts';
import { asNumber, asString, at, type JsonRecord } from '../api-server/json.ts';
import { timestamp } from '../api-server/object-writer.ts';
import { findCondition } from './controller.ts';
import { availableReplicas, rollingBounds, total, wantedReplicas } from './deployment-scaling.ts';

/** Sets one condition the way the real controller does: same status and reason means no change at all. */
export function setCondition(conditions: unknown, wanted: JsonRecord, nowMs: number): JsonRecord[] {
  const current = findCondition(conditions, asString(wanted.type));
  if (current && current.status === wanted.status && current.reason === wanted.reason)
    return recordsOf(conditions);
  return replaceCondition(conditions, wanted, nowMs);
}

function replaceCondition(conditions: unknown, wanted: JsonRecord, nowMs: number): JsonRecord[] {
  const current = findCondition(conditions, asString(wanted.type));
  const now = timestamp(nowMs);
  const lastTransitionTime = current?.status === wanted.status ? current?.lastTransitionTime : now;
  const others = recordsOf(conditions).filter((each) => each.type !== wanted.type);
  return [...others, { ...wanted, lastUpdateTime: now, lastTransitionTime }];
}

/** A Progressing condition. */
export function progressing(
  status: 'True' | 'False' | 'Unknown',
  reason: string,
  message: string,
): JsonRecord {
  return { type: 'Progressing', status, reason, message };
}

function actual(replicaSet: KubernetesObject): number {
  return asNumber(at(replicaSet, 'status', 'replicas'));
}

function positive(field: string, value: number): JsonRecord {
  return value > 0 ? { [field]: value } : {};
}

/** The counts and the Available condition. */
export function countStatus(
  deployment: KubernetesObject,
  all: readonly KubernetesObject[],
  newest: KubernetesObject | undefined,
  nowMs: number,
): JsonRecord {
  const available = total(all, availableReplicas);
  const enough = available >= wantedReplicas(deployment) - rollingBounds(deployment).maxUnavailable;
  const condition = enough
    ? { status: 'True', reason: 'MinimumReplicasAvailable', message: 'Deployment has minimum availability.' }
    : {
        status: 'False',
        reason: 'MinimumReplicasUnavailable',
        message: 'Deployment does not have minimum availability.',
      };
  return {
    observedGeneration: deployment.metadata.generation,
    ...positive('replicas', total(all, actual)),
    ...positive('updatedReplicas', newest ? actual(newest) : 0),
    ...positive(
      'readyReplicas',
      total(all, (each) => asNumber(at(each, 'status', 'readyReplicas'))),
    ),
    ...positive('availableReplicas', available),
    ...positive('unavailableReplicas', Math.max(0, total(all, wantedReplicas) - available)),
    conditions: setCondition(
      at(deployment, 'status', 'conditions'),
      { type: 'Available', ...condition },
      nowMs,
    ),
  };
}

/** True when every replica is updated and available, and no old one is left. */
export function isComplete(deployment: KubernetesObject, status: JsonRecord): boolean {
  const replicas = wantedReplicas(deployment);
  return ['updatedReplicas', 'replicas', 'availableReplicas'].every(
    (field) => asNumber(status[field]) === replicas,
  );
}

function hasProgressed(before: JsonRecord, after: JsonRecord): boolean {
  const grew = (field: string) => asNumber(after[field]) > asNumber(before[field]);
  const old = (status: JsonRecord) => asNumber(status.replicas) - asNumber(status.updatedReplicas);
  return (
    grew('updatedReplicas') || grew('readyReplicas') || grew('availableReplicas') || old(after) < old(before)
  );
}

/** When the rollout is late, in milliseconds since the epoch; undefined when no deadline runs. */
export function deadlineMs(
  deployment: KubernetesObject,
  condition: JsonRecord | undefined,
): number | undefined {
  const seconds = asNumber(at(deployment, 'spec', 'progressDeadlineSeconds'), 600);
  if (!condition || condition.reason === 'NewReplicaSetAvailable' || seconds >= 2 ** 31 - 1) return undefined;
  return Date.parse(asString(condition.lastUpdateTime)) + seconds * 1000;
}

/** Adds the Progressing condition to freshly counted status. */
export function withProgress(
  deployment: KubernetesObject,
  counted: JsonRecord,
  newest: KubernetesObject | undefined,
  nowMs: number,
): JsonRecord {
  const current = findCondition(counted.conditions, 'Progressing');
  const settled =
    current?.reason === 'NewReplicaSetAvailable' &&
    asNumber(counted.replicas) === asNumber(counted.updatedReplicas);
  if (settled) return counted;
  const subject = newest
    ? `ReplicaSet "${newest.metadata.name}"`
    : `Deployment "${deployment.metadata.name}"`;
  const put = (conditions: JsonRecord[]): JsonRecord => ({ ...counted, conditions });
  if (isComplete(deployment, counted)) {
    const done = progressing('True', 'NewReplicaSetAvailable', `${subject} has successfully progressed.`);
    return put(setCondition(counted.conditions, done, nowMs));
  }
  if (hasProgressed(recordOf(deployment.status), counted)) {
    const moving = progressing('True', 'ReplicaSetUpdated', `${subject} is progressing.`);
    return put(replaceCondition(counted.conditions, moving, nowMs));
  }
  const deadline = deadlineMs(deployment, current);
  const late = current?.reason === 'ProgressDeadlineExceeded' || (deadline !== undefined && deadline < nowMs);
  if (!late) return counted;
  const failed = progressing('False', 'ProgressDeadlineExceeded', `${subject} has timed out progressing.`);
  return put(setCondition(counted.conditions, failed, nowMs));
}
