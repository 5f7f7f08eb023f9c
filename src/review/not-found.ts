import { apiVersionOf } from '../api/kinds/kinds.ts';
import { describe, type KubernetesObject, type ObjectReference, present } from '../api/kubernetes.ts';
import { InputError, nearest } from '../api/problems.ts';
import type { ClusterClient } from '../cluster/client/client.ts';
import { isApiError } from '../cluster/errors.ts';

/** The error for an object that does not exist, with what was probably meant: one of its name in another namespace, or one of a similar name. */
export async function notFound(
  client: Pick<ClusterClient, 'list'>,
  reference: ObjectReference,
): Promise<InputError> {
  const { namespace, name } = reference;
  const found = await others(client, reference);
  const places = found
    .filter(({ metadata }) => metadata.name === name)
    .map(({ metadata }) => metadata.namespace);
  const here = found.filter(({ metadata }) => metadata.namespace === namespace);
  const near = nearest(
    name,
    here.map(({ metadata }) => metadata.name),
  );
  const [place] = places;
  if (place === undefined && (await isSource(client, reference)))
    return new InputError(`${describe(reference)} not found; there is a Source of that name: source/${name}`);
  const hint =
    place !== undefined
      ? `there is one in namespace ${places.slice(0, 3).join(', ')}; use -n ${place}`
      : `${near === undefined ? '' : `did you mean ${near}? Otherwise `}use -n NAMESPACE for another namespace`;
  return new InputError(`${describe(reference)} not found; ${hint}`);
}

/** A name alone is taken for that of a Canary. */
async function isSource(
  client: Pick<ClusterClient, 'list'>,
  { kind, namespace, name }: ObjectReference,
): Promise<boolean> {
  if (kind !== 'Canary') return false;
  const sources = await others(client, {
    apiVersion: apiVersionOf('Source'),
    kind: 'Source',
    name,
    ...present({ namespace }),
  });
  return sources.some(({ metadata }) => metadata.name === name && metadata.namespace === namespace);
}

/** Objects of the kind, in all namespaces where they may be listed; a list that fails says nothing. */
async function others(
  client: Pick<ClusterClient, 'list'>,
  { apiVersion, kind, namespace }: ObjectReference,
): Promise<readonly KubernetesObject[]> {
  for (const where of [{}, { namespace: namespace ?? '' }]) {
    try {
      return (await client.list(apiVersion, kind, { ...where, metadataOnly: true })).items;
    } catch (error) {
      if (!isApiError(error)) throw error;
    }
  }
  return [];
}
