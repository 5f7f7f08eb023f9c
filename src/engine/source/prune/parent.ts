import { type KubernetesObject, referenceOf } from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source.ts';
import type { SourceParts } from '../source-parts.ts';
import {
  groupKindOf,
  type Inventory,
  inventoryFor,
  inventoryOf,
  joined,
  parentPatch,
  splitGroupKind,
} from './inventory.ts';

/**
 * Writes on the Source where its members may be, unless it says so already. Before the first object of a kind is written, so that no member
 * is ever in a place that nobody looks at. Throws what the API server refuses.
 */
export async function writeParent(
  { cluster }: Pick<SourceParts, 'cluster'>,
  source: Source,
  inventory: Inventory,
): Promise<void> {
  const patch = parentPatch(source, inventory);
  if (!patch) return;
  await cluster.patch(referenceOf(source), { metadata: { uid: source.metadata.uid, ...patch } });
}

/** Where members of the Source are and may be left: as its annotations say, and where these objects are. */
export function inventoryWith(source: Source, objects: readonly KubernetesObject[]): Inventory {
  return joined(inventoryOf(source), inventoryFor(source, objects));
}

/** A kind in one namespace, or without one. */
export interface Place {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string | undefined;
}

/** Every place of an inventory, in the version of the objects at hand where they have the kind. A kind that is not served has no members. */
export async function placesOf(
  { cluster }: Pick<SourceParts, 'cluster'>,
  source: Source,
  inventory: Inventory,
  objects: readonly KubernetesObject[],
): Promise<Place[]> {
  const known = new Map(objects.map((object) => [groupKindOf(object), object]));
  const namespaces = [source.metadata.namespace ?? '', ...inventory.namespaces];
  const places = await Promise.all(
    [...inventory.groupKinds].map(async (groupKind): Promise<Place[]> => {
      const { kind, group } = splitGroupKind(groupKind);
      const served = await cluster.servedKind(group, kind);
      if (!served) return [];
      const apiVersion = known.get(groupKind)?.apiVersion ?? served.apiVersion;
      if (!served.namespaced) return [{ apiVersion, kind, namespace: undefined }];
      return namespaces.map((namespace) => ({ apiVersion, kind, namespace }));
    }),
  );
  return places.flat();
}
