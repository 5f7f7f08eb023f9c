import { type KubernetesObject, namespacedName } from '../../src/api/kubernetes.ts';
import { asNumber, asString, at } from '../api-server/json.ts';
import {
  type Controller,
  type ControllerClient,
  type ControllerLoop,
  controllersOf,
  isControlledBy,
  splitKey,
} from './controller.ts';
import { ensureRevision, HASH_LABEL, revisedTemplate } from './controller-revisions.ts';
import { availableInMs, newPod } from './pods.ts';

const STATEFUL_SETS = 'apps/statefulsets';

/** The state in one reconcile. `pods` are those of the StatefulSet, by ordinal. */
interface Look {
  readonly client: ControllerClient;
  readonly set: KubernetesObject;
  /** The template as it is, and the one of pods below the partition. */
  readonly update: KubernetesObject;
  readonly current: KubernetesObject;
  readonly first: number;
  readonly count: number;
  /** OrderedReady: one unavailable pod stops all other changes. */
  readonly inOrder: boolean;
  readonly pods: ReadonlyMap<number, KubernetesObject>;
}

/** Maintains the pods of each StatefulSet by their ordinals, and replaces them by its updateStrategy; without volumes. */
export function statefulSetController(client: ControllerClient, loop: ControllerLoop): Controller {
  return {
    name: 'statefulsets',
    keysFor(event) {
      if (event.storageKey === STATEFUL_SETS) return [namespacedName(event.object)];
      return controllersOf(event, '/pods', 'StatefulSet');
    },
    reconcile(key) {
      const set = client.get(STATEFUL_SETS, ...splitKey(key));
      if (!set) return;
      const look = lookAt(client, set);
      if (!set.metadata.deletionTimestamp && fill(look) && condemn(look)) replaceOne(look);
      const left = writeStatus(lookAt(client, set));
      if (left !== undefined) loop.later(left, 'statefulsets', key);
    },
  };
}

function lookAt(client: ControllerClient, set: KubernetesObject): Look {
  const update = ensureRevision(client, set);
  const { namespace } = set.metadata;
  const named = asString(at(set, 'status', 'currentRevision'));
  const current = client.get('apps/controllerrevisions', namespace, named) ?? update;
  const own = client.list('/pods', namespace).filter((pod) => isControlledBy(pod, set));
  const byOrdinal = own.map((pod) => [ordinalOf(pod), pod] as const).sort(([left], [right]) => left - right);
  return {
    client,
    set,
    update,
    current,
    first: asNumber(at(set, 'spec', 'ordinals', 'start')),
    count: asNumber(at(set, 'spec', 'replicas'), 1),
    inOrder: at(set, 'spec', 'podManagementPolicy') !== 'Parallel',
    pods: new Map(byOrdinal),
  };
}

function ordinalOf({ metadata }: KubernetesObject): number {
  return Number(metadata.name.slice(metadata.name.lastIndexOf('-') + 1));
}

/** The ordinals it should have, lowest first. */
function wantedOrdinals({ first, count }: Look): number[] {
  return Array.from({ length: count }, (_, index) => first + index);
}

/** Creates missing pods; false while the order does not allow to continue. */
function fill(look: Look): boolean {
  const { client, inOrder, pods } = look;
  for (const ordinal of wantedOrdinals(look)) {
    const pod = pods.get(ordinal);
    if (!pod) client.create(podOf(look, ordinal));
    if (inOrder && (!pod || isStopping(pod) || !isAvailable(look, pod))) return false;
  }
  return true;
}

function podOf({ set, update, current, first }: Look, ordinal: number): KubernetesObject {
  const revision = ordinal < first + partitionOf(set) ? current : update;
  const name = `${set.metadata.name}-${ordinal}`;
  return newPod(set, {
    name,
    template: revisedTemplate(revision),
    labels: {
      [HASH_LABEL]: revision.metadata.name,
      'statefulset.kubernetes.io/pod-name': name,
      'apps.kubernetes.io/pod-index': String(ordinal),
    },
    spec: { hostname: name, subdomain: asString(at(set, 'spec', 'serviceName')) },
  });
}

function partitionOf(set: KubernetesObject): number {
  return asNumber(at(set, 'spec', 'updateStrategy', 'rollingUpdate', 'partition'));
}

/** Removes surplus pods, highest ordinal first; false while one is terminating in order. */
function condemn(look: Look): boolean {
  const { client, inOrder, pods } = look;
  const wanted = new Set(wantedOrdinals(look));
  const beyond = [...pods].filter(([ordinal]) => !wanted.has(ordinal)).reverse();
  for (const [, pod] of inOrder ? beyond.slice(0, 1) : beyond) if (!isStopping(pod)) client.remove(pod);
  return !inOrder || beyond.length === 0;
}

/** The highest pod of another revision goes, if those above it are available: one at a time, whatever the policy. */
function replaceOne(look: Look): void {
  const { client, set, update, pods, first } = look;
  if (at(set, 'spec', 'updateStrategy', 'type') === 'OnDelete') return;
  const least = first + partitionOf(set);
  for (const ordinal of wantedOrdinals(look).reverse()) {
    const pod = pods.get(ordinal);
    if (ordinal < least || !pod) return;
    if (!isStopping(pod) && revisionOf(pod) !== update.metadata.name) return client.remove(pod);
    if (isStopping(pod) || !isAvailable(look, pod)) return;
  }
}

function revisionOf({ metadata }: KubernetesObject): string | undefined {
  return metadata.labels?.[HASH_LABEL];
}

function isStopping({ metadata }: KubernetesObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}

function isAvailable({ client, set }: Look, pod: KubernetesObject): boolean {
  return availableInMs(client, set, pod) === 0;
}

/** Returns after how many milliseconds a ready pod will count as available, if one is waiting for that. */
function writeStatus({ client, set, update, current, count, pods }: Look): number | undefined {
  const live = client.get(STATEFUL_SETS, set.metadata.namespace, set.metadata.name);
  if (!live) return undefined;
  const all = [...pods.values()];
  const waits = all.map((pod) => availableInMs(client, live, pod)).filter((wait) => wait !== undefined);
  const of = (revision: KubernetesObject) =>
    all.filter((pod) => !isStopping(pod) && revisionOf(pod) === revision.metadata.name).length;
  const isComplete = [of(update), waits.length, all.length].every((number) => number === count);
  const inUse = isComplete ? update : current;
  const counts = { readyReplicas: waits.length, currentReplicas: of(inUse), updatedReplicas: of(update) };
  client.updateStatus(live, {
    observedGeneration: live.metadata.generation,
    replicas: all.length,
    ...Object.fromEntries(Object.entries(counts).filter(([, number]) => number > 0)),
    currentRevision: inUse.metadata.name,
    updateRevision: update.metadata.name,
    collisionCount: 0,
    availableReplicas: waits.filter((wait) => wait === 0).length,
  });
  const pending = waits.filter((wait) => wait > 0);
  return pending.length > 0 ? Math.min(...pending) : undefined;
}
