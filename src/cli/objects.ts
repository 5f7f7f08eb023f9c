/** Reads objects of Holdfast's kinds for commands. */
import { apiVersionOf, type KindName } from '../api/kinds/kinds.ts';
import { type KubernetesObject, present } from '../api/kubernetes.ts';
import type { ClusterClient } from '../cluster/client/client.ts';
import { type ApiError, isApiError } from '../cluster/errors.ts';
import { notFound } from '../review/not-found.ts';

/** The object a command is about. Throws ApiError, and InputError when it does not exist. */
export async function readOne(
  client: Pick<ClusterClient, 'get' | 'list'>,
  kind: KindName,
  { namespace, name }: { namespace: string; name: string },
): Promise<KubernetesObject> {
  const reference = { apiVersion: apiVersionOf(kind), kind, namespace, name };
  const object = await client.get(reference);
  if (object) return object;
  throw await notFound(client, reference);
}

/** The objects of a kind: without a namespace those of all, without a selector whatever their labels. Throws ApiError. */
export async function readAll(
  client: Pick<ClusterClient, 'list'>,
  kind: KindName,
  query: {
    readonly namespace?: string | undefined;
    readonly labelSelector?: string | undefined;
    readonly metadataOnly?: boolean;
  },
): Promise<readonly KubernetesObject[]> {
  return (await client.list(apiVersionOf(kind), kind, present(query))).items;
}

/** The objects of each kind; undefined for one that is left out. */
type ObjectsByKind = Partial<Record<'Canary' | 'Source', readonly KubernetesObject[]>>;

/**
 * The objects of these kinds. Canaries are shown also where only Flagger's kinds are installed, or where the reader may not list Sources, which `onUnread`
 * is told. Throws ApiError.
 */
export async function readKinds(
  client: Pick<ClusterClient, 'list'>,
  kinds: ReadonlyArray<'Canary' | 'Source'>,
  query: Parameters<typeof readAll>[2],
  onUnread: (error: ApiError) => void,
): Promise<ObjectsByKind> {
  const found: ObjectsByKind = {};
  for (const kind of kinds)
    try {
      found[kind] = await readAll(client, kind, query);
    } catch (error) {
      const isOptional = kinds.length > 1 && kind === 'Source';
      if (!isOptional || !isApiError(error, 'unknownKind', 'forbidden')) throw error;
      if (error.kind === 'forbidden') onUnread(error);
    }
  return found;
}

/** The line that says that no object was found; without a namespace the one of the kubeconfig is meant. */
export function noneFound(
  kinds: string,
  {
    namespace,
    allNamespaces,
    selector,
  }: {
    readonly namespace?: string | undefined;
    readonly allNamespaces?: boolean;
    readonly selector?: string | undefined;
  },
): string {
  const labels = selector === undefined ? '' : ` with labels ${selector}`;
  const where = allNamespaces
    ? ''
    : namespace === undefined
      ? ' in this namespace'
      : ` in namespace ${namespace}`;
  return `No ${kinds} found${labels}${where}${allNamespaces ? '' : ' (use -A for all namespaces)'}.\n`;
}
