/** The RoleBindings that let `sourceAccount` do in a namespace what the role `edit` covers there, as long as a Source needs it. */

import type { CanaryStatus } from '../../../api/canary/status.ts';
import { type Clock, sleep } from '../../../api/clock.ts';
import { type KubernetesObject, sourceAccount, versionOf } from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source/source.ts';
import type { Cluster, Log, WatchedSet } from '../../../contracts/cluster.ts';
import { failureOf } from '../../failure.ts';
import { accountUser, type SourceRights, writerOf } from './permissions.ts';

/** Keeps them. */
export interface SourceBindings {
  /** Makes the one that a Source needs unless there is one, whoever made it. Throws what the API server refuses. */
  ensure(source: Source): Promise<void>;
  /** Deletes ours that neither a Source nor a release under way needs any more. Never throws. */
  sweep(): Promise<void>;
}

interface BindingParts {
  readonly cluster: Pick<Cluster, 'get' | 'create' | 'delete'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly rights: SourceRights;
  /** Sources of the cluster. */
  readonly sources: Pick<WatchedSet, 'list' | 'synced'>;
  /** RoleBindings of this name in all namespaces; undefined: whoever installed Holdfast keeps them. */
  readonly bindings: WatchedSet | undefined;
  /** Canaries of the cluster: the release of one may be under way although its Source is gone. */
  readonly canaries: Pick<WatchedSet, 'list' | 'synced'>;
}

const kind = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding' } as const;
const managedBy = 'app.kubernetes.io/managed-by';
/** API servers know a new RoleBinding a moment after it was stored. */
const settleMs = 500;

/** Nothing is written before it is asked for. */
export function createSourceBindings(parts: BindingParts): SourceBindings {
  const { cluster, clock, log, rights, sources, bindings, canaries } = parts;
  const making = new Map<string, Promise<void>>();
  const needsOne = (source: Source) =>
    writerOf(source, rights).kind === 'default' &&
    !rights.protectedNamespaces.includes(source.metadata.namespace ?? '');

  async function make(namespace: string): Promise<void> {
    const isThere = bindings?.synced()
      ? bindings.get(namespace, sourceAccount)
      : await cluster.get({ ...kind, namespace, name: sourceAccount });
    if (isThere) return;
    try {
      await cluster.create({
        ...kind,
        metadata: { name: sourceAccount, namespace, labels: { [managedBy]: 'holdfast' } },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'edit' },
        subjects: [{ kind: 'ServiceAccount', name: sourceAccount, namespace }],
      });
    } catch (error) {
      if (failureOf(error).reason !== 'AlreadyExists') throw error;
    }
    await sleep(clock, settleMs);
  }

  return {
    async ensure(source) {
      if (!bindings || !needsOne(source)) return;
      const namespace = source.metadata.namespace ?? '';
      const made = making.get(namespace) ?? make(namespace).finally(() => making.delete(namespace));
      making.set(namespace, made);
      await made;
    },
    async sweep() {
      if (!bindings?.synced() || !sources.synced() || !canaries.synced()) return;
      const ours = bindings.list().filter(({ metadata }) => metadata.labels?.[managedBy] === 'holdfast');
      if (ours.length === 0) return;
      const needed = new Set([
        ...sources
          .list()
          .filter((source) => !source.metadata.deletionTimestamp && needsOne(source as Source))
          .map(({ metadata }) => metadata.namespace),
        ...canaries
          .list()
          .filter(isWrittenByDefault)
          .map(({ metadata }) => metadata.namespace),
      ]);
      for (const binding of ours) {
        const { namespace = '', name } = binding.metadata;
        if (needed.has(namespace)) continue;
        try {
          await cluster.delete({ ...kind, namespace, name }, versionOf(binding));
        } catch (error) {
          const { reason } = failureOf(error);
          log.warn({ namespace, name, reason }, 'a RoleBinding that no Source needs could not be deleted');
        }
      }
    },
  };
}

/** A release of a Source without an account is under way. */
function isWrittenByDefault({ metadata, status }: KubernetesObject): boolean {
  const { run } = (status ?? {}) as CanaryStatus;
  return run?.account === accountUser(metadata.namespace ?? '', sourceAccount);
}
