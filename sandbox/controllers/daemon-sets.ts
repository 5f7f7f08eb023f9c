import { type KubernetesObject, namespacedName, recordOf } from '../../src/api/kubernetes.ts';
import { asNumber, asString, asStrings, at } from '../api-server/json.ts';
import {
  type Controller,
  type ControllerClient,
  type ControllerLoop,
  controllersOf,
  isControlledBy,
  splitKey,
} from './controller.ts';
import { ensureRevision, HASH_LABEL, hashOfRevision } from './controller-revisions.ts';
import { availableInMs, isServing, newPod } from './pods.ts';

const DAEMON_SETS = 'apps/daemonsets';

/** A node that should have a pod, and the pods it has, oldest first. */
interface Place {
  readonly node: string;
  readonly pods: readonly KubernetesObject[];
}

/** Maintains one pod on each selected node, and replaces pods of older templates by updateStrategy. */
export function daemonSetController(client: ControllerClient, loop: ControllerLoop): Controller {
  return {
    name: 'daemonsets',
    keysFor(event) {
      if (event.storageKey === DAEMON_SETS) return [namespacedName(event.object)];
      if (event.storageKey === '/nodes') return client.list(DAEMON_SETS).map(namespacedName);
      return controllersOf(event, '/pods', 'DaemonSet');
    },
    reconcile(key) {
      const daemonSet = client.get(DAEMON_SETS, ...splitKey(key));
      if (!daemonSet) return;
      const hash = hashOfRevision(ensureRevision(client, daemonSet));
      if (!daemonSet.metadata.deletionTimestamp) {
        fillNodes(client, daemonSet, hash);
        if (at(daemonSet, 'spec', 'updateStrategy', 'type') !== 'OnDelete')
          replaceOld(client, daemonSet, hash);
      }
      const left = writeStatus(client, daemonSet, hash);
      if (left !== undefined) loop.later(left, 'daemonsets', key);
    },
  };
}

function podsOf(client: ControllerClient, daemonSet: KubernetesObject): KubernetesObject[] {
  return client
    .list('/pods', daemonSet.metadata.namespace)
    .filter((pod) => isControlledBy(pod, daemonSet))
    .sort((left, right) =>
      asString(left.metadata.creationTimestamp).localeCompare(asString(right.metadata.creationTimestamp)),
    );
}

/** The nodes that its selector finds, each with its pods. */
function placesOf(client: ControllerClient, daemonSet: KubernetesObject): Place[] {
  const selector = Object.entries(asStrings(at(daemonSet, 'spec', 'template', 'spec', 'nodeSelector')));
  const pods = podsOf(client, daemonSet);
  return client
    .list('/nodes')
    .filter(({ metadata }) => selector.every(([key, value]) => metadata.labels?.[key] === value))
    .map(({ metadata }) => ({
      node: metadata.name,
      pods: pods.filter((pod) => nodeOf(pod) === metadata.name),
    }));
}

function nodeOf(pod: KubernetesObject): string {
  return asString(at(pod, 'spec', 'nodeName'));
}

function isStopping(pod: KubernetesObject): boolean {
  return pod.metadata.deletionTimestamp !== undefined;
}

function fillNodes(client: ControllerClient, daemonSet: KubernetesObject, hash: string): void {
  const places = placesOf(client, daemonSet);
  const wanted = new Set(places.map(({ node }) => node));
  for (const pod of podsOf(client, daemonSet)) {
    if (!wanted.has(nodeOf(pod)) && !isStopping(pod)) client.remove(pod);
  }
  for (const { node, pods } of places)
    if (pods.length === 0)
      client.create(newPod(daemonSet, { labels: { [HASH_LABEL]: hash }, spec: { nodeName: node } }));
}

/** What a replacement is decided from. */
interface Replacement {
  readonly daemonSet: KubernetesObject;
  readonly hash: string;
  readonly places: readonly Place[];
  isAvailable(pod: KubernetesObject): boolean;
}

function replaceOld(client: ControllerClient, daemonSet: KubernetesObject, hash: string): void {
  const places = placesOf(client, daemonSet);
  const rolling = recordOf(at(daemonSet, 'spec', 'updateStrategy', 'rollingUpdate'));
  const maxSurge = Math.ceil(shareOf(rolling.maxSurge ?? 0, places.length));
  const maxUnavailable = Math.max(1, Math.ceil(shareOf(rolling.maxUnavailable ?? 1, places.length)));
  const isAvailable = (pod: KubernetesObject) => availableInMs(client, daemonSet, pod) === 0;
  const replacement = { daemonSet, hash, places, isAvailable };
  if (maxSurge > 0) replaceWithSurge(client, replacement, maxSurge);
  else replaceInPlace(client, replacement, maxUnavailable);
}

/** Removes the old pod of a node when the new one on it is available. */
function replaceWithSurge(client: ControllerClient, replacement: Replacement, maxSurge: number): void {
  const { daemonSet, hash, places, isAvailable } = replacement;
  let room = maxSurge - places.filter(({ pods }) => pods.length > 1).length;
  for (const { node, pods } of places) {
    const fresh = pods.filter((pod) => hashOf(pod) === hash);
    if (fresh.length === pods.length) continue;
    if (fresh.some(isAvailable))
      remove(
        client,
        pods.filter((pod) => hashOf(pod) !== hash),
      );
    else if (fresh.length === 0 && room > 0) {
      room -= 1;
      client.create(newPod(daemonSet, { labels: { [HASH_LABEL]: hash }, spec: { nodeName: node } }));
    }
  }
}

/** Removes unavailable old pods immediately, others while at most maxUnavailable nodes lack an available pod. */
function replaceInPlace(client: ControllerClient, replacement: Replacement, maxUnavailable: number): void {
  const { hash, places, isAvailable } = replacement;
  const outdated = places.flatMap(({ pods }) =>
    pods.filter((pod) => hashOf(pod) !== hash && !isStopping(pod)).slice(0, 1),
  );
  const unavailable = places.filter(({ pods }) => !pods.some(isAvailable)).length;
  const room = Math.max(0, maxUnavailable - unavailable);
  const serving = outdated.filter(isAvailable).slice(0, room);
  remove(client, [...outdated.filter((pod) => !isAvailable(pod)), ...serving]);
}

function remove(client: ControllerClient, pods: readonly KubernetesObject[]): void {
  for (const pod of pods) if (!isStopping(pod)) client.remove(pod);
}

function hashOf({ metadata }: KubernetesObject): string | undefined {
  return metadata.labels?.[HASH_LABEL];
}

function shareOf(value: unknown, nodes: number): number {
  const percent = /^(\d+)%$/.exec(String(value))?.[1];
  return percent === undefined ? asNumber(value) : (Number(percent) * nodes) / 100;
}

/** Returns after how many milliseconds a ready pod will count as available, if one is waiting for that. */
function writeStatus(
  client: ControllerClient,
  daemonSet: KubernetesObject,
  hash: string,
): number | undefined {
  const live = client.get(DAEMON_SETS, daemonSet.metadata.namespace, daemonSet.metadata.name);
  if (!live) return undefined;
  const places = placesOf(client, live);
  // One pod counts for its node: the oldest, as in the real controller.
  const counted = places.map(({ pods }) => pods[0]).filter((pod) => pod !== undefined);
  const waits = counted.map((pod) => availableInMs(client, live, pod)).filter((wait) => wait !== undefined);
  const available = waits.filter((wait) => wait === 0).length;
  const nodes = new Set(places.map(({ node }) => node));
  const misplaced = podsOf(client, live).filter((pod) => !nodes.has(nodeOf(pod)));
  const updated = counted.filter((pod) => hashOf(pod) === hash).length;
  client.updateStatus(live, {
    currentNumberScheduled: counted.length,
    numberMisscheduled: new Set(misplaced.map(nodeOf)).size,
    desiredNumberScheduled: places.length,
    numberReady: counted.filter(isServing).length,
    observedGeneration: live.metadata.generation,
    ...(updated > 0 ? { updatedNumberScheduled: updated } : {}),
    ...(available > 0 ? { numberAvailable: available } : {}),
    ...(places.length > available ? { numberUnavailable: places.length - available } : {}),
  });
  const pending = waits.filter((wait) => wait > 0);
  return pending.length > 0 ? Math.min(...pending) : undefined;
}
