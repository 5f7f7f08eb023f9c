import { type KubernetesObject, namespacedName, recordOf } from '../../src/api/kubernetes.ts';
import { asNumber, asString, asStrings, at } from '../api-server/json.ts';
import { randomSuffix } from '../api-server/safe-names.ts';
import {
  type Controller,
  type ControllerClient,
  type ControllerLoop,
  findCondition,
  splitKey,
} from './controller.ts';
import type { Behaviour } from './pod-behaviour.ts';
import { podStatusAt } from './pod-status.ts';

/** The nodes of a sandbox; pods without a node are scheduled to the first. */
export const sandboxNodes = ['sandbox-node-a', 'sandbox-node-b', 'sandbox-node-c'] as const;

/** What the pod controller works with. */
interface PodParts {
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
        event.storageKey === '/pods' && event.type !== 'DELETED' ? [namespacedName(event.object)] : [],
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

/** What a pod of an owner has beyond its template. */
interface PodExtras {
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
  const template = recordOf(given ?? at(owner, 'spec', 'template'));
  const { creationTimestamp: _none, ...metadata } = recordOf(template.metadata);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...metadata,
      name: podName ?? `${name}-${randomSuffix()}`,
      ...(namespace ? { namespace } : {}),
      labels: { ...asStrings(metadata.labels), ...labels },
      ownerReferences: [{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }],
    },
    spec: { ...recordOf(template.spec), ...spec },
  };
}

/** Milliseconds until the pod counts as available; 0 when it does, undefined while it is not ready. */
export function availableInMs(
  client: ControllerClient,
  workload: KubernetesObject,
  pod: KubernetesObject,
): number | undefined {
  if (!isServing(pod)) return undefined;
  const minReadyMs = asNumber(at(workload, 'spec', 'minReadySeconds')) * 1000;
  const since = Date.parse(
    asString(findCondition(at(pod, 'status', 'conditions'), 'Ready')?.lastTransitionTime),
  );
  return minReadyMs === 0 ? 0 : Math.max(0, since + minReadyMs - client.nowMs());
}
