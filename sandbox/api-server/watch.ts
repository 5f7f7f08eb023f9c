import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { ApiError, badRequest, expired, statusOf } from './errors.ts';
import type { JsonRecord } from './json.ts';
import { apiVersionOf } from './kinds.ts';
import { filterOf, present, wantsMetadataOnly } from './list.ts';
import type { ApiWorld } from './object-writer.ts';
import type { ApiRequest, ResourcePath } from './request.ts';
import type { ObjectFilter } from './selectors.ts';
import type { StoreEvent } from './store.ts';

const BOOKMARK_INTERVAL_MS = 60_000;
const BOOKMARK_BEFORE_END_MS = 2_000;
const DEFAULT_TIMEOUT_SECONDS = 1800;

/** Where a watch writes to. */
interface WatchSink {
  send(event: { type: string; object: JsonRecord }): void;
  end(): void;
  /** Cuts the connection in the middle. */
  reset(): void;
}

/** An open watch. */
export interface Watch {
  readonly storageKey: string;
  bookmark(): void;
  /** Ends the stream as if the server had closed the connection in order. */
  stop(): void;
  /** Cuts the connection as a network fault would. */
  reset(): void;
}

interface WatchPlan {
  readonly target: ResourcePath;
  readonly matches: ObjectFilter;
  readonly bookmarks: boolean;
  readonly initialEvents: boolean;
  readonly version: number;
  readonly timeoutMs: number;
  readonly accept: string;
}

function planOf(request: ApiRequest, target: ResourcePath): WatchPlan {
  const { query } = request;
  const initialEvents = query.get('sendInitialEvents') === 'true';
  if (initialEvents && query.get('resourceVersionMatch') !== 'NotOlderThan') {
    throw new ApiError(
      422,
      'Invalid',
      'resourceVersionMatch: Forbidden: sendInitialEvents requires resourceVersionMatch=NotOlderThan',
    );
  }
  const version = Number(query.get('resourceVersion') || '0');
  if (Number.isNaN(version))
    throw badRequest(`Invalid value: "${query.get('resourceVersion')}": resourceVersion`);
  return {
    target,
    matches: filterOf(request, target),
    bookmarks: query.get('allowWatchBookmarks') === 'true',
    initialEvents,
    version,
    timeoutMs: Number(query.get('timeoutSeconds') || DEFAULT_TIMEOUT_SECONDS) * 1000,
    accept: request.accept,
  };
}

/** Starts a watch. Throws ApiError for bad parameters; a forgotten version arrives as an ERROR event, as on a real server. */
export function openWatch(
  world: ApiWorld,
  request: ApiRequest,
  target: ResourcePath,
  sink: WatchSink,
): Watch {
  const plan = planOf(request, target);
  const cancels: Array<() => void> = [];
  let open = true;
  const finish = (how: () => void): void => {
    if (!open) return;
    open = false;
    for (const cancel of cancels) cancel();
    how();
  };
  const stop = (): void => finish(sink.end);
  let announced = plan.version;
  const bookmark = (annotations?: Record<string, string>): void => {
    if (!open || !plan.bookmarks) return;
    announced = world.store.version();
    sink.send({ type: 'BOOKMARK', object: bookmarkObject(plan, announced, annotations) });
  };
  // As on a real server: a bookmark by the clock comes only when there is something new to say.
  const dueBookmark = (): void => {
    if (world.store.version() > announced) bookmark();
  };
  const watch: Watch = {
    storageKey: target.kind.storageKey,
    bookmark: () => bookmark(),
    stop,
    reset: () => finish(sink.reset),
  };
  const missed = sendBacklog(world, plan, sink);
  if (missed === 'expired') {
    stop();
    return watch;
  }
  if (plan.initialEvents) bookmark({ 'k8s.io/initial-events-end': 'true' });
  cancels.push(world.store.subscribe((event) => forward(plan, event, sink)));
  cancels.push(world.network.after(plan.timeoutMs, stop));
  if (plan.timeoutMs > BOOKMARK_BEFORE_END_MS) {
    cancels.push(world.network.after(plan.timeoutMs - BOOKMARK_BEFORE_END_MS, dueBookmark));
  }
  repeatBookmarks(world, dueBookmark, cancels, () => open);
  return watch;
}

function repeatBookmarks(
  world: ApiWorld,
  bookmark: () => void,
  cancels: Array<() => void>,
  isOpen: () => boolean,
): void {
  const position = cancels.length;
  const tick = (): void => {
    bookmark();
    if (isOpen()) cancels[position] = world.network.after(BOOKMARK_INTERVAL_MS, tick);
  };
  cancels.push(world.network.after(BOOKMARK_INTERVAL_MS, tick));
}

function sendBacklog(world: ApiWorld, plan: WatchPlan, sink: WatchSink): 'sent' | 'expired' {
  const { kind, namespace } = plan.target;
  if (plan.initialEvents || plan.version === 0) {
    for (const object of world.store.list(kind.storageKey, namespace).filter(plan.matches)) {
      sink.send({ type: 'ADDED', object: present(kind, object, plan.accept) });
    }
    return 'sent';
  }
  const events = world.store.since(kind.storageKey, plan.version);
  if (events === 'expired') {
    const error = expired(`too old resource version: ${plan.version} (${world.store.version()})`);
    sink.send({ type: 'ERROR', object: statusOf(error) });
    return 'expired';
  }
  for (const event of events) forward(plan, event, sink);
  return 'sent';
}

/** The event type for this watch: DELETED for an object that leaves the selection, ADDED for one that enters it. */
function forward(plan: WatchPlan, event: StoreEvent, sink: WatchSink): void {
  if (event.storageKey !== plan.target.kind.storageKey) return;
  const before = event.previous !== undefined && plan.matches(event.previous);
  const now = event.type !== 'DELETED' && plan.matches(event.object);
  if (!before && !now) return;
  const type = typeOf(before, now);
  const shown = type === 'DELETED' && event.previous ? lastState(event.previous, event) : event.object;
  sink.send({ type, object: present(plan.target.kind, shown, plan.accept) });
}

function typeOf(before: boolean, now: boolean): string {
  if (!now) return 'DELETED';
  return before ? 'MODIFIED' : 'ADDED';
}

function lastState(previous: KubernetesObject, event: StoreEvent): KubernetesObject {
  return { ...previous, metadata: { ...previous.metadata, resourceVersion: String(event.resourceVersion) } };
}

function bookmarkObject(plan: WatchPlan, version: number, annotations?: Record<string, string>): JsonRecord {
  const metadata = {
    resourceVersion: String(version),
    creationTimestamp: null,
    ...(annotations ? { annotations } : {}),
  };
  if (wantsMetadataOnly(plan.accept))
    return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata };
  return { kind: plan.target.kind.kind, apiVersion: apiVersionOf(plan.target.kind), metadata };
}
