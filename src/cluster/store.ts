import type { KubernetesObject } from '../api/kubernetes.ts';
import { compareResourceVersions } from './resource-version.ts';
import { createTable, keyOf, type ReadableStore, type StoreTable } from './store-table.ts';

/** A cache of one resource: writes come from a watch or from our own requests, and the newer one always wins. */
export interface ObjectStore extends ReadableStore {
  /** The server's answer to a write of ours, or a fresh read. Ignored when older than what is known. */
  upsert(object: KubernetesObject): void;
  /** One event of a watch. */
  applyEvent(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: KubernetesObject): void;
  /**
   * A complete list as of `resourceVersion`. It is the truth, also where its versions are lower (a server restored from a
   * backup); only our own later writes, not shown by a watch yet, outlive it, and only once.
   */
  replace(objects: readonly KubernetesObject[], resourceVersion: string): void;
}

/** What a store keeps and of which objects. */
export interface StoreOptions {
  /** True for objects the store's selection covers; one that no longer fits leaves the store. */
  readonly covers?: (object: KubernetesObject) => boolean;
  /** Makes the kept form, for instance without managedFields. */
  readonly trim?: (object: KubernetesObject) => KubernetesObject;
  /** Told when a subscriber threw; the others and the store go on. */
  readonly onHandlerError?: (error: unknown) => void;
}

/** Creates an empty store. */
export function createStore(options: StoreOptions = {}): ObjectStore {
  const { covers = () => true, trim = (object) => object, onHandlerError = () => undefined } = options;
  const table = createTable(onHandlerError);
  const departures = createDepartures();
  // Keys of own writes that no watch or list has shown yet.
  const unconfirmed = new Set<string>();

  function put(object: KubernetesObject): void {
    const old = table.find(keyOf(object));
    if (departures.include(object) || (old && !isNewer(object, old))) return;
    if (covers(object)) take(object);
    else depart(object, object.metadata.resourceVersion);
  }

  function take(object: KubernetesObject): void {
    const key = keyOf(object);
    const old = table.find(key);
    // Another uid under the same name: the former object is gone, and subscribers must hear so.
    if (old && old.metadata.uid !== object.metadata.uid) depart(old, object.metadata.resourceVersion);
    else if (old && old.metadata.resourceVersion === object.metadata.resourceVersion) return;
    departures.forget(object);
    table.put(key, trim(object));
  }

  /** `object` is gone, or no longer selected, since that version. */
  function depart(object: KubernetesObject, since: string | undefined): void {
    departures.remember(object, since);
    table.drop(keyOf(object), trim(object));
  }

  function remove(object: KubernetesObject): void {
    const since = object.metadata.resourceVersion;
    const old = table.find(keyOf(object));
    departures.remember(object, since);
    // An older event, or one about a former object under the same name, says nothing about the present one.
    if (old && compareResourceVersions(old.metadata.resourceVersion, since, 0) <= 0) depart(object, since);
  }

  function writtenAfter(object: KubernetesObject, version: string | undefined): boolean {
    return (
      unconfirmed.has(keyOf(object)) &&
      compareResourceVersions(object.metadata.resourceVersion, version, 0) > 0
    );
  }

  return {
    ...readSide(table),
    upsert(object) {
      unconfirmed.add(keyOf(object));
      put(object);
    },
    applyEvent(type, object) {
      const old = table.find(keyOf(object));
      if (!old || !isNewer(old, object)) unconfirmed.delete(keyOf(object));
      if (type === 'DELETED') remove(object);
      else put(object);
    },
    replace(listed, resourceVersion) {
      const listedKeys = new Set(listed.map(keyOf));
      for (const key of table.keys()) {
        const object = table.find(key);
        if (object && !listedKeys.has(key) && !writtenAfter(object, resourceVersion))
          depart(object, resourceVersion);
      }
      for (const object of listed) {
        const old = table.find(keyOf(object));
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

function readSide({ get, list, byIndex, addIndex, subscribe }: StoreTable): ReadableStore {
  return { get, list, byIndex, addIndex, subscribe };
}

interface Departures {
  remember(object: KubernetesObject, since: string | undefined): void;
  include(object: KubernetesObject): boolean;
  forget(object: KubernetesObject): void;
}

const rememberedDepartures = 2_000;

/** Remembers since which version an object is gone, so that an answer that arrives late cannot bring it back. */
function createDepartures(): Departures {
  const versions = new Map<string, string>();
  return {
    remember({ metadata: { uid } }, since) {
      if (!uid) return;
      versions.delete(uid);
      versions.set(uid, since ?? '');
      const [oldest] = versions.keys();
      if (versions.size > rememberedDepartures && oldest !== undefined) versions.delete(oldest);
    },
    /** One that lost its label and got it back has a newer version than its departure. */
    include({ metadata: { uid, resourceVersion } }) {
      const since = versions.get(uid ?? '');
      return since !== undefined && compareResourceVersions(resourceVersion, since, 1) <= 0;
    },
    forget({ metadata: { uid } }) {
      versions.delete(uid ?? '');
    },
  };
}
