import type { KubernetesObject } from '../api/kubernetes.ts';
import type { Election } from '../cluster/lease.ts';
import type { Cluster, Log } from '../engine/ports/ports.ts';

/** Takes no part in the election of a leader: there is nothing that only one may do. */
export function shadowElection(): Election {
  const never = new AbortController().signal;
  return { elected: async () => never, leading: () => false, holder: () => '', stop: async () => undefined };
}

/**
 * A cluster that is only read: a write answers as if it had been made, and nothing is sent. The last line of defence of `--shadow`, under
 * everything else.
 */
export function createShadowPort(cluster: Cluster, log: Log): Cluster {
  const seen = (verb: string, object: { kind: string; name?: string }) =>
    log.debug({ verb, kind: object.kind, name: object.name }, 'in the shadow: not written');
  const shadow: Cluster = {
    as: () => shadow,
    get: cluster.get,
    list: cluster.list,
    kindOf: cluster.kindOf,
    servedKind: cluster.servedKind,
    async apply(object) {
      seen('apply', { kind: object.kind, name: object.metadata.name });
      return object;
    },
    async create(object) {
      seen('create', { kind: object.kind, name: object.metadata.name });
      return object;
    },
    async patch(reference, patch) {
      seen('patch', reference);
      const live = await cluster.get(reference);
      return { ...reference, ...live, ...patch, metadata: live?.metadata ?? reference } as KubernetesObject;
    },
    async delete(reference) {
      seen('delete', reference);
    },
  };
  return shadow;
}
