import { describe } from '../../api/kubernetes.ts';
import { canonicalJson } from '../../release/json.ts';
import type { Release } from '../../release/release.ts';
import { objectKey } from '../../render/render.ts';
import type { RenderedObject } from '../../render/types.ts';

/**
 * Objects of no Canary that differ between two commits, as `Kind namespace/name`, sorted: what a revert leaves as head says. Config of the
 * release that is gone back to comes back with it.
 */
export function otherChanges(
  before: readonly RenderedObject[],
  after: readonly RenderedObject[],
  release: Pick<Release, 'configs'>,
): string[] {
  const restored = new Set(release.configs.map(objectKey));
  const older = new Map(before.map(({ object }) => [objectKey(object), object]));
  const newer = new Map(after.map(({ object }) => [objectKey(object), object]));
  const all = new Map([...older, ...newer]);
  return [...all]
    .filter(([key]) => !restored.has(key) && contentOf(older.get(key)) !== contentOf(newer.get(key)))
    .map(([, object]) => describe(object))
    .sort();
}

function contentOf(object: unknown): string | undefined {
  return object === undefined ? undefined : canonicalJson(object);
}
