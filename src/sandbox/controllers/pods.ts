import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { Behaviour } from '../behaviour.ts';
import type { Controller, ControllerLoop } from '../controller-loop.ts';
import { asString, at } from '../json.ts';
import { type ControllerClient, keyOf, splitKey } from './controller-client.ts';
import { podStatusAt } from './pod-status.ts';

/** The nodes of a sandbox; pods that nobody placed go to the first. */
export const sandboxNodes = ['sandbox-node-a', 'sandbox-node-b', 'sandbox-node-c'] as const;

/** What the pod controller works with. */
export interface PodParts {
  readonly client: ControllerClient;
  readonly loop: ControllerLoop;
  readonly behaviour: Behaviour;
  /** How long a deleted pod takes to stop. */
  readonly terminationMs: number;
}

/** Age of a pod in milliseconds; object metadata knows only seconds. */
export type PodAges = (pod: KubernetesObject) => number;

/** Scheduler and kubelet in one: binds pods, writes their status as the behaviour says, and ends deleted ones. */
export function podController(parts: PodParts): { controller: Controller; ageOf: PodAges } {
  const { client, loop } = parts;
  const bornMs = new Map<string, number>();
  const stoppingSinceMs = new Map<string, number>();
  const addresses = new Map<string, string>();

  function addressOf(pod: KubernetesObject): string {
    const uid = pod.metadata.uid ?? '';
    const known = addresses.get(uid) ?? `10.244.${(addresses.size >> 8) & 255}.${addresses.size & 255}`;
    addresses.set(uid, known);
    return known;
  }

  function since(times: Map<string, number>, pod: KubernetesObject): number {
    const uid = pod.metadata.uid ?? '';
    const start = times.get(uid) ?? client.nowMs();
    times.set(uid, start);
    return client.nowMs() - start;
  }

  function stop(pod: KubernetesObject, key: string): void {
    const left = parts.terminationMs - since(stoppingSinceMs, pod);
    if (left > 0) return loop.later(left, 'pods', key);
    bornMs.delete(pod.metadata.uid ?? '');
    stoppingSinceMs.delete(pod.metadata.uid ?? '');
    client.remove(pod, { gracePeriodSeconds: 0 });
  }

  function run(pod: KubernetesObject, key: string): void {
    const outcome = parts.behaviour.outcomeOf(pod);
    const bound = asString(at(pod, 'spec', 'nodeName')) !== '' || outcome.failure === 'Unschedulable';
    const spec = { ...(pod.spec as object), nodeName: sandboxNodes[0] };
    const placed = bound ? pod : client.update({ ...pod, spec });
    const snapshot = podStatusAt(placed, outcome, since(bornMs, pod), client.nowMs(), addressOf(pod));
    client.updateStatus(placed, snapshot.status);
    if (snapshot.nextChangeMs !== undefined) loop.later(snapshot.nextChangeMs, 'pods', key);
  }

  return {
    ageOf: (pod) => client.nowMs() - (bornMs.get(pod.metadata.uid ?? '') ?? client.nowMs()),
    controller: {
      name: 'pods',
      keysFor: (event) =>
        event.storageKey === '/pods' && event.type !== 'DELETED' ? [keyOf(event.object)] : [],
      reconcile(key) {
        const pod = client.get('/pods', ...splitKey(key));
        if (!pod) return;
        if (pod.metadata.deletionTimestamp) stop(pod, key);
        else run(pod, key);
      },
    },
  };
}

/** True when a pod serves: its Ready condition holds and it is not being deleted. */
export function isServing(pod: KubernetesObject): boolean {
  const conditions = at(pod, 'status', 'conditions');
  const ready =
    Array.isArray(conditions) && conditions.some((each) => each.type === 'Ready' && each.status === 'True');
  return ready && !pod.metadata.deletionTimestamp;
}
