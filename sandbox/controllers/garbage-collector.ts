import { type KubernetesObject, type OwnerReference, recordOf } from '../../src/api/kubernetes.ts';
import type { KindInfo } from '../api-server/kinds.ts';
import { deleteObject } from '../api-server/object-deletion.ts';
import { type ApiWorld, updateObject } from '../api-server/object-writer.ts';
import type { StoreEvent } from '../api-server/store.ts';
import type { Controller } from './controller.ts';

const MANAGER = 'kube-controller-manager';
const PROPAGATING = ['orphan', 'foregroundDeletion'];

/** Deletes what has lost all its owners, and serves the propagation policies Orphan and Foreground. */
export function garbageCollector(world: ApiWorld): Controller {
  const index = createDependentIndex(world);
  return {
    name: 'garbage',
    keysFor(event) {
      index.note(event);
      const { uid, ownerReferences = [], finalizers = [], deletionTimestamp } = event.object.metadata;
      if (event.type === 'DELETED')
        return [`owner ${uid}`, ...ownerReferences.map((owner) => `waiting ${owner.uid}`)];
      const waits = deletionTimestamp !== undefined && finalizers.some((each) => PROPAGATING.includes(each));
      const isNewDependent = event.type === 'ADDED' && ownerReferences.length > 0;
      return [...(isNewDependent ? [`dependent ${uid}`] : []), ...(waits ? [`waiting ${uid}`] : [])];
    },
    reconcile(key) {
      const [task = '', uid = ''] = key.split(' ');
      if (task === 'owner') for (const each of index.dependentsOf(uid)) collect(world, each);
      const found = task === 'owner' ? undefined : index.byUid(uid);
      if (found && task === 'dependent') collect(world, found);
      if (found && task === 'waiting') finish(world, index, found);
    },
  };
}

function isAlive(world: ApiWorld, owner: OwnerReference, namespace: string | undefined): boolean {
  const kind = world.kinds.byType(owner.apiVersion, owner.kind);
  if (!kind) return true;
  const found = world.store.get(kind.storageKey, kind.namespaced ? namespace : undefined, owner.name);
  return found?.metadata.uid === owner.uid;
}

function collect(world: ApiWorld, { kind, object }: Stored): void {
  const owners = object.metadata.ownerReferences ?? [];
  if (owners.length === 0 || owners.some((owner) => isAlive(world, owner, object.metadata.namespace))) return;
  deleteObject(world, kind, object, { propagationPolicy: 'Background' });
}

function finish(world: ApiWorld, index: DependentIndex, { kind, object }: Stored): void {
  const { uid = '', finalizers = [], namespace, name } = object.metadata;
  if (!finalizers.some((each) => PROPAGATING.includes(each))) return;
  if (finalizers.includes('orphan')) {
    for (const each of index.dependentsOf(uid)) disown(world, each, uid);
  } else {
    for (const each of index.dependentsOf(uid))
      deleteObject(world, each.kind, each.object, { propagationPolicy: 'Foreground' });
    if (index.dependentsOf(uid).length > 0) return;
  }
  const live = world.store.get(kind.storageKey, namespace, name);
  const kept = finalizers.filter((each) => !PROPAGATING.includes(each));
  if (live)
    updateObject(
      world,
      kind,
      { ...live, metadata: { ...live.metadata, finalizers: kept } },
      { manager: MANAGER },
    );
}

function disown(world: ApiWorld, { kind, object }: Stored, uid: string): void {
  const ownerReferences = object.metadata.ownerReferences?.filter((owner) => owner.uid !== uid) ?? [];
  updateObject(
    world,
    kind,
    { ...object, metadata: { ...object.metadata, ownerReferences } },
    { manager: MANAGER },
  );
}

/** Empties a namespace that is being deleted, and lets it go once nothing is left in it. */
export function namespaceController(world: ApiWorld): Controller {
  return {
    name: 'namespaces',
    keysFor(event) {
      const name =
        event.storageKey === '/namespaces' ? event.object.metadata.name : event.object.metadata.namespace;
      const going = name
        ? world.store.get('/namespaces', undefined, name)?.metadata.deletionTimestamp
        : undefined;
      return name && going ? [name] : [];
    },
    reconcile(name) {
      const namespace = world.store.get('/namespaces', undefined, name);
      if (!namespace?.metadata.deletionTimestamp) return;
      const content = everyObject(world).filter(({ object }) => object.metadata.namespace === name);
      for (const { kind, object } of content) {
        if (!object.metadata.deletionTimestamp) deleteObject(world, kind, object, {});
      }
      if (everyObject(world).some(({ object }) => object.metadata.namespace === name)) return;
      world.store.remove('/namespaces', {
        ...namespace,
        spec: { ...recordOf(namespace.spec), finalizers: [] },
      });
    },
  };
}

/** An object and its kind. */
interface Stored {
  readonly kind: KindInfo;
  readonly object: KubernetesObject;
}

/** Finds objects by uid and by owner without looking at everything. */
interface DependentIndex {
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
function createDependentIndex(world: ApiWorld): DependentIndex {
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
function everyObject(world: ApiWorld): Stored[] {
  const kinds = new Map(world.kinds.all().map((kind) => [kind.storageKey, kind]));
  return [...kinds.values()].flatMap((kind) =>
    world.store.list(kind.storageKey).map((object) => ({ kind, object })),
  );
}
