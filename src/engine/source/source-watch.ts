import { partOfLabel } from '../../api/generated-metadata.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { OpenWatch, WatchedSet } from '../ports/ports.ts';
import type { AppliedObjects } from './source-apply.ts';

/** Watches of what one Source applied, so that a foreign change is put right and an unchanged object costs nothing. */
export interface SourceWatch extends AppliedObjects {
  /** Watches exactly the kinds and namespaces of these objects. */
  follow(objects: readonly KubernetesObject[]): void;
  close(): void;
}

/** `onChange` gets every object of the Source that changed in the cluster, our own writes included. */
export function createSourceWatch(
  applySetId: string,
  openWatch: OpenWatch,
  onChange: (object: KubernetesObject) => void,
): SourceWatch {
  const sets = new Map<string, WatchedSet>();
  let several: ReadonlySet<string> = new Set();

  /** One namespace: watched there. Several: one watch over all of them is cheaper than many. */
  function idOf({ apiVersion, kind, metadata }: KubernetesObject): string {
    const type = `${apiVersion} ${kind}`;
    return several.has(type) ? type : `${type} ${metadata.namespace ?? ''}`;
  }

  function open(id: string, object: KubernetesObject): void {
    const { apiVersion, kind, metadata } = object;
    const { namespace } = metadata;
    const everywhere = several.has(`${apiVersion} ${kind}`) || !namespace;
    const query = { apiVersion, kind, labelSelector: `${partOfLabel}=${applySetId}` };
    const set = openWatch(everywhere ? query : { ...query, namespace });
    set.onChange((changed) => {
      if (changed) onChange(changed);
    });
    sets.set(id, set);
  }

  return {
    setOf(object) {
      const set = sets.get(idOf(object));
      return set?.synced() ? set : undefined;
    },
    follow(objects) {
      several = kindsInSeveralNamespaces(objects);
      const wanted = new Map(objects.map((object) => [idOf(object), object]));
      for (const [id, set] of sets) {
        if (wanted.has(id)) continue;
        sets.delete(id);
        set.close();
      }
      for (const [id, object] of wanted) if (!sets.has(id)) open(id, object);
    },
    close() {
      for (const set of sets.values()) set.close();
      sets.clear();
    },
  };
}

function kindsInSeveralNamespaces(objects: readonly KubernetesObject[]): Set<string> {
  const namespaces = new Map<string, Set<string>>();
  for (const { apiVersion, kind, metadata } of objects) {
    const type = `${apiVersion} ${kind}`;
    namespaces.set(type, (namespaces.get(type) ?? new Set()).add(metadata.namespace ?? ''));
  }
  return new Set([...namespaces].filter(([, names]) => names.size > 1).map(([type]) => type));
}
