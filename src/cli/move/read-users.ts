/** Reads who else needs what is moved. */
import { apiVersionOf } from '../../api/kinds.ts';
import { describe, type KubernetesObject } from '../../api/kubernetes.ts';
import type { Source } from '../../api/source.ts';
import type { ClusterClient } from '../../cluster/client.ts';
import type { FormerOwner } from '../../engine/source/former-owner.ts';
import { listTool, type ObjectName } from './read-objects.ts';

interface Reference {
  readonly kind?: string;
  readonly name?: string;
  readonly namespace?: string;
}

/** Kustomizations that depend on this one. Throws ApiError. */
export async function dependentsOf(
  client: ClusterClient,
  { namespace, name }: FormerOwner,
): Promise<string[]> {
  const all = await listTool(client, 'Kustomization');
  return all
    .filter(({ spec, metadata }) => {
      const { dependsOn = [] } = (spec ?? {}) as { dependsOn?: Array<{ name: string; namespace?: string }> };
      return dependsOn.some(
        (one) => one.name === name && (one.namespace ?? metadata.namespace) === namespace,
      );
    })
    .map(describe);
}

/** Sources that depend on the one of this name. Throws ApiError. */
export async function sourcesNeeding(
  client: ClusterClient,
  { namespace, name }: FormerOwner,
): Promise<string[]> {
  const { items } = await client.list(apiVersionOf('Source'), 'Source');
  return (items as readonly Source[])
    .filter(({ spec, metadata }) =>
      spec.dependsOn?.some((one) => one.name === name && (one.namespace ?? metadata.namespace) === namespace),
    )
    .map(describe);
}

/** Kustomizations and HelmReleases, but for the owner, that read this GitRepository. Throws ApiError. */
export async function usersOf(
  client: ClusterClient,
  repository: ObjectName,
  { namespace, name }: FormerOwner,
): Promise<string[]> {
  const kinds = await Promise.all(['Kustomization', 'HelmRelease'].map((kind) => listTool(client, kind)));
  const isItself = (object: KubernetesObject) =>
    object.kind === 'Kustomization' &&
    object.metadata.namespace === namespace &&
    object.metadata.name === name;
  return kinds
    .flat()
    .filter((object) => !isItself(object) && names(object, repository))
    .map(describe);
}

function names({ spec, metadata }: KubernetesObject, repository: ObjectName): boolean {
  const said = (spec ?? {}) as {
    sourceRef?: Reference;
    chart?: { spec?: { sourceRef?: Reference } };
  };
  return [said.sourceRef, said.chart?.spec?.sourceRef].some(
    (one) =>
      one?.kind === 'GitRepository' &&
      one.name === repository.name &&
      (one.namespace ?? metadata.namespace) === repository.namespace,
  );
}
