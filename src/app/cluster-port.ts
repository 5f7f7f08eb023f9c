import type { ClusterClient } from '../cluster/client.ts';
import { isApiError } from '../cluster/errors.ts';
import type { Cluster, DryRun } from '../engine/ports/ports.ts';
import { createWriteGate, type WriteGate } from './write-gate.ts';

/** Field manager of writes that are not server-side apply of what Git says. */
const manager = 'holdfast-rollout';

/** Dry-runs as the rollout's own writes would be made. */
export function createDryRun(client: Pick<ClusterClient, 'apply' | 'create'>): DryRun {
  return {
    async apply(object) {
      await client.apply(object, { manager, force: true, dryRun: true });
    },
    create: (object) => client.create(object, { manager, dryRun: true }),
  };
}

/** The part of the port that applies, every write a dry run. */
export function createDryCluster(client: Pick<ClusterClient, 'apply'>): Pick<Cluster, 'apply'> {
  return {
    apply: (object, { manager: who, force, over }) =>
      client.apply(object, { manager: who, force, ...over, dryRun: true }),
  };
}

/** The engine's view of the API server; without a gate it may only be read. */
export function createClusterPort(
  client: ClusterClient,
  gate?: Pick<WriteGate, 'send' | 'mayWrite'>,
  impersonate?: string,
): Cluster {
  const { send, mayWrite } = gate ?? createWriteGate(() => false);
  const asUser = { ...(impersonate === undefined ? {} : { impersonate }), maySend: mayWrite };

  async function kindOf(apiVersion: string, kind: string): Promise<{ namespaced: boolean } | undefined> {
    try {
      const { namespaced } = await client.resolve(apiVersion, kind);
      return { namespaced };
    } catch (error) {
      if (isApiError(error, 'unknownKind')) return undefined;
      throw error;
    }
  }

  return {
    get: (reference) => client.get(reference),
    async list({ apiVersion, kind, ...selection }) {
      if (!(await kindOf(apiVersion, kind))) return [];
      const { items } = await client.list(apiVersion, kind, { ...selection, metadataOnly: true });
      return items;
    },
    async apply(object, { manager, force, over }) {
      return send(() => client.apply(object, { manager, force, ...over, ...asUser }));
    },
    async create(object) {
      return send(() => client.create(object, { manager, ...asUser }));
    },
    async patch(reference, patch, subresource) {
      // A status that the installed CRD does not know in full is found by comparing, with a clearer message.
      const part = subresource ? { subresource, fieldValidation: 'Ignore' as const } : {};
      return send(() => client.patch(reference, patch, { type: 'merge', manager, ...asUser, ...part }));
    },
    async delete(reference, preconditions) {
      await send(() => client.delete(reference, { ...preconditions, ...asUser }));
    },
    as: (user) => createClusterPort(client, gate, user),
    kindOf,
    servedKind: (group, kind) => client.find(group, kind),
  };
}
