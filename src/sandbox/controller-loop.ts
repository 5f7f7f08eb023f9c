import type { Clock } from '../api/clock.ts';
import { ApiError } from './api-error.ts';
import type { Store, StoreEvent } from './store.ts';

const MAX_PASSES = 100_000;

/** One controller: which of its keys a change concerns, and how a key is brought to its desired state. */
export interface Controller {
  readonly name: string;
  /** Keys (mostly `namespace/name`) to look at after this change. */
  keysFor(event: StoreEvent): readonly string[];
  reconcile(key: string): void;
}

/** Runs controllers to a standstill, in one go and in a fixed order, so that tests on virtual time are exact. */
export interface ControllerLoop {
  add(controller: Controller): void;
  /** Works until nothing is left to do now. Called after each request and each timer. */
  drain(): void;
  /** Looks at a key again after a delay. A second call for the same key and controller replaces the first. */
  later(delayMs: number, controller: string, key: string): void;
  /** Looks at every stored object of this kind again, as if it had just been added. */
  touch(storageKey: string): void;
  /** The controller stands still, as one whose leader is gone; the returned function lets it go on with what it missed. */
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
