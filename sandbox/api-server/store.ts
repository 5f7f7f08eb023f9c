import type { KubernetesObject } from '../../src/api/kubernetes.ts';

/** One change of one object. Objects in events and in the store are never changed afterwards. */
export interface StoreEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly storageKey: string;
  readonly object: KubernetesObject;
  /** The object before the change; absent when it was added. */
  readonly previous?: KubernetesObject;
  readonly resourceVersion: number;
}

/** Objects by kind, a single version counter, and a bounded history of changes for watches. */
export interface Store {
  version(): number;
  get(storageKey: string, namespace: string | undefined, name: string): KubernetesObject | undefined;
  /** Sorted by namespace and name, as in etcd. */
  list(storageKey: string, namespace?: string): KubernetesObject[];
  /** Adds or replaces; returns the stored object with its new resourceVersion. */
  put(storageKey: string, object: KubernetesObject): KubernetesObject;
  /** Takes the object out; returns it as the DELETED event shows it. */
  remove(storageKey: string, object: KubernetesObject): KubernetesObject;
  /** Changes after a version, or 'expired' when some of them are forgotten. */
  since(storageKey: string, version: number): StoreEvent[] | 'expired';
  subscribe(listener: (event: StoreEvent) => void): () => void;
  /** Forgets all history, so that every watch that resumes gets 410. */
  forgetHistory(): void;
}

interface Shelf {
  /** By namespace (empty for cluster-scoped kinds), then by name. */
  readonly namespaces: Map<string, Map<string, KubernetesObject>>;
  readonly history: StoreEvent[];
  /** Changes up to and including this version are no longer known. */
  forgottenVersion: number;
}

function byName([left]: [string, unknown], [right]: [string, unknown]): number {
  return left < right ? -1 : 1;
}

/** An empty store that remembers `historyLimit` changes per kind. */
export function createStore(historyLimit: number): Store {
  const shelves = new Map<string, Shelf>();
  const listeners = new Set<(event: StoreEvent) => void>();
  let counter = 1;
  /** For kinds without objects so far. */
  let forgottenVersion = 0;

  function shelf(storageKey: string): Shelf {
    const found = shelves.get(storageKey);
    if (found) return found;
    const created: Shelf = { namespaces: new Map(), history: [], forgottenVersion };
    shelves.set(storageKey, created);
    return created;
  }

  function objectsOf(storageKey: string, namespace = ''): Map<string, KubernetesObject> {
    const { namespaces } = shelf(storageKey);
    const found = namespaces.get(namespace) ?? new Map<string, KubernetesObject>();
    namespaces.set(namespace, found);
    return found;
  }

  function record(event: StoreEvent): void {
    const { history } = shelf(event.storageKey);
    history.push(event);
    if (history.length > historyLimit) {
      const dropped = history.splice(0, history.length - historyLimit).at(-1);
      shelf(event.storageKey).forgottenVersion = dropped?.resourceVersion ?? 0;
    }
    for (const listener of [...listeners]) listener(event);
  }

  function stamped(object: KubernetesObject): KubernetesObject {
    counter += 1;
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(counter) } };
  }

  return {
    version: () => counter,
    get: (storageKey, namespace, name) => objectsOf(storageKey, namespace).get(name),
    list(storageKey, namespace) {
      const { namespaces } = shelf(storageKey);
      const chosen =
        namespace === undefined
          ? [...namespaces].sort(byName).map(([, objects]) => objects)
          : [objectsOf(storageKey, namespace)];
      return chosen.flatMap((objects) => [...objects].sort(byName).map(([, object]) => object));
    },
    put(storageKey, object) {
      const objects = objectsOf(storageKey, object.metadata.namespace);
      const previous = objects.get(object.metadata.name);
      const next = stamped(object);
      objects.set(object.metadata.name, next);
      const base = { storageKey, object: next, resourceVersion: counter };
      record(previous ? { ...base, type: 'MODIFIED', previous } : { ...base, type: 'ADDED' });
      return next;
    },
    remove(storageKey, object) {
      const objects = objectsOf(storageKey, object.metadata.namespace);
      const previous = objects.get(object.metadata.name) ?? object;
      objects.delete(object.metadata.name);
      const last = stamped(object);
      record({ type: 'DELETED', storageKey, object: last, previous, resourceVersion: counter });
      return last;
    },
    since(storageKey, version) {
      const known = shelf(storageKey);
      if (version < known.forgottenVersion) return 'expired';
      return known.history.filter((event) => event.resourceVersion > version);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    forgetHistory() {
      counter += 1;
      forgottenVersion = counter;
      for (const each of shelves.values()) {
        each.history.length = 0;
        each.forgottenVersion = counter;
      }
    },
  };
}
