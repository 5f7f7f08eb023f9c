/** What the engine's readers take, without a way to write: for commands that look at a cluster as the controller does. */

import { systemClock } from '../api/clock.ts';
import { type KubernetesObject, namespacedName } from '../api/kubernetes.ts';
import { createStore } from '../cluster/caches/store.ts';
import { createHeads } from '../engine/canary/context/heads.ts';
import type { NamespaceWatch } from '../engine/canary/context/namespace-view.ts';
import type { EngineOptions, ReadParts } from '../engine/canary/context/observation.ts';
import { createRecords } from '../engine/records/records.ts';
import { routerFor } from '../providers/routing/table.ts';
import type { HeadView } from '../rollout/world.ts';
import { createClusterPort } from '../server/cluster.ts';
import type { Connection } from '../server/connection.ts';

type Client = Pick<Connection, 'client'>;

const nothing = () => undefined;

/** What reading Canaries and reading Sources have in common. */
export function commonParts({ client }: Client) {
  const cluster = createClusterPort(client);
  return {
    clock: systemClock,
    log: { debug: nothing, info: nothing, warn: nothing, error: nothing },
    cluster,
    heads: createHeads(),
    records: createRecords(cluster, undefined),
  };
}

/** Head of a Canary where Git is not asked. */
export const notAsked: HeadView = {
  kind: 'unknown',
  reason: 'Unknown',
  message: 'this command does not read Git',
};

/** Canaries that were listed once. */
export function listedCanaries(canaries: readonly KubernetesObject[]): ReadParts['canaries'] {
  const store = createStore();
  for (const canary of canaries) store.upsert(canary);
  const get = (key: string) => canaries.find((canary) => namespacedName(canary) === key);
  return { get, list: () => canaries, byKey: store.byKey, remember: nothing };
}

/** For observing the Canaries of one namespace; Git and live targets are not asked. */
export function readParts(
  connection: Client,
  view: NamespaceWatch,
  options: EngineOptions,
): Omit<ReadParts, 'canaries'> {
  return {
    ...commonParts(connection),
    routing: routerFor,
    checks: { request: nothing, outcomeOf: nothing, forget: nothing, stop: nothing },
    ports: new Map(),
    liveHeads: {
      read: async () => ({ view: notAsked }),
      withLiveConfig: async (_, head) => head,
      names: () => false,
      forget: nothing,
    },
    adoption: { find: async () => undefined },
    lostRecords: { of: nothing, find: nothing, forget: nothing },
    drift: new Map(),
    options,
    namespace: () => view,
  };
}
