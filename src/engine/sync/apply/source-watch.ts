import { type KubernetesObject, objectKey } from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source/source.ts';
import type { WatchedSet } from '../../../contracts/cluster.ts';
import type { RenderedObject } from '../../../render/rendered-object.ts';
import { applySetId } from '../../apply-set.ts';
import type { SourceParts, SourceState } from '../context/context.ts';
import { type AppliedObjects, wantedOver } from './apply-object.ts';
import { mostNamespaces, type OpenMembers, type Place, type WatchedPlaces } from './members.ts';

/** Watches of what one Source applied, so that a foreign change is put right and an unchanged object costs nothing. */
export interface SourceWatch extends AppliedObjects {
  /** Watches exactly the kinds and namespaces of these objects, and these places. */
  follow(objects: readonly KubernetesObject[], watched: WatchedPlaces): void;
  /** Everything in the cluster that has the Source's label and is watched. */
  members(): KubernetesObject[];
  /** Why `members` may not be all of them; undefined: they are. */
  notListed(): string | undefined;
  close(): void;
}

/** `onChange` gets every object of the Source that changed in the cluster, our own writes included, and nothing when more was listed. */
export function createSourceWatch(
  applySetId: string,
  openMembers: OpenMembers,
  onChange: (object: KubernetesObject | undefined) => void,
): SourceWatch {
  const sets = new Map<string, WatchedSet>();
  let several: ReadonlySet<string> = new Set();
  let notLooked: string | undefined;

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
      several = kindsInManyNamespaces(all);
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

/** The object as the Source applies it; undefined: it is none of those. */
export function appliedEntryOf(state: SourceState, live: KubernetesObject): RenderedObject | undefined {
  const rest = state.inForce?.effective.rest ?? state.snapshot?.rest;
  return rest && indexOf(rest).get(objectKey(live));
}

const indexes = new WeakMap<readonly RenderedObject[], ReadonlyMap<string, RenderedObject>>();

/** Made once for each list: every event of a watch asks. */
function indexOf(rest: readonly RenderedObject[]): ReadonlyMap<string, RenderedObject> {
  const known = indexes.get(rest);
  if (known) return known;
  const index = new Map(rest.map((entry) => [objectKey(entry.object), entry]));
  indexes.set(rest, index);
  return index;
}

/** True when the live object still is what was applied; false when it was deleted, too. */
export function isAsApplied(
  parts: SourceParts,
  { left }: SourceState,
  { source, entry, watch }: { source: Source; entry: RenderedObject; watch: SourceWatch },
): boolean {
  const { object } = entry;
  const set = watch.setOf(object);
  if (!set) return true;
  const live = set.get(object.metadata.namespace, object.metadata.name);
  return parts.applied.has(live, wantedOver(object, live, { id: applySetId(source), left }));
}
