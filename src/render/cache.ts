import type { RenderedFile } from './file.ts';
import type { SourceFile } from './types.ts';

/** What the files of one Source gave when they were read last, so that a commit costs only what it changes. */
export interface RenderCache {
  /** Undefined unless a file of this path and content was read; a file without `oid` never is. */
  get(file: SourceFile): RenderedFile | undefined;
  set(file: SourceFile, rendered: RenderedFile): void;
  /** Forgets every other file, so that the cache never outgrows one commit. */
  keepOnly(files: readonly SourceFile[]): void;
}

/** An empty cache. What it gives is shared: nobody may change it. */
export function createRenderCache(): RenderCache {
  const known = new Map<string, { readonly oid: string; readonly rendered: RenderedFile }>();
  return {
    get({ path, oid }) {
      const entry = known.get(path);
      return entry && entry.oid === oid ? entry.rendered : undefined;
    },
    set({ path, oid }, rendered) {
      if (oid !== undefined) known.set(path, { oid, rendered });
    },
    keepOnly(files) {
      const wanted = new Map(files.map(({ path, oid }) => [path, oid]));
      for (const [path, { oid }] of known) if (wanted.get(path) !== oid) known.delete(path);
    },
  };
}
