/** What reading a Source takes of the engine, without a way to write. */
import { randomBytes } from 'node:crypto';
import { apiVersionOf } from '../api/kinds/kinds.ts';
import { keyOf, namespacedName } from '../api/kubernetes.ts';
import { onApiError } from '../cluster/errors.ts';
import { createApplied } from '../engine/applied.ts';
import { createClaims } from '../engine/apply-set.ts';
import type { SourceParts } from '../engine/sync/context/context.ts';
import { createPresence } from '../engine/sync/context/presence.ts';
import { createRoom } from '../engine/sync/context/room.ts';
import { type Builders, createBuildCache } from '../render/build/builder.ts';
import type { Connection } from '../server/connection.ts';
import { commonParts } from './read-only-parts.ts';

const nothing = () => undefined;

/** For reading a Source. Who may read one namespace alone gets the Canaries of that one. */
export async function sourceParts(
  connection: Pick<Connection, 'client'>,
  namespace: string,
  builders: Builders,
): Promise<SourceParts> {
  const list = (where: { namespace?: string }) =>
    connection.client.list(apiVersionOf('Canary'), 'Canary', where);
  const { items } = await list({}).catch(onApiError(['forbidden'], () => list({ namespace })));
  const parts = commonParts(connection);
  return {
    ...parts,
    openWatch: () => {
      throw new Error('nothing is watched here');
    },
    events: { emit: nothing },
    applied: createApplied('holdfast'),
    claims: createClaims(),
    room: createRoom(Number.POSITIVE_INFINITY),
    sources: () => [],
    source: () => undefined,
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
    canary: (name) => items.find((item) => namespacedName(item) === keyOf(name)),
    watchesEverywhere: false,
    watchNamespaces: [],
    wakeCanary: nothing,
    rereadFor: nothing,
  };
}
