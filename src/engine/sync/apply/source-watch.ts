import { type KubernetesObject, objectKey } from '../../../api/kubernetes.ts';
import type { WatchedSet } from '../../../contracts/cluster.ts';
import type { RenderedObject } from '../../../render/rendered-object.ts';
import type {
  Place,
  Snapshot,
  SourceContext,
  SourceParts,
  SourceState,
  SourceWatch,
  SyncContext,
} from '../context/context.ts';
import { groupKindOf, type Inventory } from '../scope/inventory.ts';
import { wantedOver } from './apply-object.ts';
import { mostNamespaces, type OpenMembers, watchedPlaces } from './members.ts';

/** `onChange` gets every object of the Source that changed in the cluster, our own writes included, and nothing when more was listed. */
export function createSourceWatch(
  applySetId: string,
  { openMembers, watchesEverywhere }: Pick<SourceParts, 'watchesEverywhere'> & { openMembers: OpenMembers },
  onChange: (object: KubernetesObject | undefined) => void,
): SourceWatch {
  const sets = new Map<string, WatchedSet>();
  let several: ReadonlySet<string> = new Set();
  let notLooked: string | undefined;
  let kinds: ReadonlySet<string> = new Set();

  function watchId({ apiVersion, kind, namespace }: Place): string {
    const type = `${apiVersion} ${kind}`;
    return several.has(type) ? type : `${type} ${namespace ?? ''}`;
  }

  function open(id: string, { apiVersion, kind, namespace }: Place): void {
    const everywhere = several.has(`${apiVersion} ${kind}`) || !namespace;
    const set = openMembers({ apiVersion, kind, namespace: everywhere ? undefined : namespace }, applySetId);
    set.onChange(onChange);
    sets.set(id, set);
  }

  return {
    setOf(object) {
      const set = sets.get(watchId(placeOf(object)));
      return set?.synced() ? set : undefined;
    },
    follow(objects, { places, notLooked: why }) {
      notLooked = why;
      const all = [...objects.map(placeOf), ...places];
      several = watchesEverywhere ? kindsInManyNamespaces(all) : new Set();
      kinds = new Set(all.map(groupKindOf));
      const wanted = new Map(all.map((place) => [watchId(place), place]));
      for (const [id, set] of sets) {
        if (wanted.has(id)) continue;
        sets.delete(id);
        set.close();
      }
      for (const [id, place] of wanted) if (!sets.has(id)) open(id, place);
    },
    members: () => [...sets.values()].flatMap((set) => set.list()),
    notListed() {
      if (notLooked !== undefined) return notLooked;
      const missing = [...sets].filter(([, set]) => !set.synced());
      const [first] = missing;
      if (!first) return undefined;
      const [id, set] = first;
      const where = id.trim().split(' ').slice(1).join(' in ');
      return `${where} ${set.problem() ? `cannot be listed: ${set.problem()}` : 'is being listed'}`;
    },
    kinds: () => kinds,
    close() {
      for (const set of sets.values()) set.close();
      sets.clear();
    },
  };
}

function placeOf({ apiVersion, kind, metadata }: KubernetesObject): Place {
  return { apiVersion, kind, namespace: metadata.namespace };
}

function kindsInManyNamespaces(places: readonly Place[]): Set<string> {
  const namespaces = new Map<string, Set<string>>();
  for (const { apiVersion, kind, namespace } of places) {
    const type = `${apiVersion} ${kind}`;
    namespaces.set(type, (namespaces.get(type) ?? new Set()).add(namespace ?? ''));
  }
  return new Set([...namespaces].filter(([, names]) => names.size > mostNamespaces).map(([type]) => type));
}

const indexes = new WeakMap<readonly RenderedObject[], ReadonlyMap<string, RenderedObject>>();

/** The object as the Source applies it; undefined: it is none of those. */
export function appliedEntryOf(state: SourceState, live: KubernetesObject): RenderedObject | undefined {
  const rest = state.inForce?.effective.rest ?? state.snapshot?.rest;
  if (!rest) return undefined;
  // Made once for each list: every event of a watch asks.
  const index = indexes.get(rest) ?? new Map(rest.map((entry) => [objectKey(entry.object), entry]));
  indexes.set(rest, index);
  return index.get(objectKey(live));
}

/** True when the live object still is what was applied; false when it was deleted, too. */
export function isAsApplied(
  context: SourceContext,
  watch: Pick<SourceWatch, 'setOf'>,
  { object }: RenderedObject,
): boolean {
  const set = watch.setOf(object);
  if (!set) return true;
  const live = set.get(object.metadata.namespace, object.metadata.name);
  return context.parts.applied.has(live, wantedOver(context, object, live));
}

/** Watches what the Source holds. Each kind is a watch with our own rights: none of one that is not served, or that the Source may not write. */
export async function followHeld(
  { parts, source, watch }: SyncContext,
  { all, rest, unknownKinds }: Pick<Snapshot, 'all' | 'rest' | 'unknownKinds'>,
  inventory: Inventory,
  held: ReadonlySet<string>,
): Promise<void> {
  const unknown = new Set(unknownKinds.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`));
  const isHeld = (object: KubernetesObject) =>
    held.has(objectKey(object)) && !unknown.has(`${object.apiVersion} ${object.kind}`);
  const watched = source.spec.prune
    ? await watchedPlaces(parts, source, inventory, all.filter(isHeld))
    : { places: [], notLooked: undefined };
  watch.follow(rest.map(({ object }) => object).filter(isHeld), watched);
}
