import {
  groupKindsAnnotation,
  type KubernetesObject,
  keyOf,
  namespacedName,
  namespacesAnnotation,
  partOfLabel,
  referenceOf,
} from '../../../api/kubernetes.ts';
import { limits } from '../../../api/limits.ts';
import type { Source } from '../../../api/source/source.ts';
import type { OpenWatch, WatchedSet } from '../../../contracts/cluster.ts';
import type { Place, SourceParts, WatchedPlaces } from '../context/context.ts';
import {
  groupKindOf,
  type Inventory,
  inventoryFor,
  inventoryOf,
  joined,
  parentPatch,
  splitGroupKind,
} from '../scope/inventory.ts';

/** Opens a watch of what one Source, by its ApplySet's id, has in a place. The set holds nothing else. */
export type OpenMembers = (place: Place, applySetId: string) => WatchedSet;

/** A kind in so many namespaces is watched in each of them; one watch over all of them is cheaper than more. */
export const mostNamespaces = 3;

type Listener = (object: KubernetesObject | undefined) => void;

interface Members {
  readonly set: WatchedSet;
  /** Id of the ApplySet that an object is in, by `namespace/name`. */
  readonly owners: Map<string, string>;
  readonly objects: Map<string, Map<string, KubernetesObject>>;
  readonly listeners: Map<string, Set<Listener>>;
  users: number;
}

/**
 * A thousand Sources with the same kinds cost a watch for each kind, not for each of them: what is watched is every member of any ApplySet, and
 * each Source sees its own. `everywhere`: whether watches over all namespaces are allowed here.
 */
export function createMemberWatches(openWatch: OpenWatch, everywhere: boolean): OpenMembers {
  const watched = new Map<string, Members>();

  /** Of the place itself, or of all namespaces once the kind is watched in many. */
  function watchKey({ apiVersion, kind, namespace = '' }: Place): [key: string, namespace: string] {
    const type = `${apiVersion} ${kind} `;
    const known = [...watched.keys()].filter((key) => key.startsWith(type));
    const isMany = everywhere && known.length >= mostNamespaces && !known.includes(type + namespace);
    return known.includes(type) || isMany ? [type, ''] : [type + namespace, namespace];
  }

  function open({ apiVersion, kind }: Place, namespace: string): Members {
    const query = { apiVersion, kind, labelSelector: partOfLabel, managers: true };
    const set = openWatch(namespace === '' ? query : { ...query, namespace });
    const members: Members = {
      set,
      owners: new Map(),
      objects: new Map(),
      listeners: new Map(),
      users: 0,
    };
    set.onChange((object) => (object ? dispatch(members, object) : learn(members)));
    return members;
  }

  return (place, applySetId) => {
    const [key, namespace] = watchKey(place);
    const members = watched.get(key) ?? open(place, namespace);
    watched.set(key, members);
    members.users += 1;
    return memberSet(members, applySetId, () => {
      members.users -= 1;
      if (members.users > 0) return;
      watched.delete(key);
      members.set.close();
    });
  };
}

/** What one Source sees. `onEnd` is called once. */
function memberSet(members: Members, id: string, onEnd: () => void): WatchedSet {
  const own = new Set<Listener>();
  let isOpen = true;
  const objects = () => members.objects.get(id);
  return {
    synced: members.set.synced,
    problem: members.set.problem,
    isRefused: members.set.isRefused,
    get: (namespace, name) => objects()?.get(keyOf({ namespace: namespace ?? '', name })),
    list: (namespace) =>
      [...(objects()?.values() ?? [])].filter(
        ({ metadata }) => namespace === undefined || metadata.namespace === namespace,
      ),
    byKey: (keysOf, key) =>
      members.set.byKey(keysOf, key).filter((object) => objects()?.has(namespacedName(object)) === true),
    remember: members.set.remember,
    refresh: members.set.refresh,
    onChange(listener) {
      own.add(listener);
      members.listeners.set(id, (members.listeners.get(id) ?? new Set()).add(listener));
      if (members.set.synced()) listener(undefined);
    },
    close() {
      if (!isOpen) return;
      isOpen = false;
      for (const listener of own) members.listeners.get(id)?.delete(listener);
      if (members.listeners.get(id)?.size === 0) members.listeners.delete(id);
      onEnd();
    },
  };
}

/** An object was added, changed or deleted, or has another owner now: the previous owner is notified, too. */
function dispatch(members: Members, object: KubernetesObject): void {
  const key = namespacedName(object);
  const before = members.owners.get(key);
  const owner = place(members, key, members.set.get(object.metadata.namespace, object.metadata.name));
  for (const id of new Set([before, owner])) if (id !== undefined) notify(members, id, object);
}

/** The set was listed. */
function learn(members: Members): void {
  members.owners.clear();
  members.objects.clear();
  for (const object of members.set.list()) place(members, namespacedName(object), object);
  for (const id of [...members.listeners.keys()]) notify(members, id, undefined);
}

function place(members: Members, key: string, now: KubernetesObject | undefined): string | undefined {
  const before = members.owners.get(key);
  const owner = now?.metadata.labels?.[partOfLabel];
  if (before !== undefined && before !== owner) members.objects.get(before)?.delete(key);
  if (!now || owner === undefined) {
    members.owners.delete(key);
    return undefined;
  }
  members.owners.set(key, owner);
  members.objects.set(owner, (members.objects.get(owner) ?? new Map()).set(key, now));
  return owner;
}

function notify({ listeners }: Members, id: string, object: KubernetesObject | undefined): void {
  for (const listener of [...(listeners.get(id) ?? [])]) listener(object);
}

/**
 * Writes on the Source where its members may be, unless it says so already. Before the first object of a kind is written, so that no member
 * is ever in a place that is not watched. Throws what the API server refuses.
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

/**
 * The places of an inventory that are watched. Who may edit a Source writes its annotations, and each kind is a watch with our own rights: of
 * those without an object in Git there is a bound, beyond which nothing may be taken for gone. Of many namespaces a few say that the kind is
 * watched in all of them; each with each kind would be more than memory holds. Where Holdfast may see some namespaces alone, it is each of these.
 */
export async function watchedPlaces(
  parts: Pick<SourceParts, 'cluster' | 'watchesEverywhere' | 'watchNamespaces'>,
  source: Source,
  { groupKinds, namespaces }: Inventory,
  objects: readonly KubernetesObject[],
): Promise<WatchedPlaces> {
  const inGit = new Set(objects.map(groupKindOf));
  const others = [...groupKinds].filter((groupKind) => !inGit.has(groupKind));
  const looked = new Set(others.slice(0, limits.kindsOutsideGit));
  const seen = parts.watchesEverywhere
    ? [...namespaces].slice(0, mostNamespaces + 1)
    : parts.watchNamespaces.filter((namespace) => namespaces.has(namespace));
  const few = {
    groupKinds: new Set([...groupKinds].filter((groupKind) => inGit.has(groupKind) || looked.has(groupKind))),
    namespaces: new Set(seen),
  };
  return { places: await placesOf(parts, source, few, objects), notLooked: whyNotLooked() };

  function whyNotLooked(): string | undefined {
    const unseen = [...namespaces].find((namespace) => !parts.watchNamespaces.includes(namespace));
    if (!parts.watchesEverywhere && unseen !== undefined)
      return `its annotation ${namespacesAnnotation} names ${unseen}, which Holdfast does not watch; add it to --watch-namespaces, or take it out of the annotation if the Source has no objects there`;
    if (others.length === looked.size) return undefined;
    return `its annotation ${groupKindsAnnotation} names ${others.length} kinds that are not in Git, and objects of at most ${looked.size} are looked for; take those out of it of which it has no objects`;
  }
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
