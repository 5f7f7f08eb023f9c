/** The objects that the tools say they applied. Pure. */
import type { KubernetesObject, ObjectReference } from '../../api/kubernetes.ts';

/** Of a Kustomization: `status.inventory`. Entries that cannot be read are left out. */
export function fluxInventory({ status }: KubernetesObject): ObjectReference[] {
  const { inventory } = (status ?? {}) as { inventory?: { entries?: Array<{ id?: unknown; v?: unknown }> } };
  return (inventory?.entries ?? []).flatMap(({ id, v }) => {
    // Names hold no underscore but for the double one that stands for a colon; namespaces, groups and kinds have none.
    const [, namespace = '', name = '', group = '', kind = ''] =
      /^([^_]*)_(.+)_([^_]*)_([^_]+)$/.exec(String(id)) ?? [];
    if (!name || !kind) return [];
    return [referenceFor({ group, version: String(v), kind, namespace, name: name.replaceAll('__', ':') })];
  });
}

/** Of an Application: `status.resources`, without hooks, which are no lasting objects. */
export function argoInventory({ status }: KubernetesObject): ObjectReference[] {
  const { resources = [] } = (status ?? {}) as {
    resources?: Array<
      Partial<Record<'group' | 'version' | 'kind' | 'namespace' | 'name', string>> & { hook?: boolean }
    >;
  };
  return resources.flatMap(({ group = '', version = 'v1', kind, namespace = '', name, hook }) =>
    kind && name && !hook ? [referenceFor({ group, version, kind, namespace, name })] : [],
  );
}

function referenceFor({
  group,
  version,
  kind,
  namespace,
  name,
}: Record<'group' | 'version' | 'kind' | 'namespace' | 'name', string>): ObjectReference {
  const apiVersion = group ? `${group}/${version}` : version;
  return { apiVersion, kind, name, ...(namespace ? { namespace } : {}) };
}
