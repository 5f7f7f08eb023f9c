import type { KubernetesObject } from '../api/kubernetes.ts';
import { createIndex, type StoreIndex } from './store-index.ts';

/** What happened to an object in a store. */
export type ChangeType = 'added' | 'modified' | 'deleted';

/** Told after the store has changed; `old` is absent for `added`. For `deleted`, `object` is the last known state. */
export type ChangeHandler = (
  type: ChangeType,
  object: KubernetesObject,
  old: KubernetesObject | undefined,
) => void;

/** Read side of a cache. Objects are shared: copy before changing one. */
export interface ReadableStore {
  /** `namespace` is undefined for cluster-scoped kinds. */
  get(namespace: string | undefined, name: string): KubernetesObject | undefined;
  list(namespace?: string): KubernetesObject[];
  /** Objects for which the index function named this key. Throws RangeError for an index that was never added. */
  byIndex(index: string, key: string): KubernetesObject[];
  /** Adds an index, over what is there and what comes. Adding the same name again changes nothing. */
  addIndex(index: string, keysOf: (object: KubernetesObject) => readonly string[]): void;
  /** Calls back at once with `added` for everything present, then with every change. Returns how to stop. */
  subscribe(handler: ChangeHandler): () => void;
}

/** Objects by name with indexes and subscribers; knows nothing of versions. */
export interface StoreTable extends ReadableStore {
  find(key: string): KubernetesObject | undefined;
  keys(): string[];
  put(key: string, object: KubernetesObject): void;
  /** `last` is what subscribers get as the last known state. */
  drop(key: string, last: KubernetesObject): void;
}

/** The key of an object in a table. */
export function keyOf(object: KubernetesObject): string {
  return `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
}

/** Creates an empty table. `onHandlerError` is told when a subscriber threw; the others and the table go on. */
export function createTable(onHandlerError: (error: unknown) => void): StoreTable {
  const objects = new Map<string, KubernetesObject>();
  const indexes = new Map<string, StoreIndex>();
  const handlers = new Set<ChangeHandler>();

  function tell(handler: ChangeHandler, ...change: Parameters<ChangeHandler>): void {
    try {
      handler(...change);
    } catch (error) {
      onHandlerError(error);
    }
  }

  function subscribe(handler: ChangeHandler): () => void {
    handlers.add(handler);
    for (const key of [...objects.keys()]) {
      const object = objects.get(key);
      if (object) tell(handler, 'added', object, undefined);
    }
    return () => {
      handlers.delete(handler);
    };
  }

  return {
    subscribe,
    find: (key) => objects.get(key),
    keys: () => [...objects.keys()],
    put(key, object) {
      const old = objects.get(key);
      objects.set(key, object);
      for (const index of indexes.values()) index.update(key, object);
      for (const handler of handlers) tell(handler, old ? 'modified' : 'added', object, old);
    },
    drop(key, last) {
      const old = objects.get(key);
      if (!objects.delete(key)) return;
      for (const index of indexes.values()) index.remove(key);
      for (const handler of handlers) tell(handler, 'deleted', last, old);
    },
    get: (namespace, name) => objects.get(`${namespace ?? ''}/${name}`),
    list(namespace) {
      const all = [...objects.values()];
      return namespace === undefined ? all : all.filter((object) => object.metadata.namespace === namespace);
    },
    byIndex(name, key) {
      const index = indexes.get(name);
      if (!index) throw new RangeError(`no index "${name}"`);
      return index.keys(key).flatMap((objectKey) => objects.get(objectKey) ?? []);
    },
    addIndex(name, keysOf) {
      if (indexes.has(name)) return;
      const index = createIndex(keysOf);
      for (const [key, object] of objects) index.update(key, object);
      indexes.set(name, index);
    },
  };
}
