import { freezeLabel, readFreeze } from '../../../api/freeze.ts';
import { describe, type KubernetesObject } from '../../../api/kubernetes.ts';
import type { OpenWatch } from '../../../contracts/cluster.ts';
import type { FreezeView } from '../../../rollout/world.ts';

/** Says which Canaries are frozen (ADR 44). */
export interface FreezeWatch {
  /** The freeze of a Canary that ends last; undefined when none is in force, `unknown` before they were listed. */
  of(canary: KubernetesObject, nowMs: number): FreezeView | 'unknown' | undefined;
  onChange(listener: () => void): void;
  close(): void;
}

/**
 * Watches the freezes of these namespaces, of all when there are none, and of Holdfast's own namespace. What may not be watched counts as
 * absent: it is up to the administrator to grant the rights.
 */
export function watchFreezes(
  openWatch: OpenWatch,
  namespaces: readonly string[],
  ownNamespace: string,
): FreezeWatch {
  const query = { apiVersion: 'v1', kind: 'ConfigMap', labelSelector: freezeLabel };
  const sets =
    namespaces.length === 0
      ? [openWatch(query)]
      : [...new Set([...namespaces, ownNamespace])].map((namespace) => openWatch({ ...query, namespace }));
  return {
    of(canary, nowMs) {
      if (!sets.every((set) => set.synced() || set.problem() !== undefined)) return 'unknown';
      return lastToEnd(
        sets.flatMap((set) => (set.synced() ? [...set.list()] : [])),
        canary,
        { ownNamespace, nowMs },
      );
    },
    onChange(listener) {
      for (const set of sets) set.onChange(() => listener());
    },
    close() {
      for (const set of sets) set.close();
    },
  };
}

/** The freeze in force that covers the Canary and ends last. */
export function lastToEnd(
  objects: readonly KubernetesObject[],
  { metadata }: KubernetesObject,
  { ownNamespace, nowMs }: { readonly ownNamespace: string; readonly nowMs: number },
): FreezeView | undefined {
  const endMs = ({ untilMs = Number.POSITIVE_INFINITY }: FreezeView) => untilMs;
  return objects
    .filter((object) => [ownNamespace, metadata.namespace].includes(object.metadata.namespace ?? ''))
    .flatMap((object): FreezeView[] => {
      const { fits, untilMs, reason } = readFreeze(object);
      const isOver = untilMs !== undefined && untilMs <= nowMs;
      return isOver || !fits(metadata.labels) ? [] : [{ by: describe(object), untilMs, reason }];
    })
    .reduce<FreezeView | undefined>(
      (last, one) => (last === undefined || endMs(one) > endMs(last) ? one : last),
      undefined,
    );
}
