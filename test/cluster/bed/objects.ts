import type { KubernetesObject } from '../../../src/api/kubernetes.ts';
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

/** Reads of objects by kind, plural, or `kind.group`, without a process of kubectl for each. */
export interface ObjectReader {
  /** The object, or undefined when there is none. Throws ApiError for anything else, Error for a kind the server does not know. */
  read(kind: string, namespace: string, name: string): Promise<KubernetesObject | undefined>;
  /** All objects of a kind in a namespace, those that match the label selector when one is given. */
  list(kind: string, namespace: string, labelSelector?: string): Promise<readonly KubernetesObject[]>;
}

const DISCOVERY = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

/** Reads through `client`; kinds are looked up once and again when one is not known yet. */
export function createObjectReader(client: ApiClient): ObjectReader {
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
  return { read, list };
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
