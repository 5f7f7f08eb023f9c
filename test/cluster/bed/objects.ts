import { setTimeout as sleep } from 'node:timers/promises';
import type { Condition, KubernetesObject } from '../../../src/api/kubernetes.ts';
import { type ApiClient, ApiError } from './api-client.ts';

interface Resource {
  readonly path: string;
  readonly plural: string;
  readonly namespaced: boolean;
}
interface DiscoveredResource {
  readonly resource: string;
  readonly singularResource?: string;
  readonly responseKind?: { readonly kind: string };
  readonly scope: string;
}
interface DiscoveryList {
  readonly items: ReadonlyArray<{
    readonly metadata: { readonly name?: string };
    readonly versions: ReadonlyArray<{
      readonly version: string;
      readonly resources?: readonly DiscoveredResource[];
    }>;
  }>;
}

/** Objects by kind, plural, or `kind.group`, without a process of kubectl for each. */
export interface Objects {
  /** The object, or undefined when there is none. Throws ApiError for anything else, Error for a kind the server does not know. */
  read(kind: string, namespace: string, name: string): Promise<KubernetesObject | undefined>;
  /** All objects of a kind in a namespace, those that match the label selector when one is given. */
  list(kind: string, namespace: string, labelSelector?: string): Promise<readonly KubernetesObject[]>;
  /** As `kubectl apply --server-side`: one after the other, in `namespace` unless they name their own. */
  apply(objects: readonly KubernetesObject[], namespace: string): Promise<void>;
  /** Applies these definitions and waits until the API server serves their kinds. */
  define(crds: readonly KubernetesObject[]): Promise<void>;
}

const ESTABLISHED_TIMEOUT_MS = 300_000;
const ESTABLISHED_INTERVAL_MS = 50;

const DISCOVERY = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

/** Requests through `client`; kinds are looked up once and again when one is not known yet. */
export function createObjects(client: ApiClient): Objects {
  let known = new Map<string, Resource>();
  const resourceOf = async (kind: string): Promise<Resource> => {
    const key = kind.toLowerCase();
    if (!known.has(key)) known = await discover(client);
    const found = known.get(key);
    if (!found) throw new Error(`the API server has no kind ${kind}`);
    return found;
  };
  const collection = (resource: Resource, namespace: string) =>
    `${resource.path}/${resource.namespaced ? `namespaces/${namespace}/` : ''}${resource.plural}`;
  const read = async (kind: string, namespace: string, name: string) => {
    const path = `${collection(await resourceOf(kind), namespace)}/${name}`;
    try {
      return await client.request('GET', path);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return undefined;
      throw error;
    }
  };
  const list = async (kind: string, namespace: string, labelSelector = '') => {
    const path = `${collection(await resourceOf(kind), namespace)}?labelSelector=${encodeURIComponent(labelSelector)}`;
    return (await client.request<{ items: readonly KubernetesObject[] }>('GET', path)).items;
  };
  const apply = async (objects: readonly KubernetesObject[], namespace: string) => {
    for (const object of objects) {
      const [group = ''] = object.apiVersion.includes('/') ? object.apiVersion.split('/') : [];
      const resource = await resourceOf(group ? `${object.kind}.${group}` : object.kind);
      const path = `${collection(resource, object.metadata.namespace ?? namespace)}/${object.metadata.name}`;
      await client.request('PATCH', `${path}?fieldManager=kubectl`, object, {
        'content-type': 'application/apply-patch+yaml',
      });
    }
  };
  const define = async (crds: readonly KubernetesObject[]) => {
    await apply(crds, '');
    const deadline = Date.now() + ESTABLISHED_TIMEOUT_MS;
    for (const { kind, metadata } of crds) {
      while (!isEstablished(await read(kind, '', metadata.name))) {
        if (Date.now() > deadline) throw new Error(`${metadata.name} is not established`);
        await sleep(ESTABLISHED_INTERVAL_MS);
      }
    }
  };
  return { read, list, apply, define };
}

function isEstablished(crd: KubernetesObject | undefined): boolean {
  // Null until the API server has looked at a definition that came with a status of its own.
  const { conditions } = (crd?.status ?? {}) as { conditions?: readonly Condition[] | null };
  return conditions?.some(({ type, status }) => type === 'Established' && status === 'True') === true;
}

async function discover(client: ApiClient): Promise<Map<string, Resource>> {
  const found = new Map<string, Resource>();
  for (const root of ['/api', '/apis']) {
    const groups = await client.request<DiscoveryList>('GET', root, undefined, { accept: DISCOVERY });
    for (const group of groups.items) {
      const [preferred] = group.versions;
      const path = [root, group.metadata.name, preferred?.version].filter(Boolean).join('/');
      for (const entry of preferred?.resources ?? []) addNames(found, group.metadata.name, path, entry);
    }
  }
  return found;
}

/** The first group that has a kind wins its short name; the full name `kind.group` always works. */
function addNames(
  found: Map<string, Resource>,
  group: string | undefined,
  path: string,
  entry: DiscoveredResource,
): void {
  const resource = { path, plural: entry.resource, namespaced: entry.scope === 'Namespaced' };
  for (const name of [entry.responseKind?.kind.toLowerCase(), entry.resource]) {
    if (name === undefined) continue;
    if (!found.has(name)) found.set(name, resource);
    if (group) found.set(`${name}.${group}`, resource);
  }
}
