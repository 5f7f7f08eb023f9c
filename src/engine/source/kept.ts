/** Whether what a Source applied is still there, as the watches see it. */
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { Source } from '../../api/source.ts';
import { objectKey } from '../../render/render.ts';
import type { RenderedObject } from '../../render/types.ts';
import { wantedOver } from './apply-object.ts';
import { applySetId } from './apply-set.ts';
import type { SourceParts, SourceState } from './source-parts.ts';
import type { SourceWatch } from './source-watch.ts';

/** The object as the Source applies it; undefined: it is none of those. */
export function entryOf(state: SourceState, live: KubernetesObject): RenderedObject | undefined {
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
export function isKept(
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
