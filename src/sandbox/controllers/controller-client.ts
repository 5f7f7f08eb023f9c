import type { KubernetesObject } from '../../api/kubernetes.ts';
import { asRecord, asRecords, sameJson } from '../json.ts';
import type { KindInfo } from '../kinds.ts';
import { type DeleteOptions, deleteObject } from '../object-deletion.ts';
import { type ApiWorld, createObject, updateObject } from '../object-writer.ts';

/** What controllers do with the API, under one field manager. */
export interface ControllerClient {
  readonly nowMs: () => number;
  get(storageKey: string, namespace: string | undefined, name: string): KubernetesObject | undefined;
  list(storageKey: string, namespace?: string): KubernetesObject[];
  create(object: KubernetesObject): KubernetesObject;
  update(object: KubernetesObject): KubernetesObject;
  /** Writes `spec.replicas` as its scale subresource does. */
  scale(object: KubernetesObject, replicas: number): KubernetesObject;
  /** Writes `status`; nothing happens when it is the same. */
  updateStatus(object: KubernetesObject, status: unknown): KubernetesObject;
  remove(object: KubernetesObject, options?: DeleteOptions): void;
}

/** A client for controllers inside the sandbox. */
export function controllerClient(world: ApiWorld, manager: string): ControllerClient {
  function kindOf(object: KubernetesObject): KindInfo {
    const kind = world.kinds.byType(object.apiVersion, object.kind);
    if (!kind) throw new Error(`the sandbox serves no ${object.apiVersion} ${object.kind}`);
    return kind;
  }
  return {
    nowMs: () => world.clock.nowMs(),
    get: (storageKey, namespace, name) => world.store.get(storageKey, namespace, name),
    list: (storageKey, namespace) => world.store.list(storageKey, namespace),
    create: (object) => createObject(world, kindOf(object), object, { manager }),
    update: (object) => updateObject(world, kindOf(object), object, { manager }),
    scale: (object, replicas) =>
      updateObject(
        world,
        kindOf(object),
        { ...object, spec: { ...asRecord(object.spec), replicas } },
        { manager, subresource: 'scale' },
      ),
    updateStatus(object, status) {
      if (sameJson(object.status, status)) return object;
      return updateObject(world, kindOf(object), { ...object, status }, { manager, subresource: 'status' });
    },
    remove(object, options = {}) {
      const kind = kindOf(object);
      const live = world.store.get(kind.storageKey, object.metadata.namespace, object.metadata.name);
      if (live) deleteObject(world, kind, live, options);
    },
  };
}

/** True when `owner` controls the object. */
export function isControlledBy(object: KubernetesObject, owner: KubernetesObject): boolean {
  const references = asRecords(object.metadata.ownerReferences);
  return references.some(
    (reference) => reference.controller === true && reference.uid === owner.metadata.uid,
  );
}

/** The controlling owner's name, if it is of this kind. */
export function controllerName(object: KubernetesObject, kind: string): string | undefined {
  const reference = object.metadata.ownerReferences?.find((each) => each.controller === true);
  return reference?.kind === kind ? reference.name : undefined;
}

/** `namespace/name`. */
export function keyOf(object: KubernetesObject): string {
  return `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
}

/** Both halves of `namespace/name`. */
export function splitKey(key: string): [string, string] {
  const [namespace = '', name = ''] = key.split('/');
  return [namespace, name];
}
