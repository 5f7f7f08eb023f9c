import type { KubernetesObject, OwnerReference } from '../../api/kubernetes.ts';
import type { Controller } from '../controller-loop.ts';
import type { KindInfo } from '../kinds.ts';
import { deleteObject } from '../object-deletion.ts';
import { type ApiWorld, updateObject } from '../object-writer.ts';

const MANAGER = 'kube-controller-manager';

/** Deletes what has lost all its owners, and serves the propagation policies Orphan and Foreground. */
export function garbageCollector(world: ApiWorld): Controller {
  return {
    name: 'garbage',
    keysFor(event) {
      const { uid, ownerReferences, finalizers } = event.object.metadata;
      if (event.type === 'DELETED')
        return [`owner ${uid}`, ...(ownerReferences ?? []).map((owner) => `waiting ${owner.uid}`)];
      const waits = (finalizers ?? []).some((each) => each === 'orphan' || each === 'foregroundDeletion');
      return [
        ...(event.type === 'ADDED' && ownerReferences?.length ? [`dependent ${uid}`] : []),
        ...(event.object.metadata.deletionTimestamp && waits ? [`waiting ${uid}`] : []),
      ];
    },
    reconcile(key) {
      const [task = '', uid = ''] = key.split(' ');
      const found =
        task === 'owner'
          ? dependentsOf(world, uid)
          : everyObject(world).filter(({ object }) => object.metadata.uid === uid);
      for (const each of found) task === 'waiting' ? finish(world, each) : collect(world, each);
    },
  };
}

/** An object and its kind. */
export interface Stored {
  readonly kind: KindInfo;
  readonly object: KubernetesObject;
}

/** Every object of every kind. */
export function everyObject(world: ApiWorld): Stored[] {
  const kinds = new Map(world.kinds.all().map((kind) => [kind.storageKey, kind]));
  return [...kinds.values()].flatMap((kind) =>
    world.store.list(kind.storageKey).map((object) => ({ kind, object })),
  );
}

function dependentsOf(world: ApiWorld, uid: string): Stored[] {
  return everyObject(world).filter(({ object }) =>
    object.metadata.ownerReferences?.some((owner) => owner.uid === uid),
  );
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

function finish(world: ApiWorld, { kind, object }: Stored): void {
  const finalizers = object.metadata.finalizers ?? [];
  const dependents = dependentsOf(world, object.metadata.uid ?? '');
  if (finalizers.includes('orphan')) {
    for (const each of dependents) disown(world, each, object.metadata.uid ?? '');
  } else if (finalizers.includes('foregroundDeletion')) {
    for (const each of dependents)
      deleteObject(world, each.kind, each.object, { propagationPolicy: 'Foreground' });
    if (dependentsOf(world, object.metadata.uid ?? '').length > 0) return;
  } else return;
  const kept = finalizers.filter((each) => each !== 'orphan' && each !== 'foregroundDeletion');
  const live = world.store.get(kind.storageKey, object.metadata.namespace, object.metadata.name);
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
