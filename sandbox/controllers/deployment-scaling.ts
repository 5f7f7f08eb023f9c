import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { asNumber, asString, at } from '../api-server/json.ts';

/** Replicas a Deployment or ReplicaSet asks for. */
export function wantedReplicas(object: KubernetesObject): number {
  return asNumber(at(object, 'spec', 'replicas'), 1);
}

/** Replicas of a ReplicaSet that are available. */
export function availableReplicas(replicaSet: KubernetesObject): number {
  return asNumber(at(replicaSet, 'status', 'availableReplicas'));
}

/** Sum over ReplicaSets. */
export function total(
  replicaSets: readonly KubernetesObject[],
  count: (each: KubernetesObject) => number,
): number {
  return replicaSets.reduce((sum, each) => sum + count(each), 0);
}

/** True for strategy Recreate. */
export function isRecreate(deployment: KubernetesObject): boolean {
  return at(deployment, 'spec', 'strategy', 'type') === 'Recreate';
}

/** Surge (rounded up) and unavailability (rounded down) in pods; if both come to 0, one pod may be unavailable. */
export function rollingBounds(deployment: KubernetesObject): { maxSurge: number; maxUnavailable: number } {
  const replicas = wantedReplicas(deployment);
  if (isRecreate(deployment) || replicas === 0) return { maxSurge: 0, maxUnavailable: 0 };
  const settings = at(deployment, 'spec', 'strategy', 'rollingUpdate');
  const maxSurge = share(at(settings, 'maxSurge'), replicas, Math.ceil);
  const maxUnavailable = share(at(settings, 'maxUnavailable'), replicas, Math.floor);
  if (maxSurge === 0 && maxUnavailable === 0) return { maxSurge, maxUnavailable: 1 };
  return { maxSurge, maxUnavailable: Math.min(maxUnavailable, replicas) };
}

function share(value: unknown, replicas: number, round: (value: number) => number): number {
  if (typeof value === 'number') return value;
  return round((Number.parseFloat(asString(value, '25%')) * replicas) / 100);
}

/** How many replicas the newest ReplicaSet may have now, next to the old ones. */
export function newReplicaCount(
  deployment: KubernetesObject,
  all: readonly KubernetesObject[],
  newest: KubernetesObject,
): number {
  const replicas = wantedReplicas(deployment);
  const current = wantedReplicas(newest);
  if (isRecreate(deployment)) return replicas;
  if (current > replicas) return replicas;
  const room = replicas + rollingBounds(deployment).maxSurge - total(all, wantedReplicas);
  return room <= 0 ? current : current + Math.min(room, replicas - current);
}

/** Old ReplicaSets with the replicas each is to have next: unhealthy pods go first, then as many as availability allows. */
export function oldReplicaCounts(
  deployment: KubernetesObject,
  old: readonly KubernetesObject[],
  newest: KubernetesObject,
): Map<KubernetesObject, number> {
  const minAvailable = wantedReplicas(deployment) - rollingBounds(deployment).maxUnavailable;
  const newUnavailable = wantedReplicas(newest) - availableReplicas(newest);
  const all = [...old, newest];
  const maxDown = total(all, wantedReplicas) - minAvailable - newUnavailable;
  const counts = new Map(old.map((each) => [each, wantedReplicas(each)]));
  if (maxDown <= 0) return counts;
  takeAway(counts, old, maxDown, (each, count) => Math.max(0, count - availableReplicas(each)));
  const spare = total(all, availableReplicas) - minAvailable;
  takeAway(counts, old, spare, (_each, count) => count);
  return counts;
}

function takeAway(
  counts: Map<KubernetesObject, number>,
  old: readonly KubernetesObject[],
  budget: number,
  most: (each: KubernetesObject, count: number) => number,
): void {
  let left = budget;
  for (const each of old) {
    const count = counts.get(each) ?? 0;
    const down = Math.max(0, Math.min(left, most(each, count)));
    counts.set(each, count - down);
    left -= down;
  }
}

/** Replicas of each ReplicaSet after the Deployment itself was scaled in the middle of a rollout. */
export function proportionalCounts(
  deployment: KubernetesObject,
  all: readonly KubernetesObject[],
): Map<KubernetesObject, number> {
  const replicas = wantedReplicas(deployment);
  const allowed = replicas === 0 ? 0 : replicas + rollingBounds(deployment).maxSurge;
  const bySize = [...all].sort((left, right) => wantedReplicas(right) - wantedReplicas(left));
  let toAdd = allowed - total(all, wantedReplicas);
  const counts = new Map<KubernetesObject, number>();
  for (const each of bySize) {
    const current = wantedReplicas(each);
    const before =
      Number(each.metadata.annotations?.['deployment.kubernetes.io/max-replicas'] ?? allowed) || allowed;
    const fair = Math.round((current * allowed) / before) - current;
    const change = toAdd >= 0 ? Math.max(0, Math.min(fair, toAdd)) : Math.min(0, Math.max(fair, toAdd));
    counts.set(each, Math.max(0, current + change));
    toAdd -= change;
  }
  const [largest] = bySize;
  if (largest && toAdd !== 0) counts.set(largest, Math.max(0, (counts.get(largest) ?? 0) + toAdd));
  return counts;
}
