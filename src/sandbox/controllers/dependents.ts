import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { KindInfo } from '../kinds.ts';
import type { ApiWorld } from '../object-writer.ts';
import type { StoreEvent } from '../store.ts';

/** An object and its kind. */
export interface Stored {
  readonly kind: KindInfo;
  readonly object: KubernetesObject;
}

/** Finds objects by uid and by owner without looking at everything. */
export interface DependentIndex {
  /** To be called with every event. */
  note(event: StoreEvent): void;
  byUid(uid: string): Stored | undefined;
  dependentsOf(ownerUid: string): Stored[];
}

interface Address {
  readonly storageKey: string;
  readonly namespace: string | undefined;
  readonly name: string;
}

/** An index over the world's objects, empty at first. */
export function createDependentIndex(world: ApiWorld): DependentIndex {
  const addresses = new Map<string, Address>();
  const dependents = new Map<string, Set<string>>();

  function byUid(uid: string): Stored | undefined {
    const address = addresses.get(uid);
    const kind = world.kinds.all().find((each) => each.storageKey === address?.storageKey);
    const object = address && world.store.get(address.storageKey, address.namespace, address.name);
    return kind && object?.metadata.uid === uid ? { kind, object } : undefined;
  }

  return {
    byUid,
    note({ type, storageKey, object }) {
      const { uid = '', namespace, name, ownerReferences = [] } = object.metadata;
      if (type === 'DELETED') addresses.delete(uid);
      else addresses.set(uid, { storageKey, namespace, name });
      for (const owner of ownerReferences) {
        const known = dependents.get(owner.uid) ?? new Set();
        if (type === 'DELETED') known.delete(uid);
        else known.add(uid);
        if (known.size > 0) dependents.set(owner.uid, known);
        else dependents.delete(owner.uid);
      }
    },
    dependentsOf(ownerUid) {
      const found = [...(dependents.get(ownerUid) ?? [])].map(byUid).filter((each) => each !== undefined);
      return found.filter(({ object }) =>
        object.metadata.ownerReferences?.some((owner) => owner.uid === ownerUid),
      );
    },
  };
}

/** Every object of every kind. */
export function everyObject(world: ApiWorld): Stored[] {
  const kinds = new Map(world.kinds.all().map((kind) => [kind.storageKey, kind]));
  return [...kinds.values()].flatMap((kind) =>
    world.store.list(kind.storageKey).map((object) => ({ kind, object })),
  );
}
