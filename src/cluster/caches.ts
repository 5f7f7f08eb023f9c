import { type Clock, systemClock } from '../api/clock.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';
import type { Random } from './backoff.ts';
import type { Discovery } from './discovery.ts';
import { type Logger, silentLogger } from './log.ts';
import {
  defaultTuning,
  type Reflector,
  type ReflectorHealth,
  type ReflectorTuning,
  startReflector,
} from './reflector.ts';
import { type LabelMatcher, parseLabelSelector } from './selector.ts';
import { createStore, type ObjectStore } from './store.ts';
import type { ReadableStore } from './store-table.ts';
import type { Transport } from './transport.ts';
import { trimForCache } from './trim.ts';
import type { Selection, StreamingLists } from './watch-session.ts';

/** A cache in use. */
export interface CacheHandle {
  readonly store: ReadableStore;
  /** Resolves when the store holds the server's whole state. Never act on absence before that. */
  synced(): Promise<void>;
  health(): ReflectorHealth;
  /** The watch stops when the last user has released it. Calling it again changes nothing. */
  release(): Promise<void>;
}

/** Watch caches by selection, started on demand and shared. */
export interface Caches {
  /** The cache of this selection. Throws `invalid` for a label selector that cannot be read. */
  ensure(selection: Selection): CacheHandle;
  /** The server stored this object for us: every cache that selects it shows it from now on. */
  observe(object: KubernetesObject): void;
  /** How every running cache fares, for readiness and metrics. */
  health(): ReadonlyArray<ReflectorHealth & { readonly selection: Selection }>;
  /** Stops every watch. */
  stop(): Promise<void>;
}

/** What caches are made of. */
export interface CachesOptions {
  readonly transport: Transport;
  readonly discovery: Discovery;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  readonly tuning?: Partial<ReflectorTuning>;
}

interface Entry {
  readonly selection: Selection;
  readonly covers: (object: KubernetesObject) => boolean;
  readonly store: ObjectStore;
  readonly reflector: Reflector;
  users: number;
}

/** Creates an empty set of caches. */
export function createCaches(options: CachesOptions): Caches {
  const entries = new Map<string, Entry>();
  const streamingLists: StreamingLists = { supported: true };

  function start(selection: Selection): Entry {
    const covers = coverage(selection);
    const logger = options.logger ?? silentLogger;
    const store = createStore({
      covers,
      trim: (object) => trimForCache(object, selection),
      onHandlerError: (error) =>
        logger.error({ kind: selection.kind, reason: String(error) }, 'a cache subscriber failed'),
    });
    const reflector = startReflector({
      selection,
      store,
      streamingLists,
      logger,
      transport: options.transport,
      discovery: options.discovery,
      clock: options.clock ?? systemClock,
      random: options.random ?? Math.random,
      tuning: { ...defaultTuning, ...options.tuning },
    });
    return { selection, covers, store, reflector, users: 0 };
  }

  async function release(key: string, entry: Entry): Promise<void> {
    entry.users -= 1;
    if (entry.users > 0) return;
    if (entries.get(key) === entry) entries.delete(key);
    await entry.reflector.stop();
  }

  return {
    ensure(selection) {
      const key = keyOf(selection);
      const entry = entries.get(key) ?? start(selection);
      entries.set(key, entry);
      entry.users += 1;
      let released: Promise<void> | undefined;
      return {
        store: entry.store,
        synced: () => entry.reflector.synced(),
        health: () => entry.reflector.health(),
        release() {
          released ??= release(key, entry);
          return released;
        },
      };
    },
    observe(object) {
      for (const { selection, store } of entries.values()) {
        if (object.apiVersion === selection.apiVersion && object.kind === selection.kind)
          observeIn(selection, store, object);
      }
    },
    health: () =>
      [...entries.values()].map(({ selection, reflector }) => ({ selection, ...reflector.health() })),
    async stop() {
      const running = [...entries.values()];
      entries.clear();
      await Promise.all(running.map(({ reflector }) => reflector.stop()));
    },
  };
}

/** Another namespace's object must not even be looked at: stores of one namespace would take it for a departure. */
function observeIn(selection: Selection, store: ObjectStore, object: KubernetesObject): void {
  if (selection.namespace === undefined || selection.namespace === object.metadata.namespace)
    store.upsert(object);
}

function coverage(selection: Selection): (object: KubernetesObject) => boolean {
  const fits: LabelMatcher = parseLabelSelector(selection.labelSelector);
  const { namespace, name } = selection;
  return ({ metadata }) =>
    (namespace === undefined || metadata.namespace === namespace) &&
    (name === undefined || metadata.name === name) &&
    fits(metadata.labels);
}

function keyOf(selection: Selection): string {
  const { apiVersion, kind, namespace, labelSelector, name } = selection;
  const { metadataOnly = false, endpointsOnly = false } = selection;
  return JSON.stringify([apiVersion, kind, namespace, labelSelector, name, metadataOnly, endpointsOnly]);
}
