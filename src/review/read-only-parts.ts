/** What the engine's readers take, without a way to write: for commands that look at a cluster as the controller does. */

import { randomBytes } from 'node:crypto';
import { systemClock } from '../api/clock.ts';
import { apiVersionOf } from '../api/kinds/kinds.ts';
import { namespacedName } from '../api/kubernetes.ts';
import { isApiError } from '../cluster/errors.ts';
import { createApplied } from '../engine/applied.ts';
import { createClaims } from '../engine/apply-set.ts';
import type { EngineOptions, ReadParts } from '../engine/canary/context/context.ts';
import { createHeads } from '../engine/canary/context/heads.ts';
import type { NamespaceWatch } from '../engine/canary/context/namespace-view.ts';
import { createRecords } from '../engine/records/records.ts';
import type { SourceParts } from '../engine/sync/context/parts.ts';
import { createPresence } from '../engine/sync/context/presence.ts';
import { routerFor } from '../providers/routing/table.ts';
import { type Builders, createBuildCache } from '../render/build/builder.ts';
import type { HeadView } from '../rollout/world.ts';
import { createClusterPort } from '../server/cluster.ts';
import type { Connection } from '../server/connection.ts';

type Client = Pick<Connection, 'client'>;

const nothing = () => undefined;

function commonParts({ client }: Client) {
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

/** For observing the Canaries of one namespace; Git and live targets are not asked. */
export function readParts(
  connection: Client,
  view: NamespaceWatch,
  options: EngineOptions,
): Omit<ReadParts, 'canaries'> {
  return {
    ...commonParts(connection),
    routing: routerFor,
    checks: { request: nothing, outcomeOf: nothing, forget: nothing },
    ports: new Map(),
    liveHeads: {
      read: async () => ({ view: notAsked }),
      withLiveConfig: async (_, head) => head,
      names: () => false,
      namesLive: () => false,
      forget: nothing,
      forgetLive: nothing,
    },
    adoption: { find: async () => undefined },
    lostRecords: { of: nothing, find: nothing },
    drift: new Map(),
    options,
    namespace: () => view,
  };
}

/** For reading a Source. Who may read one namespace alone gets the Canaries of that one. */
export async function sourceParts(
  connection: Client,
  namespace: string,
  builders: Builders,
): Promise<SourceParts> {
  const list = (where: { namespace?: string }) =>
    connection.client.list(apiVersionOf('Canary'), 'Canary', where);
  const { items } = await list({}).catch((error: unknown) => {
    if (isApiError(error, 'forbidden')) return list({ namespace });
    throw error;
  });
  const parts = commonParts(connection);
  return {
    ...parts,
    openWatch: () => {
      throw new Error('nothing is watched here');
    },
    events: { emit: nothing },
    applied: createApplied(),
    claims: createClaims(),
    sources: () => [],
    presence: createPresence(parts),
    // Nothing is written, so that it makes no difference who would.
    accountRights: { mayWrite: async () => true },
    rights: {
      isTrusted: () => true,
      areFromFiles: true,
      crossNamespaceRefs: true,
      ownNamespace: '',
      protectedNamespaces: [],
    },
    bindings: { ensure: async () => undefined, sweep: async () => undefined },
    builders,
    builds: createBuildCache(),
    clusterName: '',
    // No digest is compared that a Secret is part of.
    secretKey: randomBytes(32),
    canaries: () => items,
    canary: (name) => items.find((item) => namespacedName(item) === namespacedName({ metadata: name })),
    watchesEverywhere: false,
    wakeCanary: nothing,
  };
}
