/** Reads objects of the tools and of ours. */
import { apiVersionOf } from '../../api/kinds.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { ClusterClient } from '../../cluster/client.ts';

/** Which object of a kind. */
export interface ObjectName {
  readonly namespace: string;
  readonly name: string;
}

/** Kinds of the tools, in whatever version the server prefers. */
const groups: Readonly<Record<string, string>> = {
  Kustomization: 'kustomize.toolkit.fluxcd.io',
  GitRepository: 'source.toolkit.fluxcd.io',
  HelmRelease: 'helm.toolkit.fluxcd.io',
  Application: 'argoproj.io',
};

/** An object of a kind of the tools; undefined also where the kind is not served. Throws ApiError. */
export async function getTool(
  client: ClusterClient,
  kind: string,
  { namespace, name }: ObjectName,
): Promise<KubernetesObject | undefined> {
  const found = await client.find(groups[kind] ?? '', kind);
  return found ? client.get({ apiVersion: found.apiVersion, kind, namespace, name }) : undefined;
}

/** A Source of the cluster; undefined also where the kind is not served. Throws ApiError. */
export async function getSource(
  client: ClusterClient,
  { namespace, name }: ObjectName,
): Promise<KubernetesObject | undefined> {
  if (!(await client.find('holdfast.dev', 'Source'))) return undefined;
  return client.get({ apiVersion: apiVersionOf('Source'), kind: 'Source', namespace, name });
}

/** Every object of a kind of the tools; none where the kind is not served. Throws ApiError. */
export async function listTool(client: ClusterClient, kind: string): Promise<readonly KubernetesObject[]> {
  const found = await client.find(groups[kind] ?? '', kind);
  return found ? (await client.list(found.apiVersion, kind)).items : [];
}
