import { systemClock } from '../../api/clock.ts';
import {
  hashOfFields,
  type KubernetesObject,
  type LabelMatcher,
  parseLabelSelector,
  recordsOf,
} from '../../api/kubernetes.ts';
import type { WatchQuery } from '../../contracts/cluster.ts';
import { localError } from '../errors.ts';
import { silentLogger } from '../log.ts';
import {
  defaultTuning,
  type Reflector,
  type ReflectorHealth,
  type ReflectorOptions,
  type ReflectorTuning,
  startReflector,
} from './reflector.ts';
import { createStore, type ObjectStore, type ReadableStore } from './store.ts';
import type { StreamingLists } from './watch-session.ts';

/** A cache in use. */
export interface CacheHandle {
  readonly store: ReadableStore;
  /** Resolves when the store holds the server's whole state. Never act on absence before that. */
  synced(): Promise<void>;
  health(): ReflectorHealth;
  /** As the reflector's. */
  refresh(withinMs: number): Promise<boolean>;
  /** The watch stops when the last user has released it. Calling it again changes nothing. */
  release(): Promise<void>;
}

/** Watch caches by selection, started on demand and shared. */
export interface Caches {
  /** The cache of this selection. Throws `invalid` for a label selector that cannot be read. */
  ensure(selection: WatchQuery): CacheHandle;
  /** The answer to our own write: every cache that selects the object shows it from now on. */
  observe(object: KubernetesObject): void;
  /** The health of every running cache, for readiness and metrics. */
  health(): ReadonlyArray<ReflectorHealth & { readonly selection: WatchQuery }>;
  /** Stops every watch. */
  stop(): Promise<void>;
}

/** What all reflectors have in common. */
interface CachesOptions
  extends Pick<ReflectorOptions, 'transport' | 'discovery'>,
    Partial<Pick<ReflectorOptions, 'clock' | 'random' | 'logger'>> {
  readonly tuning?: Partial<ReflectorTuning>;
}

interface Entry {
  readonly selection: WatchQuery;
  readonly covers: (object: KubernetesObject) => boolean;
  readonly store: ObjectStore;
  readonly reflector: Reflector;
  users: number;
}

/** Creates an empty set of caches. */
export function createCaches(options: CachesOptions): Caches {
  const entries = new Map<string, Entry>();
  const streamingLists: StreamingLists = { supported: true };

  function start(selection: WatchQuery): Entry {
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
      const key = selectionKey(selection);
      const entry = entries.get(key) ?? start(selection);
      entries.set(key, entry);
      entry.users += 1;
      let released: Promise<void> | undefined;
      return {
        store: entry.store,
        synced: () => entry.reflector.synced(),
        health: () => entry.reflector.health(),
        refresh: (withinMs) => entry.reflector.refresh(withinMs),
        release() {
          released ??= release(key, entry);
          return released;
        },
      };
    },
    observe(object) {
      for (const { selection, store } of entries.values()) {
        const { apiVersion, kind, namespace = object.metadata.namespace } = selection;
        // A store of one namespace would take an object of another one for an object that left its selection.
        const mayBeIn = object.kind === kind && object.metadata.namespace === namespace;
        if (mayBeIn && object.apiVersion === apiVersion) store.upsert(object);
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

/** Whether the selection covers an object. Throws `invalid` for a label selector that cannot be read. */
function coverage({ namespace, name, labelSelector }: WatchQuery): (object: KubernetesObject) => boolean {
  let hasLabels: LabelMatcher;
  try {
    hasLabels = parseLabelSelector(labelSelector);
  } catch (error) {
    throw localError('invalid', error instanceof Error ? error.message : String(error));
  }
  return ({ metadata }) =>
    (namespace === undefined || metadata.namespace === namespace) &&
    (name === undefined || metadata.name === name) &&
    hasLabels(metadata.labels);
}

function selectionKey(selection: WatchQuery): string {
  const { apiVersion, kind, namespace, labelSelector, name } = selection;
  const { metadataOnly = false, endpointsOnly = false, lastApplied = false, managers = false } = selection;
  const trimming = [metadataOnly, endpointsOnly, lastApplied, managers];
  return JSON.stringify([apiVersion, kind, namespace, labelSelector, name, ...trimming]);
}

/** Large, seldom read, and for a Secret a copy of its content (even in metadata-only watches). */
const lastAppliedKey = 'kubectl.kubernetes.io/last-applied-configuration';

/** How much of an object is stored; everything by default. */
type Trimming = Pick<WatchQuery, 'metadataOnly' | 'endpointsOnly' | 'lastApplied' | 'managers'>;

/**
 * The stored form of an object: without managedFields (with `managers` the names in them stay, and a hash of the fields that each has applied) and,
 * unless `lastApplied` is set, without kubectl's copy of it; with `metadataOnly` its metadata alone, with `endpointsOnly` the labels, ports and ready pods of an EndpointSlice.
 */
export function trimForCache(object: KubernetesObject, trimming: Trimming): KubernetesObject {
  const { managedFields, ...metadata } = object.metadata;
  if (trimming.managers)
    metadata.managedFields = recordsOf(managedFields).map(({ manager, operation, subresource, fieldsV1 }) =>
      operation === 'Apply' && !subresource ? { manager, appliedHash: hashOfFields(fieldsV1) } : { manager },
    );
  if (!trimming.lastApplied && metadata.annotations && lastAppliedKey in metadata.annotations) {
    const { [lastAppliedKey]: __, ...annotations } = metadata.annotations;
    metadata.annotations = annotations;
  }
  const { apiVersion, kind } = object;
  if (trimming.metadataOnly) return { apiVersion, kind, metadata };
  return trimming.endpointsOnly ? endpointsAlone(object) : { ...object, metadata };
}

interface Endpoint {
  readonly conditions?: { readonly ready?: boolean };
  readonly targetRef?: { readonly uid?: string };
}

/** Addresses, nodes, zones and hints go, and the Service's own labels, which are copied to each slice. */
function endpointsAlone({ apiVersion, kind, metadata, ...slice }: KubernetesObject): KubernetesObject {
  const { name, namespace, uid, resourceVersion, labels = {} } = metadata;
  const kept = Object.entries(labels).filter(([key]) => key === serviceName);
  const endpoints = (slice.endpoints ?? []) as readonly Endpoint[];
  return {
    apiVersion,
    kind,
    metadata: { name, namespace, uid, resourceVersion, labels: Object.fromEntries(kept) },
    ports: slice.ports,
    endpoints: endpoints.map(({ conditions, targetRef }) => ({
      ...(conditions?.ready === false ? { conditions: { ready: false } } : {}),
      targetRef: { uid: targetRef?.uid },
    })),
  } as KubernetesObject;
}

const serviceName = 'kubernetes.io/service-name';
