import type { ServerResponse } from 'node:http';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import {
  answer,
  failure,
  type ScriptedServer,
  type SeenRequest,
  startScriptedServer,
} from './scripted-server.ts';

/** How a server answers a request for a streamed list. */
export type Streaming = 'served' | 'refused' | 'ignored';

/** A server of ConfigMaps whose connections a test can break in every way. */
export interface WatchServer {
  readonly http: ScriptedServer;
  /** Creates or changes an object. Returns it as stored. */
  put(name: string, value: string): KubernetesObject;
  remove(name: string): void;
  /** What a reflector's store should hold: name to resourceVersion. */
  truth(): Record<string, string>;
  watches(): number;
  lists(): number;
  /** Writes raw text to every open watch. */
  inject(text: string): void;
  cut(how: 'reset' | 'end'): void;
  bookmark(): void;
  /** Changes are no longer sent, though connections stay open. */
  mute(muted: boolean): void;
  /** Older versions are answered with 410. */
  compact(): void;
  /** The next requests of a verb go to this instead. */
  fault(verb: 'list' | 'watch', times: number, play: (response: ServerResponse) => void): void;
  streaming: Streaming;
  close(): Promise<void>;
}

/** Starts it, empty. */
export async function startWatchServer(): Promise<WatchServer> {
  const world = createConfigMaps();
  const open = new Set<ServerResponse>();
  const faults = createFaults();
  const pages = new Map<number, KubernetesObject[]>();
  let muted = false;

  function send(change: Change | undefined): void {
    if (!change || muted) return;
    for (const response of open) response.write(line(change.type, change.object));
  }

  const http = await startScriptedServer((request, response) => {
    if (request.path === '/api' || request.path === '/apis')
      return answer(response, 200, discoveryOf(request.path));
    if (faults.play(request, response)) return;
    if (!isWatch(request)) return list(world, pages, request, response);
    if (!openWatch(world, self.streaming, request, response)) return;
    open.add(response);
    response.on('close', () => open.delete(response));
  });

  const self: WatchServer = {
    http,
    streaming: 'refused',
    put(name, value) {
      const change = world.put(name, value);
      send(change);
      return change.object;
    },
    remove: (name) => send(world.remove(name)),
    truth: () =>
      Object.fromEntries(world.all().map(({ metadata }) => [metadata.name, metadata.resourceVersion ?? ''])),
    watches: () => http.seen.filter(isWatch).length,
    lists: () =>
      http.seen.filter((request) => request.path.endsWith('configmaps') && !isWatch(request)).length,
    inject(text) {
      for (const response of open) response.write(text);
    },
    cut(how) {
      for (const response of open) how === 'end' ? response.end() : response.socket?.destroy();
      open.clear();
    },
    bookmark() {
      for (const response of open) response.write(bookmark(world));
    },
    mute(value) {
      muted = value;
    },
    compact: () => world.compact(),
    fault: faults.add,
    close: () => http.close(),
  };
  return self;
}

function createFaults() {
  const faults: Array<{ verb: string; times: number; play: (response: ServerResponse) => void }> = [];
  return {
    add(verb: 'list' | 'watch', times: number, play: (response: ServerResponse) => void): void {
      faults.push({ verb, times, play });
    },
    play(request: SeenRequest, response: ServerResponse): boolean {
      const verb = isWatch(request) ? 'watch' : 'list';
      const fault = faults.find((each) => each.verb === verb && each.times > 0);
      if (!fault) return false;
      fault.times -= 1;
      fault.play(response);
      return true;
    },
  };
}

/** All pages of a list are of the moment of its first, as in Kubernetes: `pages` holds them by their version. */
function list(
  world: ConfigMaps,
  pages: Map<number, KubernetesObject[]>,
  request: SeenRequest,
  response: ServerResponse,
): void {
  const [version = 0, from = 0] = request.query.get('continue')?.split(':').map(Number) ?? [world.version()];
  const all = pages.get(version) ?? world.all();
  pages.set(version, all);
  const items = all.slice(from, from + 2).map(({ apiVersion: _, kind: __, ...item }) => item);
  const next = from + 2 < all.length ? { continue: `${version}:${from + 2}` } : {};
  answer(response, 200, {
    kind: 'ConfigMapList',
    metadata: { resourceVersion: String(version), ...next },
    items,
  });
}

/** Starts the stream with earlier events; false when it ended immediately. */
function openWatch(
  world: ConfigMaps,
  streaming: Streaming,
  request: SeenRequest,
  response: ServerResponse,
): boolean {
  const wantsState = request.query.has('sendInitialEvents');
  if (wantsState && streaming === 'refused') {
    answer(response, 422, failure(422, 'Invalid', 'sendInitialEvents: Forbidden'));
    return false;
  }
  response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
  if (wantsState) {
    for (const object of world.all()) response.write(line('ADDED', object));
    if (streaming === 'served') response.write(bookmark(world, { 'k8s.io/initial-events-end': 'true' }));
    return true;
  }
  const changes = world.since(Number(request.query.get('resourceVersion')));
  if (!changes) response.end(line('ERROR', failure(410, 'Expired', 'too old resource version')));
  else for (const change of changes) response.write(line(change.type, change.object));
  return changes !== undefined;
}

function isWatch(request: SeenRequest): boolean {
  return request.query.has('watch');
}

function line(type: string, object: unknown): string {
  return `${JSON.stringify({ type, object })}\n`;
}

function bookmark(world: ConfigMaps, annotations?: Record<string, string>): string {
  return line('BOOKMARK', {
    kind: 'ConfigMap',
    metadata: { resourceVersion: String(world.version()), annotations },
  });
}

function discoveryOf(path: string): unknown {
  const verbs = ['get', 'list', 'watch'];
  const resources = [
    { resource: 'configmaps', responseKind: { kind: 'ConfigMap' }, scope: 'Namespaced', verbs },
  ];
  const items = path === '/api' ? [{ metadata: { name: '' }, versions: [{ version: 'v1', resources }] }] : [];
  return { kind: 'APIGroupDiscoveryList', items };
}

/** One event of a watch. */
interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: KubernetesObject;
  readonly version: number;
}

/** The server's side of the story: ConfigMaps in one namespace, with their history. */
interface ConfigMaps {
  version(): number;
  all(): KubernetesObject[];
  put(name: string, value: string): Change;
  remove(name: string): Change | undefined;
  /** Changes after a version; undefined when they are forgotten. */
  since(version: number): Change[] | undefined;
  /** Forgets all history. */
  compact(): void;
}

/** Starts empty, at version 10. */
function createConfigMaps(): ConfigMaps {
  const objects = new Map<string, KubernetesObject>();
  let history: Change[] = [];
  let oldest = 0;
  let version = 10;

  function record(type: Change['type'], object: KubernetesObject): Change {
    const change = { type, object, version };
    history.push(change);
    return change;
  }

  return {
    version: () => version,
    all: () => [...objects.values()],
    put(name, value) {
      version += 1;
      const known = objects.get(name);
      const uid = known?.metadata.uid ?? `uid-${name}-${version}`;
      const metadata = {
        namespace: 'shop',
        name,
        uid,
        resourceVersion: String(version),
        managedFields: [{}],
      };
      const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { value } };
      objects.set(name, object);
      return record(known ? 'MODIFIED' : 'ADDED', object);
    },
    remove(name) {
      const object = objects.get(name);
      if (!object) return undefined;
      version += 1;
      objects.delete(name);
      return record('DELETED', {
        ...object,
        metadata: { ...object.metadata, resourceVersion: String(version) },
      });
    },
    since: (from) => (from < oldest ? undefined : history.filter((change) => change.version > from)),
    compact() {
      history = [];
      version += 1;
      oldest = version;
    },
  };
}
