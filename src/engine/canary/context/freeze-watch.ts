import { brokenFreeze, type Freeze, freezeLabel, readFreeze } from '../../../api/freeze.ts';
import { describe, type KubernetesObject } from '../../../api/kubernetes.ts';
import { limits } from '../../../api/limits.ts';
import type { OpenWatch } from '../../../contracts/cluster.ts';
import type { FreezeView } from '../../../rollout/world.ts';
import { closingMs, windowAt, windowProblems } from '../../windows.ts';

/** Says which Canaries are frozen (ADR 44). */
export interface FreezeWatch {
  /** The freezes of a Canary; `unknown` before they were listed. */
  of(canary: KubernetesObject, nowMs: number): FreezesInForce | 'unknown';
  /** With the namespace whose Canaries a change may concern; undefined: all. */
  onChange(listener: (namespace: string | undefined) => void): void;
  close(): void;
}

/** Of the freezes in force those that end last. */
export interface FreezesInForce {
  /** Holds what has not started. */
  readonly freeze?: FreezeView | undefined;
  /** Holds also what is at a step, or before its promotion. */
  readonly stepFreeze?: FreezeView | undefined;
  /** When one of these ends, or another one begins; milliseconds since the epoch. */
  readonly changesMs?: number | undefined;
}

/**
 * Watches the freezes of these namespaces, of all when there are none, and of Holdfast's own namespace. What may not be watched counts as
 * absent: it is up to the administrator to grant the rights. What cannot be listed at the moment holds starts and steps as a freeze does: one
 * may be there, and a way back must not wait for it.
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
  /** A problem is told between two tries only. */
  let told: string | undefined;
  return {
    of(canary, nowMs) {
      const unread = sets.filter((set) => !set.synced() && !set.isRefused());
      if (unread.length > 0) {
        told = unread.map((set) => set.problem()).find((problem) => problem !== undefined) ?? told;
        return told === undefined ? 'unknown' : everythingFrozen(told);
      }
      const objects = sets.flatMap((set) => (set.synced() ? [...set.list()] : []));
      return freezesInForce(objects, canary, { ownNamespace, nowMs });
    },
    onChange(listener) {
      for (const set of sets)
        set.onChange((freeze) => {
          const { namespace } = freeze?.metadata ?? {};
          listener(namespace === ownNamespace ? undefined : namespace);
        });
    },
    close() {
      for (const set of sets) set.close();
    },
  };
}

function everythingFrozen(problem: string): FreezesInForce {
  const reason = `it is not known whether there is a freeze (${problem})`;
  const freeze = { by: 'ConfigMaps that cannot be listed', untilMs: undefined, reason };
  return { freeze, stepFreeze: freeze };
}

/** What covers the Canary at this moment. */
export function freezesInForce(
  objects: readonly KubernetesObject[],
  { metadata }: KubernetesObject,
  { ownNamespace, nowMs }: { readonly ownNamespace: string; readonly nowMs: number },
): FreezesInForce {
  const near = objects.filter((object) =>
    [ownNamespace, metadata.namespace].includes(object.metadata.namespace ?? ''),
  );
  const crowded = crowdedNamespace(near);
  if (crowded) return { freeze: crowded, stepFreeze: crowded };
  const covering = near
    .map((object) => ({ by: describe(object), ...freezeOf(object, nowMs) }))
    .filter(({ fits, untilMs }) => fits(metadata.labels) && (untilMs === undefined || untilMs > nowMs))
    .map((freeze) => ({ ...freeze, ...timeOf(freeze, nowMs) }));
  const inForce = covering.filter(({ isInForce }) => isInForce);
  const changesMs = Math.min(...covering.map(({ changesMs }) => changesMs));
  return {
    freeze: lastToEnd(inForce),
    stepFreeze: lastToEnd(inForce.filter(({ startsOnly }) => !startsOnly)),
    changesMs: Number.isFinite(changesMs) ? changesMs : undefined,
  };
}

/** Somebody who writes freezes without end must not keep Holdfast from its work, nor let a release through by it. */
function crowdedNamespace(objects: readonly KubernetesObject[]): FreezeView | undefined {
  const counts = new Map<string, number>();
  for (const { metadata } of objects) {
    const namespace = metadata.namespace ?? '';
    const count = (counts.get(namespace) ?? 0) + 1;
    counts.set(namespace, count);
    if (count > limits.freezesPerNamespace)
      return {
        by: `the ConfigMaps of namespace ${namespace}`,
        untilMs: undefined,
        reason: `it has more than ${limits.freezesPerNamespace} freezes; delete some`,
      };
  }
  return undefined;
}

/** As it was read first: the next times of its windows are remembered with them. */
const known = new WeakMap<KubernetesObject, Freeze>();

function freezeOf(object: KubernetesObject, nowMs: number): Freeze {
  const before = known.get(object);
  if (before) return before;
  const read = readFreeze(object);
  const [problem] = windowProblems(read.windows, nowMs);
  const freeze = problem ? brokenFreeze(object, `windows: ${problem.message}`) : read;
  known.set(object, freeze);
  return freeze;
}

/** `changesMs`: when to look at it again, Infinity where nothing changes by itself. */
interface FreezeTime {
  readonly isInForce: boolean;
  readonly untilMs: number | undefined;
  readonly changesMs: number;
}

function timeOf({ windows, untilMs: endMs = Number.POSITIVE_INFINITY }: Freeze, nowMs: number): FreezeTime {
  const window = windowAt(windows, nowMs);
  const isInForce = window?.open !== true;
  const opensMs = window?.nextOpeningMs ?? Number.POSITIVE_INFINITY;
  const changesMs = Math.min(endMs, isInForce || !windows ? opensMs : closingMs(windows, nowMs));
  return { isInForce, changesMs, untilMs: isInForce && Number.isFinite(changesMs) ? changesMs : undefined };
}

function lastToEnd(
  inForce: ReadonlyArray<FreezeView & { readonly startsOnly: boolean }>,
): FreezeView | undefined {
  const endMs = ({ untilMs = Number.POSITIVE_INFINITY }: FreezeView) => untilMs;
  const views = inForce.map(({ by, untilMs, reason }) => ({ by, untilMs, reason }));
  return views.reduce<FreezeView | undefined>(
    (last, one) => (last === undefined || endMs(one) > endMs(last) ? one : last),
    undefined,
  );
}
