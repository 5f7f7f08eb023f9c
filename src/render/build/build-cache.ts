import { createHash } from 'node:crypto';
import { limits } from '../../api/limits.ts';
import type { KnownReferences } from '../kustomize/collect.ts';
import type { TreeFile } from '../tree.ts';
import type { Built } from './builder.ts';

/** What programs gave, by everything it depends on; bounded, the longest unused goes first. Shared by all Sources. */
export interface BuildCache {
  get(key: string): Built | undefined;
  set(key: string, built: Built): void;
  /** What the files of kustomizations refer to. */
  readonly references: KnownReferences;
}

/** An empty cache. What it gives is shared: nobody may change it. */
export function createBuildCache(maxBytes: number = limits.renderCacheBytes): BuildCache {
  const known = new Map<string, Built>();
  let bytes = 0;
  return {
    references: new Map(),
    get(key) {
      const built = known.get(key);
      if (!built) return undefined;
      known.delete(key);
      known.set(key, built);
      return built;
    },
    set(key, built) {
      bytes += costOf(built) - costOf(known.get(key));
      known.delete(key);
      known.set(key, built);
      for (const [oldest, old] of known) {
        if (bytes <= maxBytes) break;
        known.delete(oldest);
        bytes -= costOf(old);
      }
    },
  };
}

/** Objects cost more than their text; the figure bounds, it does not measure. */
function costOf(built: Built | undefined): number {
  return built ? built.bytes + 512 : 0;
}

/** Everything a build depends on, as one hash: the program's version, its settings, and the ids of all files by path. */
export function buildKey(
  version: string,
  settings: unknown,
  files: ReadonlyMap<string, Pick<TreeFile, 'oid'>>,
): string {
  const hash = createHash('sha256').update(JSON.stringify([version, settings]));
  for (const path of [...files.keys()].sort())
    hash.update(`\n${JSON.stringify(path)} ${files.get(path)?.oid}`);
  return hash.digest('hex');
}
