import type { KubernetesObject } from '../api/kubernetes.ts';
import type { Caches } from '../cluster/caches.ts';
import type { OpenWatch, WatchedSet } from '../engine/ports.ts';

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
