import { type KubernetesObject, namespacedName } from '../../api/kubernetes.ts';
import type { KeysOf } from '../../contracts/cluster.ts';

/** A cache of one resource: writes come from a watch or from our own requests, and the newer one always wins. */
export interface ObjectStore extends ReadableStore {
  /** The answer to our own write, or a fresh read. Ignored when it is older than the stored object. */
  upsert(object: KubernetesObject): void;
  /** One event of a watch. */
  applyEvent(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: KubernetesObject): void;
  /**
   * A complete list as of `resourceVersion`. It is the truth, also where its versions are lower (a server restored from a
   * backup); only our own later writes, not shown by a watch yet, outlive it, and only once.
   */
  replace(objects: readonly KubernetesObject[], resourceVersion: string): void;
}

/** Which objects a store holds, and in which form. */
interface StoreOptions {
  /** True for objects of the store's selection; an object that no longer matches leaves the store. */
  readonly covers?: (object: KubernetesObject) => boolean;
  /** Makes the stored form, for instance without managedFields. */
  readonly trim?: (object: KubernetesObject) => KubernetesObject;
  /** Called when a subscriber threw; the others and the store continue. */
  readonly onHandlerError?: (error: unknown) => void;
}

/** Creates an empty store. */
export function createStore(options: StoreOptions = {}): ObjectStore {
  const { covers = () => true, trim = (object) => object, onHandlerError = () => undefined } = options;
  const table = createTable(onHandlerError);
  const departures = createTombstones();
  // Keys of our own writes that no watch or list has shown yet.
  const unconfirmed = new Set<string>();

  function put(object: KubernetesObject): void {
    const old = table.find(namespacedName(object));
    if (departures.include(object) || (old && !isNewer(object, old))) return;
    if (covers(object)) take(object);
    else depart(object, object.metadata.resourceVersion);
  }

  function take(object: KubernetesObject): void {
    const key = namespacedName(object);
    const old = table.find(key);
    // Another uid under the same name: the former object is gone, and subscribers must be notified.
    if (old && old.metadata.uid !== object.metadata.uid) depart(old, object.metadata.resourceVersion);
    else if (old && old.metadata.resourceVersion === object.metadata.resourceVersion) return;
    departures.forget(object);
    table.put(key, trim(object));
  }

  /** `object` is gone, or no longer selected, since that version. */
  function depart(object: KubernetesObject, since: string | undefined): void {
    departures.remember(object, since);
    table.drop(namespacedName(object), trim(object));
  }

  function remove(object: KubernetesObject): void {
    const since = object.metadata.resourceVersion;
    const old = table.find(namespacedName(object));
    departures.remember(object, since);
    // An older event, or one about a former object under the same name, says nothing about the present one.
    if (old && compareResourceVersions(old.metadata.resourceVersion, since, 0) <= 0) depart(object, since);
  }

  function writtenAfter(object: KubernetesObject, version: string | undefined): boolean {
    return (
      unconfirmed.has(namespacedName(object)) &&
      compareResourceVersions(object.metadata.resourceVersion, version, 0) > 0
    );
  }

  return {
    get: table.get,
    list: table.list,
    byKey: table.byKey,
    subscribe: table.subscribe,
    upsert(object) {
      unconfirmed.add(namespacedName(object));
      put(object);
    },
    applyEvent(type, object) {
      const old = table.find(namespacedName(object));
      if (!old || !isNewer(old, object)) unconfirmed.delete(namespacedName(object));
      if (type === 'DELETED') remove(object);
      else put(object);
    },
    replace(listed, resourceVersion) {
      const listedKeys = new Set(listed.map(namespacedName));
      for (const key of table.keys()) {
        const object = table.find(key);
        if (object && !listedKeys.has(key) && !writtenAfter(object, resourceVersion))
          depart(object, resourceVersion);
      }
      for (const object of listed) {
        const old = table.find(namespacedName(object));
        if (!old || !writtenAfter(old, object.metadata.resourceVersion)) take(object);
      }
      unconfirmed.clear();
    },
  };
}

/** Versions that cannot be compared are taken as newer: a watch delivers in order. */
function isNewer(object: KubernetesObject, than: KubernetesObject): boolean {
  return compareResourceVersions(object.metadata.resourceVersion, than.metadata.resourceVersion, 1) > 0;
}

interface Tombstones {
  remember(object: KubernetesObject, since: string | undefined): void;
  include(object: KubernetesObject): boolean;
  forget(object: KubernetesObject): void;
}

const maximumTombstones = 2_000;

/** Remembers since which version an object is gone, so that an answer that arrives late cannot bring it back. */
function createTombstones(): Tombstones {
  const versions = new Map<string, string>();
  return {
    remember({ metadata: { uid } }, since) {
      if (!uid) return;
      versions.delete(uid);
      versions.set(uid, since ?? '');
      const [oldest] = versions.keys();
      if (versions.size > maximumTombstones && oldest !== undefined) versions.delete(oldest);
    },
    /** False for an object that lost its label and got it back: its version is newer than the departure. */
    include({ metadata: { uid, resourceVersion } }) {
      const since = versions.get(uid ?? '');
      return since !== undefined && compareResourceVersions(resourceVersion, since, 1) <= 0;
    },
    forget({ metadata: { uid } }) {
      versions.delete(uid ?? '');
    },
  };
}

/** What happened to an object in a store. */
type ChangeType = 'added' | 'modified' | 'deleted';

/** Called after the store has changed; `old` is absent for `added`. For `deleted`, `object` is the last known state. */
type ChangeHandler = (type: ChangeType, object: KubernetesObject, old: KubernetesObject | undefined) => void;

/** Read side of a cache. Objects are shared: copy before changing one. */
export interface ReadableStore {
  /** `namespace` is undefined for cluster-scoped kinds. */
  get(namespace: string | undefined, name: string): KubernetesObject | undefined;
  list(namespace?: string): KubernetesObject[];
  /** Objects for which this function names this key. The first question makes an index of it, which lasts as long as the store. */
  byKey(keysOf: KeysOf, key: string): KubernetesObject[];
  /** Calls back immediately with `added` for every present object, then with every change. Returns how to unsubscribe. */
  subscribe(handler: ChangeHandler): () => void;
}

/** Objects by name with indexes and subscribers; knows nothing of versions. */
interface StoreTable extends ReadableStore {
  find(key: string): KubernetesObject | undefined;
  keys(): string[];
  put(key: string, object: KubernetesObject): void;
  /** `last` is what subscribers get as the last known state. */
  drop(key: string, last: KubernetesObject): void;
}

/** Creates an empty table. `onHandlerError` is called when a subscriber threw; the others and the table continue. */
function createTable(onHandlerError: (error: unknown) => void): StoreTable {
  const objects = new Map<string, KubernetesObject>();
  const indexes = new Map<KeysOf, StoreIndex>();
  const handlers = new Set<ChangeHandler>();

  function indexOf(keysOf: KeysOf): StoreIndex {
    const known = indexes.get(keysOf);
    if (known) return known;
    const index = createIndex(keysOf);
    for (const [key, object] of objects) index.update(key, object);
    indexes.set(keysOf, index);
    return index;
  }

  function notify(handler: ChangeHandler, ...change: Parameters<ChangeHandler>): void {
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
      if (object) notify(handler, 'added', object, undefined);
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
      for (const handler of handlers) notify(handler, old ? 'modified' : 'added', object, old);
    },
    drop(key, last) {
      const old = objects.get(key);
      if (!objects.delete(key)) return;
      for (const index of indexes.values()) index.remove(key);
      for (const handler of handlers) notify(handler, 'deleted', last, old);
    },
    get: (namespace, name) => objects.get(`${namespace ?? ''}/${name}`),
    list(namespace) {
      const all = [...objects.values()];
      return namespace === undefined ? all : all.filter((object) => object.metadata.namespace === namespace);
    },
    byKey(keysOf, key) {
      return indexOf(keysOf)
        .keys(key)
        .flatMap((objectKey) => objects.get(objectKey) ?? []);
    },
  };
}

/** Finds objects by values computed from them; keys are the store's own. */
interface StoreIndex {
  update(objectKey: string, object: KubernetesObject): void;
  remove(objectKey: string): void;
  keys(value: string): string[];
}

/** Creates an empty index. */
function createIndex(keysOf: KeysOf): StoreIndex {
  const objectsByValue = new Map<string, Set<string>>();
  const valuesByObject = new Map<string, readonly string[]>();

  function remove(objectKey: string): void {
    for (const value of valuesByObject.get(objectKey) ?? []) {
      const members = objectsByValue.get(value);
      members?.delete(objectKey);
      if (members?.size === 0) objectsByValue.delete(value);
    }
    valuesByObject.delete(objectKey);
  }

  return {
    remove,
    keys: (value) => [...(objectsByValue.get(value) ?? [])],
    update(objectKey, object) {
      remove(objectKey);
      const values = keysOf(object);
      valuesByObject.set(objectKey, values);
      for (const value of values) {
        const members = objectsByValue.get(value) ?? new Set();
        members.add(objectKey);
        objectsByValue.set(value, members);
      }
    },
  };
}

/** Order of resourceVersions: since Kubernetes 1.35 they are defined to be decimal numbers of any length. */

const decimal = /^(0|[1-9]\d*)$/;

/** Below 0: a is older than b; 0: equal; above 0: newer; `otherwise` when one is no decimal number, so that nothing can be said. */
export function compareResourceVersions(
  a: string | undefined,
  b: string | undefined,
  otherwise: number,
): number {
  if (a === undefined || b === undefined || !decimal.test(a) || !decimal.test(b)) return otherwise;
  // Without leading zeros the longer number is the larger one; cheaper than BigInt, exact beyond 2^53.
  if (a.length !== b.length) return a.length - b.length;
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
