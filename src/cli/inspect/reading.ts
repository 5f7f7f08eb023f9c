/** Reads objects for a tree as far as their reader may; what could not be read is said. */
import { describe, type KubernetesObject, type ObjectReference, partOfLabel } from '../../api/kubernetes.ts';
import { limits } from '../../api/limits.ts';
import type { ClusterClient } from '../../cluster/client/client.ts';
import { isApiError, onApiError } from '../../cluster/errors.ts';
import { applySetId } from '../../engine/apply-set.ts';
import { inventoryOf, splitGroupKind } from '../../engine/sync/scope/inventory.ts';

/** What a tree is read with. */
export type Reader = Pick<ClusterClient, 'get' | 'list' | 'find'>;

/** Namespaces that are listed one by one. */
const mostPlaces = 50;

/** Where the Source's annotations say that its objects are; what may not be listed is said. */
export async function membersOf(
  client: Reader,
  source: KubernetesObject,
  unread: Set<string>,
): Promise<KubernetesObject[]> {
  const { groupKinds, namespaces } = inventoryOf(source);
  const labelSelector = `${partOfLabel}=${applySetId(source)}`;
  const several = [source.metadata.namespace ?? '', ...namespaces];
  // Who may edit the Source writes them: one list over all namespaces is cheaper than very many.
  const isLong = several.length > mostPlaces;
  const looked = [...groupKinds].slice(0, limits.kindsOutsideGit);
  if (looked.length < groupKinds.size)
    unread.add(`${groupKinds.size - looked.length} more kinds that the Source names are not listed`);
  const lists = await Promise.all(
    looked.map(async (groupKind) => {
      const { kind, group } = splitGroupKind(groupKind);
      const served = await client.find(group, kind);
      if (!served) {
        unread.add(`${groupKind}: the API server does not serve this kind any more`);
        return [];
      }
      // Of Secrets nothing but their names is needed.
      const metadataOnly = kind === 'Secret' && group === '' ? { metadataOnly: true } : {};
      const listIn = async (place: { namespace?: string }) =>
        (await client.list(served.apiVersion, kind, { labelSelector, ...metadataOnly, ...place })).items;
      if (!served.namespaced) return (await readable(unread, groupKind, () => listIn({}))) ?? [];
      const whole = isLong ? await listIn({}).catch(onApiError(['forbidden'], () => undefined)) : undefined;
      if (whole) return whole;
      if (isLong)
        unread.add(`${groupKind} in ${several.length - mostPlaces} more namespaces: ${notEverywhere}`);
      const found = several
        .slice(0, mostPlaces)
        .map((namespace) =>
          readable(unread, `${groupKind} in namespace ${namespace}`, () => listIn({ namespace })),
        );
      return (await Promise.all(found)).flatMap((items) => items ?? []);
    }),
  );
  return lists.flat();
}

const notEverywhere = 'you may not list all namespaces at once, and so many are not listed one by one';

/** The object, and whether it may be read. */
export async function got(
  client: Reader,
  reference: ObjectReference,
  unread: Set<string>,
): Promise<{ result: KubernetesObject | undefined; isForbidden: boolean }> {
  const own = new Set<string>();
  const result = await readable(own, describe(reference), () => client.get(reference));
  // What others that are read at the same time may not read says nothing about this one.
  for (const line of own) unread.add(line);
  return { result, isForbidden: own.size > 0 };
}

/** Undefined, with a word about it, for what may not be read; a kind that is not served has no objects. */
export async function readable<T>(
  unread: Set<string>,
  what: string,
  read: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (isApiError(error, 'unknownKind')) return undefined;
    if (!isApiError(error, 'forbidden')) throw error;
    unread.add(`${what}: you may not read this`);
    return undefined;
  }
}
