import type { ServerResponse } from 'node:http';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import {
  answer,
  failure,
  type ScriptedServer,
  type SeenRequest,
  startScriptedServer,
} from './scripted-server.ts';

interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: KubernetesObject;
  readonly version: number;
}

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
  /** How the server takes the wish for a streamed list. */
  streaming: 'served' | 'refused' | 'ignored';
  close(): Promise<void>;
}

/** Starts it, empty, at version 10. */
export async function startWatchServer(): Promise<WatchServer> {
  const objects = new Map<string, KubernetesObject>();
  const open = new Set<ServerResponse>();
  const faults: Array<{ verb: string; times: number; play: (response: ServerResponse) => void }> = [];
  let history: Change[] = [];
  let oldest = 0;
  let version = 10;
  let muted = false;

  const line = (type: string, object: unknown) => `${JSON.stringify({ type, object })}\n`;
  const mark = (annotations?: object) =>
    line('BOOKMARK', { kind: 'ConfigMap', metadata: { resourceVersion: String(version), annotations } });

  function record(type: Change['type'], object: KubernetesObject): void {
    history.push({ type, object, version });
    if (!muted) for (const response of open) response.write(line(type, object));
  }

  function list(request: SeenRequest, response: ServerResponse): void {
    const all = [...objects.values()];
    const from = Number(request.query.get('continue') ?? '0');
    const page = all.slice(from, from + 2).map(({ apiVersion: _, kind: __, ...item }) => item);
    const next = from + 2 < all.length ? { continue: String(from + 2) } : {};
    answer(response, 200, {
      kind: 'ConfigMapList',
      metadata: { resourceVersion: String(version), ...next },
      items: page,
    });
  }

  function watch(request: SeenRequest, response: ServerResponse, self: WatchServer): void {
    const wantsState = request.query.has('sendInitialEvents');
    if (wantsState && self.streaming === 'refused') {
      return answer(response, 422, failure(422, 'Invalid', 'sendInitialEvents: Forbidden'));
    }
    const from = Number(request.query.get('resourceVersion') ?? '0');
    if (!wantsState && from < oldest) {
      response.writeHead(200);
      return void response.end(line('ERROR', failure(410, 'Expired', 'too old resource version')));
    }
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
    if (wantsState) for (const object of objects.values()) response.write(line('ADDED', object));
    else
      for (const change of history)
        if (change.version > from) response.write(line(change.type, change.object));
    if (wantsState && self.streaming === 'served')
      response.write(mark({ 'k8s.io/initial-events-end': 'true' }));
    open.add(response);
    response.on('close', () => open.delete(response));
  }

  const http = await startScriptedServer((request, response) => {
    if (request.path === '/api' || request.path === '/apis')
      return answer(response, 200, discoveryOf(request.path));
    const verb = request.query.has('watch') ? 'watch' : 'list';
    const fault = faults.find((each) => each.verb === verb && each.times > 0);
    if (fault) {
      fault.times -= 1;
      return fault.play(response);
    }
    if (verb === 'watch') watch(request, response, self);
    else list(request, response);
  });

  const self: WatchServer = {
    http,
    streaming: 'refused',
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
      record(known ? 'MODIFIED' : 'ADDED', object);
      return object;
    },
    remove(name) {
      const object = objects.get(name);
      if (!object) return;
      version += 1;
      objects.delete(name);
      record('DELETED', { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } });
    },
    truth: () =>
      Object.fromEntries([...objects].map(([name, { metadata }]) => [name, metadata.resourceVersion ?? ''])),
    watches: () => http.seen.filter(({ query }) => query.has('watch')).length,
    lists: () =>
      http.seen.filter(({ path, query }) => path.endsWith('configmaps') && !query.has('watch')).length,
    inject: (text) => open.forEach((response) => void response.write(text)),
    cut(how) {
      for (const response of open) how === 'end' ? response.end() : response.socket?.destroy();
      open.clear();
    },
    bookmark: () => open.forEach((response) => void response.write(mark())),
    mute(value) {
      muted = value;
    },
    compact() {
      history = [];
      oldest = version + 1;
      version += 1;
    },
    fault: (verb, times, play) => faults.push({ verb, times, play }),
    close: () => http.close(),
  };
  return self;
}

function discoveryOf(path: string): unknown {
  const verbs = ['get', 'list', 'watch'];
  const resources = [
    { resource: 'configmaps', responseKind: { kind: 'ConfigMap' }, scope: 'Namespaced', verbs },
  ];
  const items = path === '/api' ? [{ metadata: { name: '' }, versions: [{ version: 'v1', resources }] }] : [];
  return { kind: 'APIGroupDiscoveryList', items };
}
