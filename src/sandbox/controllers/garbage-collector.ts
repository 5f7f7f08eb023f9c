import type { OwnerReference } from '../../api/kubernetes.ts';
import type { Controller } from '../controller-loop.ts';
import { deleteObject } from '../object-deletion.ts';
import { type ApiWorld, updateObject } from '../object-writer.ts';
import { createDependentIndex, type DependentIndex, type Stored } from './dependents.ts';

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
