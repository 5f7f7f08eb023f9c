import type { ServerResponse } from 'node:http';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import {
  answer,
  failure,
  type ScriptedServer,
  type SeenRequest,
  startScriptedServer,
} from './scripted-server.ts';

/** A server of one Lease and of pods, with watches, whose answers a test can take away. */
export interface LeaseServer {
  readonly http: ScriptedServer;
  lease(): Record<string, unknown> | undefined;
  leaseObject(): KubernetesObject | undefined;
  /** How many are open. */
  watches(): number;
  /** Another process writes the Lease. */
  overwrite(spec: Record<string, unknown>): void;
  removeLease(): void;
  /** Creates or changes a pod. */
  putPod(pod: TestPod): void;
  removePod(name: string): void;
  /** Answers every request for which `fits` is true with this from now on; undefined: works again. Open watches break. */
  fault(
    play: ((response: ServerResponse) => void) | undefined,
    fits?: (request: Pick<SeenRequest, 'path' | 'method'>) => boolean,
  ): void;
  /** How many reads and writes there were, watches left out. */
  requests(): number;
  close(): Promise<void>;
}

/** What a test says of a pod. */
interface TestPod {
  readonly name: string;
  readonly uid: string;
  readonly status?: Record<string, unknown>;
  readonly metadata?: Record<string, unknown>;
}

interface OpenWatch {
  readonly path: string;
  readonly plural: Plural;
  readonly name: string | undefined;
}

/** Starts it, empty. Writes over another version are refused, as by the real one. */
export async function startLeaseServer(): Promise<LeaseServer> {
  const open = new Map<ServerResponse, OpenWatch>();
  const objects = createLeaseObjects((change) => {
    for (const [response, watch] of open) if (isOf(change, watch)) response.write(line(change));
  });
  let broken: Parameters<LeaseServer['fault']>[0];
  let isBroken: NonNullable<Parameters<LeaseServer['fault']>[1]> = () => true;

  function watch(request: SeenRequest, response: ServerResponse): void {
    if (request.query.has('sendInitialEvents'))
      return answer(response, 422, failure(422, 'Invalid', 'sendInitialEvents: Forbidden'));
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
    const watched = { path: request.path, plural: placeOf(request).plural, name: nameIn(request) };
    for (const change of objects.since(Number(request.query.get('resourceVersion'))))
      if (isOf(change, watched)) response.write(line(change));
    open.set(response, watched);
    response.on('close', () => open.delete(response));
  }

  const http = await startScriptedServer((request, response) => {
    if (request.path === '/api' || request.path === '/apis')
      return answer(response, 200, discovery(request.path));
    if (broken && isBroken(request)) return broken(response);
    if (request.query.has('watch')) return watch(request, response);
    if (request.method === 'GET') return read(objects, request, response);
    write(objects, request, response);
  });

  return {
    http,
    lease: () => objects.get('leases', 'holdfast')?.spec as Record<string, unknown> | undefined,
    leaseObject: () => objects.get('leases', 'holdfast'),
    watches: () => open.size,
    overwrite: (spec) => void objects.put('leases', 'holdfast', { spec }),
    removeLease: () => objects.remove('leases', 'holdfast'),
    putPod: ({ name, uid, status = {}, metadata }) =>
      void objects.put('pods', name, { metadata: { ...metadata, uid }, status }),
    removePod: (name) => objects.remove('pods', name),
    fault(play, fits = () => true) {
      broken = play;
      isBroken = fits;
      if (!play) return;
      for (const [response, { path }] of open) if (fits({ method: 'GET', path })) response.socket?.destroy();
    },
    requests: () =>
      http.seen.filter(({ query, path }) => !query.has('watch') && !/^\/apis?$/.test(path)).length,
    close: () => http.close(),
  };
}

function read(objects: LeaseObjects, request: SeenRequest, response: ServerResponse): void {
  const { plural, name } = placeOf(request);
  if (!name) {
    const items = objects.list(plural, nameIn(request));
    const metadata = { resourceVersion: String(objects.version()) };
    return answer(response, 200, { kind: 'List', metadata, items });
  }
  const stored = objects.get(plural, name);
  if (stored) answer(response, 200, stored);
  else answer(response, 404, failure(404, 'NotFound', 'no', { name }));
}

function write(objects: LeaseObjects, request: SeenRequest, response: ServerResponse): void {
  const { metadata, spec } = request.body as KubernetesObject;
  const { plural, name = metadata.name } = placeOf(request);
  const stored = objects.get(plural, name);
  if (request.method === 'POST' && stored)
    return answer(response, 409, failure(409, 'AlreadyExists', 'there'));
  if (request.method === 'PATCH' && !stored)
    return answer(response, 404, failure(404, 'NotFound', 'no', { name }));
  if (stored && metadata.resourceVersion !== stored.metadata.resourceVersion)
    return answer(response, 409, failure(409, 'Conflict', 'modified'));
  const merged = { ...(stored?.spec as object | undefined), ...(spec as object) };
  answer(response, 200, objects.put(plural, name, { spec: merged }));
}

function placeOf({ path }: SeenRequest): { plural: Plural; name?: string } {
  const [plural, name] = path.split('/').slice(path.startsWith('/apis/') ? 6 : 5) as [Plural, string?];
  return { plural, ...(name ? { name } : {}) };
}

function isOf(change: Change, watch: OpenWatch): boolean {
  return change.plural === watch.plural && (!watch.name || change.object.metadata.name === watch.name);
}

function nameIn({ query }: SeenRequest): string | undefined {
  return /^metadata\.name=(.*)$/.exec(query.get('fieldSelector') ?? '')?.[1];
}

function line({ type, object }: Change): string {
  return `${JSON.stringify({ type, object })}\n`;
}

function discovery(path: string): unknown {
  const group = (name: string, resource: string, kind: string) => ({
    metadata: { name },
    versions: [
      {
        version: 'v1',
        resources: [{ resource, responseKind: { kind }, scope: 'Namespaced', verbs: ['watch'] }],
      },
    ],
  });
  const items =
    path === '/apis' ? [group('coordination.k8s.io', 'leases', 'Lease')] : [group('', 'pods', 'Pod')];
  return { kind: 'APIGroupDiscoveryList', items };
}

/** The kinds that leader election reads. */
type Plural = 'leases' | 'pods';

const kinds = {
  leases: { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' },
  pods: { apiVersion: 'v1', kind: 'Pod' },
} as const;

/** One event of a watch. */
interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly plural: Plural;
  readonly version: number;
  readonly object: KubernetesObject;
}

/** Leases and pods of one namespace, with their history. */
interface LeaseObjects {
  version(): number;
  get(plural: Plural, name: string): KubernetesObject | undefined;
  list(plural: Plural, name: string | undefined): KubernetesObject[];
  put(plural: Plural, name: string, content: Record<string, unknown>): KubernetesObject;
  remove(plural: Plural, name: string): void;
  since(version: number): Change[];
}

/** Starts empty; `notify` is called for each change. */
function createLeaseObjects(notify: (change: Change) => void): LeaseObjects {
  const objects = new Map<string, KubernetesObject>();
  const history: Change[] = [];
  let version = 0;

  function note(type: Change['type'], plural: Plural, object: KubernetesObject): KubernetesObject {
    const change = { type, plural, version, object };
    history.push(change);
    notify(change);
    return object;
  }

  return {
    version: () => version,
    get: (plural, name) => objects.get(`${plural}/${name}`),
    list: (plural, name) =>
      [...objects]
        .filter(([key]) => (name ? key === `${plural}/${name}` : key.startsWith(`${plural}/`)))
        .map(([, object]) => object),
    put(plural, name, { metadata, ...rest }) {
      version += 1;
      const key = `${plural}/${name}`;
      const own = { name, namespace: 'delivery', resourceVersion: String(version), uid: `uid-${name}` };
      const object = { ...kinds[plural], ...rest, metadata: { ...own, ...(metadata as object) } };
      const type = objects.has(key) ? 'MODIFIED' : 'ADDED';
      objects.set(key, object);
      return note(type, plural, object);
    },
    remove(plural, name) {
      const object = objects.get(`${plural}/${name}`);
      if (!object) return;
      version += 1;
      objects.delete(`${plural}/${name}`);
      const metadata = { ...object.metadata, resourceVersion: String(version) };
      note('DELETED', plural, { ...object, metadata });
    },
    since: (from) => history.filter((change) => change.version > from),
  };
}
