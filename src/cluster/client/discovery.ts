import { type Clock, systemClock } from '../../api/clock.ts';
import type { ServerCapabilities } from '../../contracts/cluster.ts';
import { isApiError, localError } from '../errors.ts';
import type { ResourceInfo } from '../transport/request.ts';
import type { Transport } from '../transport/transport.ts';

/** The server's list of kinds, cached until it turns out to be old. */
export interface Discovery {
  /** Throws `unknownKind` when the server does not serve it; a cached list is fetched again first. */
  resolve(apiVersion: string, kind: string): Promise<ResourceInfo>;
  /** A kind of a group (empty: the core's) in the version that the server prefers; undefined when it is not served. */
  find(group: string, kind: string): Promise<ResourceInfo | undefined>;
  /** The version of the server, and every apiVersion, alone and with each of its kinds. */
  capabilities(): Promise<ServerCapabilities>;
  /** Forgets everything: a CRD was applied, or a path answered that it does not exist. */
  invalidate(): void;
}

type Resources = ReadonlyMap<string, ResourceInfo>;

const aggregatedAccept = [
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
  'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList',
  'application/json',
].join(',');
/** Discovery for a missing kind is repeated at most this often. */
const refreshPauseMs = 1_000;

/** Creates the kind table: two requests with aggregated discovery, one for each apiVersion in use on servers without it. */
export function createDiscovery(transport: Transport, clock: Clock = systemClock): Discovery {
  const lists = new Map<string, Promise<Resources>>();
  let loadedAtMs = Number.NEGATIVE_INFINITY;
  let loads = 0;
  let aggregated = true;
  let served: Promise<ServerCapabilities> | undefined;

  function load(key: string, read: () => Promise<ResourceInfo[]>): Promise<Resources> {
    const known = lists.get(key);
    if (known) return known;
    loadedAtMs = clock.nowMs();
    loads += 1;
    const loading = read().then(
      (infos) => new Map(infos.map((info) => [`${info.apiVersion} ${info.kind}`, info])),
    );
    lists.set(key, loading);
    loading.catch(() => {
      if (lists.get(key) === loading) lists.delete(key);
    });
    return loading;
  }

  async function readAll(): Promise<ResourceInfo[]> {
    const bodies = await Promise.all(
      ['/api', '/apis'].map((path) => readList(transport, path, aggregatedAccept)),
    );
    const infos = bodies.map(readAggregated);
    if (infos.includes(undefined)) aggregated = false;
    return infos.flatMap((list) => list ?? []);
  }

  async function lookUp(apiVersion: string, kind: string): Promise<ResourceInfo | undefined> {
    const key = `${apiVersion} ${kind}`;
    if (aggregated) {
      const found = (await load('', readAll)).get(key);
      if (found || aggregated) return found;
    }
    return (await load(apiVersion, () => readGroup(transport, apiVersion))).get(key);
  }

  function invalidate(): void {
    lists.clear();
    served = undefined;
  }

  async function find(group: string, kind: string): Promise<ResourceInfo | undefined> {
    if (aggregated) {
      const infos = [...(await load('', readAll)).values()];
      // Versions come in the server's order of preference.
      const found = infos.find(
        (info) =>
          info.kind === kind &&
          (group === '' ? !info.apiVersion.includes('/') : info.apiVersion.startsWith(`${group}/`)),
      );
      if (found || aggregated) return found;
    }
    const apiVersion = group === '' ? 'v1' : await preferredVersion(transport, group);
    return apiVersion === undefined ? undefined : lookUp(apiVersion, kind);
  }

  return {
    invalidate,
    capabilities() {
      served ??= load('', readAll).then((all) => capabilitiesOf(transport, aggregated ? all : undefined));
      served.catch(() => {
        served = undefined;
      });
      return served;
    },
    async find(group, kind) {
      const known = await find(group, kind);
      if (known || Math.abs(clock.nowMs() - loadedAtMs) < refreshPauseMs) return known;
      invalidate();
      return find(group, kind);
    },
    async resolve(apiVersion, kind) {
      const loadsBefore = loads;
      const known = await lookUp(apiVersion, kind);
      if (known) return known;
      // Another caller has fetched the list in between: it is fresh enough.
      const reloaded = loads > loadsBefore;
      if (reloaded || Math.abs(clock.nowMs() - loadedAtMs) >= refreshPauseMs) {
        if (!reloaded) invalidate();
        const fresh = await lookUp(apiVersion, kind);
        if (fresh) return fresh;
      }
      throw localError(
        'unknownKind',
        `the server has no kind ${kind} in ${apiVersion}; is its CRD installed?`,
        { status: 404 },
      );
    },
  };
}

async function readGroup(transport: Transport, apiVersion: string): Promise<ResourceInfo[]> {
  const path = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  try {
    return readResourceList(apiVersion, await readList(transport, path, 'application/json'));
  } catch (error) {
    if (isApiError(error, 'unknownKind', 'notFound')) return [];
    throw error;
  }
}

/** For servers without aggregated discovery; undefined when the group is not served. */
async function preferredVersion(transport: Transport, group: string): Promise<string | undefined> {
  try {
    const body = await readList(transport, `/apis/${group}`, 'application/json');
    return (body as { preferredVersion?: { groupVersion?: string } }).preferredVersion?.groupVersion;
  } catch (error) {
    if (isApiError(error, 'unknownKind', 'notFound')) return undefined;
    throw error;
  }
}

/** `resources`: all of them, from a server with aggregated discovery. */
async function capabilitiesOf(
  transport: Transport,
  resources: Resources | undefined,
): Promise<ServerCapabilities> {
  const object = 'the version of the server';
  const body = await transport.request({ verb: 'get', path: '/version', object });
  const { gitVersion } = (body ?? {}) as { gitVersion?: unknown };
  const [kubeVersion] = /^v\d+\.\d+\.\d+/.exec(String(gitVersion)) ?? [];
  if (kubeVersion === undefined)
    throw localError('badAnswer', `${object} is unknown: its answer to /version has no gitVersion`);
  const infos = [...(resources?.values() ?? [])];
  const names = resources ? infos.map(({ apiVersion }) => apiVersion) : await groupVersions(transport);
  const kinds = infos.map(({ apiVersion, kind }) => `${apiVersion}/${kind}`);
  return { kubeVersion, apiVersions: [...new Set([...names, ...kinds])].sort() };
}

/** Every apiVersion of a server without aggregated discovery. */
async function groupVersions(transport: Transport): Promise<string[]> {
  const body = (await readList(transport, '/apis', 'application/json')) as { groups?: unknown } | null;
  const groups = arrayOf<{ versions?: unknown }>(body?.groups);
  const versions = groups.flatMap(({ versions: all }) => arrayOf<{ groupVersion?: unknown }>(all));
  return ['v1', ...versions.map(({ groupVersion }) => String(groupVersion))];
}

function readList(transport: Transport, path: string, accept: string): Promise<unknown> {
  return transport.request({ verb: 'get', path, accept, object: `the kinds at ${path}` });
}

interface AggregatedResource {
  readonly resource?: string;
  readonly responseKind?: { readonly kind?: string };
  readonly scope?: string;
}

interface AggregatedGroup {
  readonly metadata?: { readonly name?: string };
  readonly versions?: ReadonlyArray<{
    readonly version?: string;
    readonly resources?: readonly AggregatedResource[];
  }>;
}

interface ListedResource {
  readonly name?: string;
  readonly kind?: string;
  readonly namespaced?: boolean;
}

/** Reads an APIGroupDiscoveryList (apidiscovery.k8s.io); undefined when the server answered in the older form. */
function readAggregated(body: unknown): ResourceInfo[] | undefined {
  const list = body as { kind?: unknown; items?: unknown } | null;
  if (list?.kind !== 'APIGroupDiscoveryList') return undefined;
  return arrayOf<AggregatedGroup>(list.items).flatMap((group) =>
    arrayOf<NonNullable<AggregatedGroup['versions']>[number]>(group.versions).flatMap((version) => {
      const name = group.metadata?.name ?? '';
      const apiVersion = name === '' ? (version.version ?? '') : `${name}/${version.version ?? ''}`;
      return arrayOf<AggregatedResource>(version.resources).flatMap((entry) =>
        aggregatedResource(apiVersion, entry),
      );
    }),
  );
}

function aggregatedResource(apiVersion: string, entry: AggregatedResource): ResourceInfo[] {
  const kind = entry.responseKind?.kind;
  if (!entry.resource || !kind) return [];
  return [
    {
      apiVersion,
      kind,
      plural: entry.resource,
      namespaced: entry.scope === 'Namespaced',
    },
  ];
}

/** Reads an APIResourceList of one apiVersion. */
function readResourceList(apiVersion: string, body: unknown): ResourceInfo[] {
  const entries = arrayOf<ListedResource>((body as { resources?: unknown } | null)?.resources);
  // The same list contains subresources, as `deployments/status`.
  const main = entries.filter((entry) => entry.name && entry.kind && !entry.name.includes('/'));
  return main.map((entry) => ({
    apiVersion,
    kind: entry.kind ?? '',
    plural: entry.name ?? '',
    namespaced: entry.namespaced === true,
  }));
}

function arrayOf<T>(value: unknown): readonly T[] {
  return Array.isArray(value) ? value.filter((entry) => entry !== null && entry !== undefined) : [];
}
