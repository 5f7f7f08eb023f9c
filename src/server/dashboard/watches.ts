import { apiVersionOf } from '../../api/kinds/kinds.ts';
import type { OpenWatch, WatchedSet, WatchQuery } from '../../contracts/cluster.ts';

/** Watches that are open while a page is open. In the leader most of them run anyway, and are shared. */
interface ViewWatches {
  /** Sources in the namespaces that are watched. */
  sources(): readonly WatchedSet[];
  /** What is watched of one kind; opened with the first question. */
  set(query: WatchQuery): WatchedSet;
  /** A page was opened; returns how to close it. */
  enter(): () => void;
  close(): void;
}

/** How long watches stay open after the last page was closed, and unused ones. */
const keepMs = 60_000;

/** `onChange` is called for every change of what is watched. `after`: as of a Clock. */
export function createViewWatches(
  openWatch: OpenWatch,
  namespaces: readonly string[],
  clock: { nowMs(): number; after(delayMs: number, act: () => void): () => void },
  onChange: () => void,
): ViewWatches {
  const open = new Map<string, { readonly set: WatchedSet; usedMs: number }>();
  const places: ReadonlyArray<string | undefined> = namespaces.length > 0 ? namespaces : [undefined];
  let viewers = 0;
  let cancel: (() => void) | undefined;

  function set(query: WatchQuery): WatchedSet {
    const key = JSON.stringify(query);
    const known = open.get(key) ?? { set: openWatch(query), usedMs: 0 };
    if (!open.has(key)) {
      open.set(key, known);
      known.set.onChange(onChange);
    }
    known.usedMs = clock.nowMs();
    return known.set;
  }

  function closeUnused(): void {
    for (const [key, { set: unused, usedMs }] of open) {
      if (clock.nowMs() - usedMs < keepMs) continue;
      unused.close();
      open.delete(key);
    }
    cancel = viewers > 0 || open.size > 0 ? clock.after(keepMs / 2, closeUnused) : undefined;
  }

  return {
    set,
    sources: () =>
      places.map((namespace) => {
        const kind = { apiVersion: apiVersionOf('Source'), kind: 'Source' };
        return set(namespace === undefined ? kind : { ...kind, namespace });
      }),
    enter() {
      viewers += 1;
      cancel ??= clock.after(keepMs / 2, closeUnused);
      return () => {
        viewers -= 1;
      };
    },
    close() {
      cancel?.();
      for (const { set: each } of open.values()) each.close();
      open.clear();
    },
  };
}
