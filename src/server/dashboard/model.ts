import { type Canary, targetApiVersion } from '../../api/canary/canary.ts';
import { type KubernetesObject, namespacedName, partOfLabel } from '../../api/kubernetes.ts';
import { stamp } from '../../api/time.ts';
import type { OpenWatch, WatchedSet } from '../../contracts/cluster.ts';
import type { CanaryRow, Freshness, SourceRow } from '../../dashboard/views.ts';
import { applySetId } from '../../engine/apply-set.ts';
import { primaryName } from '../../workload/shared/metadata.ts';
import type { Sides } from './canary-view.ts';
import { createJournal, type Journal } from './journal.ts';
import { canaryRow, sourceRow } from './rows.ts';
import { createViewWatches } from './watches.ts';

/** What pages are made of: the caches of the controller, and nothing that would have to be asked for. */
export interface Model {
  /** Rises with every change of what is watched. */
  version(): number;
  isReady(): boolean;
  freshness(): Freshness;
  object(kind: 'Canary' | 'Source', namespace: string, name: string): KubernetesObject | undefined;
  /** All objects of a kind; unchanged ones are the same object as before. */
  objects(kind: 'Canary' | 'Source'): readonly KubernetesObject[];
  canaryRow(canary: KubernetesObject): CanaryRow;
  sourceRow(source: KubernetesObject): SourceRow;
  sourceOf(applySet: string): string | undefined;
  readonly journal: Journal;
  /** The workloads of a Canary; undefined until they were read. */
  sides(canary: KubernetesObject): Sides | undefined;
  pods(namespace: string): readonly KubernetesObject[] | undefined;
  /** Objects that a Source applied, of these kinds; undefined until they were read. */
  membersOf(
    source: KubernetesObject,
    kinds: ReadonlyArray<{ apiVersion: string; kind: string }>,
  ): readonly KubernetesObject[] | undefined;
  /** The Canaries are watched from now on. */
  follow(): void;
  /** A page was opened; returns how to close it. */
  enter(): () => void;
  close(): void;
}

/** What the model is made of. */
export interface ModelOptions {
  /** All Canaries, as watched in every copy; undefined before they are. */
  readonly canaries: () => WatchedSet | undefined;
  readonly openWatch: OpenWatch;
  /** The watched namespaces; empty: all. */
  readonly namespaces: readonly string[];
  readonly clock: { nowMs(): number; after(delayMs: number, act: () => void): () => void };
  readonly isLeader: () => boolean;
  readonly problem: () => string | undefined;
  /** Of the watch of Canaries: whether it is current, and when the API server last sent something. */
  readonly contact: () => { readonly isCurrent: boolean; readonly lastMs: number } | undefined;
}

/** Creates the model; except for the journal it does nothing until a page is open. */
export function createModel(options: ModelOptions): Model {
  const { openWatch, namespaces, clock } = options;
  const journal = createJournal(clock.nowMs);
  let version = 0;
  let followed: WatchedSet | undefined;
  /** By ApplySet id. */
  const sourceNames = new Map<string, string>();
  let namedAt = -1;
  const watches = createViewWatches(openWatch, namespaces, clock, () => {
    version += 1;
  });

  /** Its watch is opened when our kinds are served, which may be later. */
  function canaries(): WatchedSet | undefined {
    const set = options.canaries();
    if (set && set !== followed) {
      followed = set;
      set.onChange((changed) => {
        version += 1;
        for (const canary of changed ? [changed] : set.list())
          if (set.get(canary.metadata.namespace, canary.metadata.name)) journal.note(canary);
          else journal.forget(canary);
      });
    }
    return set;
  }

  function objects(kind: 'Canary' | 'Source'): readonly KubernetesObject[] {
    return kind === 'Canary' ? (canaries()?.list() ?? []) : watches.sources().flatMap((set) => set.list());
  }

  function sourceOf(applySet: string): string | undefined {
    if (namedAt !== version) {
      namedAt = version;
      sourceNames.clear();
      for (const source of objects('Source')) sourceNames.set(applySetId(source), namespacedName(source));
    }
    return sourceNames.get(applySet);
  }

  function read(query: { apiVersion: string; kind: string; namespace: string }): WatchedSet | undefined {
    const set = watches.set(query);
    return set.synced() ? set : undefined;
  }

  return {
    version: () => version,
    journal,
    objects,
    sourceOf,
    isReady: () => canaries()?.synced() === true && watches.sources().every((set) => set.synced()),
    freshness() {
      const { isCurrent, lastMs } = options.contact() ?? { isCurrent: true, lastMs: 0 };
      return {
        isLeader: options.isLeader(),
        problem: options.problem(),
        staleSince: isCurrent || lastMs === 0 ? undefined : stamp(lastMs),
      };
    },
    object: (kind, namespace, name) =>
      kind === 'Canary'
        ? canaries()?.get(namespace, name)
        : watches
            .sources()
            .map((set) => set.get(namespace, name))
            .find((found) => found !== undefined),
    canaryRow: (canary) => canaryRow(canary, sourceOf),
    sourceRow,
    sides(canary) {
      const { namespace = '' } = canary.metadata;
      const { targetRef } = (canary as Canary).spec;
      const { kind = 'Deployment', name } = targetRef;
      const apiVersion = targetApiVersion(targetRef) ?? 'apps/v1';
      const set = read({ apiVersion, kind, namespace });
      return (
        set && {
          target: set.get(namespace, name),
          primary: set.get(namespace, primaryName(canary as Canary)),
        }
      );
    },
    pods: (namespace) => read({ apiVersion: 'v1', kind: 'Pod', namespace })?.list(namespace),
    membersOf(source, kinds) {
      const id = applySetId(source);
      const places: ReadonlyArray<string | undefined> = namespaces.length > 0 ? namespaces : [undefined];
      const sets = kinds.flatMap((kind) =>
        places.map((namespace) =>
          watches.set({
            ...kind,
            labelSelector: partOfLabel,
            ...(namespace === undefined ? {} : { namespace }),
          }),
        ),
      );
      // A kind that cannot be listed hides no other one.
      if (sets.some((set) => !set.synced() && set.problem() === undefined)) return undefined;
      const found = sets.flatMap((set) => set.list());
      return found.filter(({ metadata }) => metadata.labels?.[partOfLabel] === id);
    },
    follow: () => void canaries(),
    enter: watches.enter,
    close: watches.close,
  };
}
