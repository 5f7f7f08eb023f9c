import type { Clock } from '../../src/api/clock.ts';
import { type KubernetesObject, recordOf, recordsOf } from '../../src/api/kubernetes.ts';
import { ApiError } from '../api-server/errors.ts';
import { type JsonRecord, sameJson } from '../api-server/json.ts';
import type { KindInfo } from '../api-server/kinds.ts';
import { type DeleteOptions, deleteObject } from '../api-server/object-deletion.ts';
import { type ApiWorld, createObject, updateObject } from '../api-server/object-writer.ts';
import type { Store, StoreEvent } from '../api-server/store.ts';

const MAX_PASSES = 100_000;

/** One controller: which of its keys a change concerns, and how a key is brought to its desired state. */
export interface Controller {
  readonly name: string;
  /** Keys (mostly `namespace/name`) to reconcile after this change. */
  keysFor(event: StoreEvent): readonly string[];
  reconcile(key: string): void;
}

/** Runs controllers to a standstill, in one go and in a fixed order, so that tests on virtual time are exact. */
export interface ControllerLoop {
  add(controller: Controller): void;
  /** Works until nothing is left to do now. Called after each request and each timer. */
  drain(): void;
  /** Reconciles a key again after a delay. A second call for the same key and controller replaces the first. */
  later(delayMs: number, controller: string, key: string): void;
  /** Reconciles every stored object of this kind again, as if it had just been added. */
  touch(storageKey: string): void;
  /** Stops the controller, as after the loss of its leader; the returned function resumes it with the missed changes. */
  hold(controller: string): () => void;
  close(): void;
}

/** A loop over the store's changes. */
export function createControllerLoop(store: Store, clock: Clock): ControllerLoop {
  const controllers = new Map<string, Controller>();
  const dirty = new Map<string, { controller: string; key: string }>();
  const timers = new Map<string, () => void>();
  const held = new Set<string>();
  let draining = false;
  let closed = false;

  function mark(controller: string, key: string): void {
    dirty.set(`${controller}|${key}`, { controller, key });
  }

  function notice(event: StoreEvent): void {
    for (const controller of controllers.values()) {
      for (const key of controller.keysFor(event)) mark(controller.name, key);
    }
  }

  const unsubscribe = store.subscribe(notice);

  function drain(): void {
    if (draining || closed) return;
    draining = true;
    try {
      for (let passes = 0; dirty.size > 0; passes += 1) {
        if (passes > MAX_PASSES) throw new Error('the sandbox controllers do not come to rest');
        const [id, work] = [...dirty.entries()].find(([, { controller }]) => !held.has(controller)) ?? [];
        if (!id || !work) return;
        dirty.delete(id);
        runOne(controllers.get(work.controller), work.key);
      }
    } finally {
      draining = false;
    }
  }

  return {
    add: (controller) => void controllers.set(controller.name, controller),
    drain,
    later(delayMs, controller, key) {
      const id = `${controller}|${key}`;
      timers.get(id)?.();
      const cancel = clock.after(delayMs, () => {
        timers.delete(id);
        mark(controller, key);
        drain();
      });
      timers.set(id, cancel);
    },
    touch(storageKey) {
      const resourceVersion = store.version();
      for (const object of store.list(storageKey))
        notice({ type: 'ADDED', storageKey, object, resourceVersion });
      drain();
    },
    hold(controller) {
      held.add(controller);
      return () => {
        held.delete(controller);
        drain();
      };
    },
    close() {
      closed = true;
      unsubscribe();
      for (const cancel of timers.values()) cancel();
    },
  };
}

/** The API may refuse a controller too (a namespace that is going away); the next change asks again. */
function runOne(controller: Controller | undefined, key: string): void {
  try {
    controller?.reconcile(key);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
}

/** What controllers do with the API, under one field manager. */
export interface ControllerClient {
  readonly nowMs: () => number;
  get(storageKey: string, namespace: string | undefined, name: string): KubernetesObject | undefined;
  list(storageKey: string, namespace?: string): KubernetesObject[];
  create(object: KubernetesObject): KubernetesObject;
  /** Nothing happens when it is what is stored. */
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
    update(object) {
      const kind = kindOf(object);
      const live = world.store.get(kind.storageKey, object.metadata.namespace, object.metadata.name);
      return live && sameJson(object, live) ? live : updateObject(world, kind, object, { manager });
    },
    scale: (object, replicas) =>
      updateObject(
        world,
        kindOf(object),
        { ...object, spec: { ...recordOf(object.spec), replicas } },
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
  const references = recordsOf(object.metadata.ownerReferences);
  return references.some(
    (reference) => reference.controller === true && reference.uid === owner.metadata.uid,
  );
}

/** The controlling owner's name, if it is of this kind. */
export function controllerName(object: KubernetesObject, kind: string): string | undefined {
  const reference = object.metadata.ownerReferences?.find((each) => each.controller === true);
  return reference?.kind === kind ? reference.name : undefined;
}

/** The key of the object of this kind that controls what changed, if that is one of the stored objects `of`. */
export function controllersOf({ storageKey, object }: StoreEvent, of: string, kind: string): string[] {
  const owner = storageKey === of ? controllerName(object, kind) : undefined;
  return owner ? [`${object.metadata.namespace}/${owner}`] : [];
}

/** Both halves of `namespace/name`. */
export function splitKey(key: string): [string, string] {
  const [namespace = '', name = ''] = key.split('/');
  return [namespace, name];
}

/** The condition of this type, if there is one. */
export function findCondition(conditions: unknown, type: string): JsonRecord | undefined {
  return recordsOf(conditions).find((condition) => condition.type === type);
}

/** New conditions; `lastTransitionTime` stays where the status did not change. */
export function withTransitions(previous: unknown, wanted: readonly JsonRecord[], now: string): JsonRecord[] {
  return wanted.map((condition) => {
    const before = findCondition(previous, String(condition.type));
    const same = before !== undefined && before.status === condition.status;
    return { ...condition, lastTransitionTime: same ? before.lastTransitionTime : now };
  });
}
