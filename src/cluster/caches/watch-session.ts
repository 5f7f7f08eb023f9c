import type { Clock } from '../../api/clock.ts';
import { type KubernetesObject, namespacedName } from '../../api/kubernetes.ts';
import type { WatchQuery } from '../../contracts/cluster.ts';
import type { Discovery } from '../client/discovery.ts';
import { acceptHeader, asKind, collectionPath, listAll, selectorsOf } from '../client/list.ts';
import { errorFromStatus, isApiError, localError } from '../errors.ts';
import { createWatchdog, linkSignals, type Random } from '../timing.ts';
import type { ResourceInfo } from '../transport/request.ts';
import type { Transport } from '../transport/transport.ts';
import { compareResourceVersions, type ObjectStore } from './store.ts';

/** Whether this server can send its whole state through a watch (WatchList); shared by all reflectors of one server. */
export interface StreamingLists {
  supported: boolean;
}

/** Times of one connection. */
export interface SessionTuning {
  /** How long the server holds one watch open, in seconds; chosen at random for each. */
  readonly watchSeconds: { readonly minimum: number; readonly maximum: number };
  /** If no initial event comes for this long, the server is assumed not to support streaming lists. */
  readonly initialSilenceMs: number;
}

/** What a connection works with. */
export interface SessionOptions {
  readonly selection: WatchQuery;
  readonly store: ObjectStore;
  readonly transport: Transport;
  readonly discovery: Discovery;
  readonly streamingLists: StreamingLists;
  readonly clock: Clock;
  readonly random: Random;
  readonly tuning: SessionTuning;
  /** The server opened a watch, or sent a line or a whole list. */
  readonly onContact: (what: 'opened' | 'data') => void;
  /** The store holds the server's whole state. */
  readonly onState: () => void;
  /** A watch is being opened. */
  readonly onWatch: () => void;
}

/** Where the next watch starts. */
export interface Position {
  /** Undefined: with the whole state. */
  resourceVersion: string | undefined;
  /** The next connection starts with the whole state, wherever we are. */
  stateDue: boolean;
}

/** Follows the resource over one connection until the server ends it. Throws the error that ended it; `position` then says where to continue. */
export async function listAndWatch(
  options: SessionOptions,
  position: Position,
  signal: AbortSignal,
): Promise<void> {
  const { selection, discovery, streamingLists } = options;
  if (position.stateDue) position.resourceVersion = undefined;
  try {
    const info = await discovery.resolve(selection.apiVersion, selection.kind);
    if (position.resourceVersion === undefined && streamingLists.supported) {
      if (await watchWithInitialEvents(options, position, info, signal)) return;
    }
    if (position.resourceVersion === undefined) await readState(options, position, info, signal);
    await watchFromPosition(options, position, info, signal);
  } catch (error) {
    if (isApiError(error, 'unknownKind')) discovery.invalidate();
    if (!canResume(error)) position.resourceVersion = undefined;
    throw error;
  }
}

const resumableKinds = [
  'transient',
  'timeout',
  'tooManyRequests',
  'unauthorized',
  'forbidden',
  'aborted',
] as const;

/** Only a broken connection or a refused request leaves our position valid; after anything else an event may be lost. */
function canResume(error: unknown): boolean {
  if (!isApiError(error)) return true;
  // A server restored from a backup does not know our version yet, and would make us wait for it.
  return isApiError(error, ...resumableKinds) && !/too large resource version/i.test(error.message);
}

async function readState(
  options: SessionOptions,
  position: Position,
  info: ResourceInfo,
  signal: AbortSignal,
): Promise<void> {
  const { items, resourceVersion } = await listAll(options.transport, info, { ...options.selection, signal });
  options.store.replace(items, resourceVersion);
  options.onContact('data');
  stateTaken(options, position, resourceVersion);
}

function stateTaken(options: SessionOptions, position: Position, resourceVersion: string): void {
  position.resourceVersion = resourceVersion;
  position.stateDue = false;
  options.onState();
}

async function watchFromPosition(
  options: SessionOptions,
  position: Position,
  info: ResourceInfo,
  signal: AbortSignal,
): Promise<void> {
  const query = { resourceVersion: position.resourceVersion ?? '' };
  for await (const event of events(options, info, query, signal)) {
    takeEvent(options, position, event);
  }
}

function takeEvent(options: SessionOptions, position: Position, event: WatchEvent): void {
  const version = event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata.resourceVersion;
  // Events of a watch are ordered. A server restored from a backup would stay silent until its versions have caught up with ours.
  if (compareResourceVersions(version, position.resourceVersion, 0) < 0) {
    throw localError(
      'badAnswer',
      `watch ${options.selection.kind}: the server's version went back to ${version}`,
    );
  }
  if (event.type !== 'BOOKMARK') options.store.applyEvent(event.type, event.object);
  position.resourceVersion = version ?? position.resourceVersion;
}

/** Takes the whole state and what follows from one watch. False when the server cannot do that. */
async function watchWithInitialEvents(
  options: SessionOptions,
  position: Position,
  info: ResourceInfo,
  signal: AbortSignal,
): Promise<boolean> {
  const { clock, tuning, streamingLists } = options;
  const opening = linkSignals(signal);
  const patience = createWatchdog(clock, tuning.initialSilenceMs, () => opening.abort());
  const query = { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' };
  const state = new Map<string, KubernetesObject>();
  try {
    for await (const event of events(options, info, query, opening.signal)) {
      patience.contact();
      if (position.resourceVersion !== undefined) takeEvent(options, position, event);
      else if (collect(state, event)) {
        patience.stop();
        options.store.replace([...state.values()], event.resourceVersion);
        state.clear();
        stateTaken(options, position, event.resourceVersion);
      }
    }
  } catch (error) {
    // Servers without the feature refuse the request; older ones ignore the parameter and never mark the end of the state.
    if (!opening.abortedHere() && !isApiError(error, 'invalid')) throw error;
    streamingLists.supported = false;
    return false;
  } finally {
    patience.stop();
    opening.release();
  }
  if (position.resourceVersion === undefined)
    throw localError('transient', `watch ${info.plural}: ended before the initial list was complete`);
  return true;
}

type EndOfState = WatchEvent & { readonly type: 'BOOKMARK' };

/** Gathers initial events; true when `event` marks their end. */
function collect(state: Map<string, KubernetesObject>, event: WatchEvent): event is EndOfState {
  if (event.type === 'BOOKMARK') return event.endOfInitialEvents;
  const key = namespacedName(event.object);
  if (event.type === 'DELETED') state.delete(key);
  else state.set(key, event.object);
  return false;
}

async function* events(
  options: SessionOptions,
  info: ResourceInfo,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent> {
  const { selection, transport, tuning, random } = options;
  const { minimum, maximum } = tuning.watchSeconds;
  options.onWatch();
  const stream = await transport.stream({
    verb: 'watch',
    path: collectionPath(info, selection.namespace),
    query: {
      watch: 'true',
      allowWatchBookmarks: 'true',
      timeoutSeconds: String(Math.round(minimum + random() * (maximum - minimum))),
      ...selectorsOf(selection),
      ...query,
    },
    accept: acceptHeader(selection, 'PartialObjectMetadata'),
    object: selection.namespace ? `${info.plural} in ${selection.namespace}` : info.plural,
    secret: info.kind === 'Secret',
    signal,
  });
  options.onContact('opened');
  for await (const line of readLines(stream.body)) {
    options.onContact('data');
    if (line.trim()) yield parseWatchLine(info, line);
  }
}

/** One line of a watch. */
type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubernetesObject }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string; readonly endOfInitialEvents: boolean };

/** A single object cannot be larger than about 1.5 MB in etcd; its event with old-style metadata stays far below this. */
const maximumLineBytes = 16 * 1024 * 1024;

/** Splits a byte stream into lines. Throws `badAnswer` for a line beyond 16 MiB; a part line at the end is dropped. */
async function* readLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let pending: Uint8Array[] = [];
  let pendingBytes = 0;
  for await (const chunk of body) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      yield Buffer.concat([...pending, chunk.subarray(start, end)]).toString('utf8');
      pending = [];
      pendingBytes = 0;
      start = end + 1;
    }
    pending.push(chunk.subarray(start));
    pendingBytes += chunk.length - start;
    if (pendingBytes > maximumLineBytes)
      throw localError('badAnswer', `watch: a line of more than ${maximumLineBytes} bytes`);
  }
}

/** Reads one line. Throws `badAnswer` when it makes no sense (an event was lost: list again), else what an ERROR event says. */
function parseWatchLine(info: ResourceInfo, line: string): WatchEvent {
  const event = parseJson(info, line);
  switch (event.type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type: event.type, object: asKind(info, event.object) };
    case 'BOOKMARK':
      return bookmark(info, event.object);
    case 'ERROR': {
      const code = (event.object as { code?: unknown } | null)?.code;
      throw errorFromStatus(
        { verb: 'watch', object: info.plural, secret: info.kind === 'Secret' },
        typeof code === 'number' ? code : 500,
        event.object,
      );
    }
    default:
      throw localError('badAnswer', `watch ${info.plural}: unknown event type`);
  }
}

function parseJson(info: ResourceInfo, line: string): { type?: unknown; object?: unknown } {
  try {
    const event: unknown = JSON.parse(line);
    if (typeof event === 'object' && event !== null) return event;
  } catch {
    // Reported below, without the line: it may hold a Secret.
  }
  throw localError(
    'badAnswer',
    `watch ${info.plural}: a line of ${line.length} characters is not a watch event`,
  );
}

function bookmark(info: ResourceInfo, object: unknown): WatchEvent {
  const metadata = (object as Partial<KubernetesObject> | null)?.metadata;
  if (typeof metadata?.resourceVersion !== 'string') {
    throw localError('badAnswer', `watch ${info.plural}: a bookmark without resourceVersion`);
  }
  return {
    type: 'BOOKMARK',
    resourceVersion: metadata.resourceVersion,
    endOfInitialEvents: metadata.annotations?.['k8s.io/initial-events-end'] === 'true',
  };
}
