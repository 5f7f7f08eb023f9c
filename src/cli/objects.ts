/** Reads objects of Holdfast's kinds for commands. */
import { apiVersionOf, type KindName } from '../api/kinds/kinds.ts';
import { describe, type KubernetesObject, present } from '../api/kubernetes.ts';
import { InputError } from '../api/problems.ts';
import type { ClusterClient } from '../cluster/client/client.ts';

/** The object a command is about. Throws ApiError, and InputError when it does not exist. */
export async function readOne(
  client: Pick<ClusterClient, 'get'>,
  kind: KindName,
  { namespace, name }: { namespace: string; name: string },
): Promise<KubernetesObject> {
  const reference = { apiVersion: apiVersionOf(kind), kind, namespace, name };
  const object = await client.get(reference);
  if (object) return object;
  throw new InputError(`${describe(reference)} not found; use -n NAMESPACE for another namespace`);
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
