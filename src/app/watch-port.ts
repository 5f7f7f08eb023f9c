import type { KubernetesObject } from '../api/kubernetes.ts';
import type { Caches } from '../cluster/caches.ts';
import type { OpenWatch, WatchedSet } from '../engine/ports/ports.ts';

/** The engine's view of the watch caches. */
export function createOpenWatch(caches: Caches): OpenWatch {
  return (query) => {
    const handle = caches.ensure(query);
    const endings: Array<() => void> = [];
    const listeners = new Set<(object: KubernetesObject | undefined) => void>();
    let closed = false;
    void handle.synced().then(() => {
      if (!closed) for (const listener of listeners) listener(undefined);
    });
    const set: WatchedSet = {
      synced: () => handle.health().synced,
      problem: () => handle.health().lastError || undefined,
      get: (namespace, name) => handle.store.get(namespace, name),
      list: (namespace) => handle.store.list(namespace),
      remember: (object) => caches.observe(object),
      onChange(listener) {
        listeners.add(listener);
        // What is there already is told by the one call after the first list.
        let replaying = true;
        endings.push(
          handle.store.subscribe((_type, object) => {
            if (!replaying && handle.health().synced) listener(object);
          }),
        );
        replaying = false;
        if (handle.health().synced) listener(undefined);
      },
      close() {
        closed = true;
        for (const end of endings) end();
        void handle.release();
      },
    };
    return set;
  };
}

/** Several watches as one, for instance of a few namespaces instead of the whole cluster. */
export function unionOf(sets: readonly WatchedSet[]): WatchedSet {
  const [only] = sets;
  if (only && sets.length === 1) return only;
  return {
    synced: () => sets.every((set) => set.synced()),
    problem: () => sets.map((set) => set.problem()).find((problem) => problem !== undefined),
    get: (namespace, name) => first(sets, (set) => set.get(namespace, name)),
    list: (namespace) => sets.flatMap((set) => set.list(namespace)),
    remember: (object) => sets[0]?.remember(object),
    onChange(listener) {
      for (const set of sets) set.onChange(listener);
    },
    close() {
      for (const set of sets) set.close();
    },
  };
}

function first<T>(sets: readonly WatchedSet[], look: (set: WatchedSet) => T | undefined): T | undefined {
  for (const set of sets) {
    const found = look(set);
    if (found !== undefined) return found;
  }
  return undefined;
}
