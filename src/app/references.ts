import type { WatchedSet } from '../engine/ports/ports.ts';
import type { ReferenceKind, References } from '../engine/ports/references-port.ts';

/** Looks objects that Canaries name up in the watched sets of their kinds. */
export function createReferences(sets: {
  readonly templates: WatchedSet;
  readonly alertProviders: WatchedSet;
}): References {
  const byKind: Readonly<Record<ReferenceKind, WatchedSet>> = {
    MetricTemplate: sets.templates,
    AlertProvider: sets.alertProviders,
  };
  return {
    has: (kind, namespace, name) =>
      byKind[kind].synced() ? byKind[kind].get(namespace, name) !== undefined : undefined,
    onChange(listener) {
      for (const set of Object.values(byKind)) set.onChange(listener);
    },
  };
}
