import { createPause } from '../api/clock.ts';
import { describe, objectKey } from '../api/kubernetes.ts';
import { limits as defaultLimits } from '../api/limits.ts';
import { lineOfField, renderFile } from './file.ts';
import {
  type FileProblem,
  formatOrigin,
  type Origin,
  type RenderCache,
  type RenderedFile,
  type RenderedObject,
  type RenderLimits,
  type RenderOptions,
  type RenderResult,
  type SourceFile,
} from './rendered-object.ts';

/** Whether the plain renderer reads this file. */
export function isManifest(path: string): boolean {
  return /\.(?:ya?ml|json)$/i.test(path);
}

/** Plain YAML and JSON files as Kubernetes objects. Pure: bytes in, objects out. */
export function renderPlain(files: readonly SourceFile[], options: RenderOptions = {}): RenderResult {
  const limits = options.limits ?? defaultLimits;
  const byPath = new Map(files.map((file) => [file.path, file]));
  const lineOf = (origin: Origin, field: string) => {
    const file = byPath.get(origin.file);
    return file ? lineOfField(file, origin, field, limits) : origin.line;
  };
  const excess = sizeProblem(files, limits);
  if (excess) return { objects: [], problems: [excess], lineOf };
  const rendered = files.map((file) => options.cache?.get(file) ?? renderFile(file, limits));
  return { ...settle(rendered, options), lineOf };
}

/** Joins the files: sets namespaces, reports duplicate objects, and drops the objects of files with a problem. */
export function settle(
  rendered: ReadonlyArray<Pick<RenderResult, 'objects' | 'problems'>>,
  options: RenderOptions,
): Pick<RenderResult, 'objects' | 'problems'> {
  const { objectsPerSource } = options.limits ?? defaultLimits;
  const named = rendered.flatMap(({ objects }) => objects.map((entry) => inNamespace(entry, options)));
  if (named.length > objectsPerSource) {
    const message = `the Source holds ${named.length} objects; at most ${objectsPerSource} are taken`;
    return { objects: [], problems: [{ file: '', line: 0, message }] };
  }
  const problems = [...rendered.flatMap((file) => file.problems), ...duplicateProblems(named)];
  const broken = new Set(problems.map(({ file }) => file));
  return { objects: named.filter(({ origin }) => !broken.has(origin.file)), problems };
}

/**
 * Reads into the cache what is not there yet, with a pause after each few milliseconds, so that `renderPlain` finds everything there: a
 * large Source must not keep the program from renewing its Lease. Gives the number of files that were read. Throws the signal's reason.
 */
export async function readAhead(
  files: readonly SourceFile[],
  {
    cache,
    signal,
    limits = defaultLimits,
  }: { cache: RenderCache; signal: AbortSignal; limits?: RenderLimits },
): Promise<number> {
  cache.keepOnly(files);
  if (sizeProblem(files, limits)) return 0;
  const pause = createPause(signal);
  let count = 0;
  for (const file of files) {
    await pause();
    if (cache.get(file)) continue;
    cache.set(file, renderFile(file, limits));
    count += 1;
  }
  return count;
}

/** What is wrong with a set of files before any of them is read. */
export function sizeProblem(files: readonly SourceFile[], limits: RenderLimits): FileProblem | undefined {
  if (files.length > limits.sourceFiles) {
    return {
      file: '',
      line: 0,
      message: `the Source selects ${files.length} files; at most ${limits.sourceFiles} are read`,
    };
  }
  // Files that are too large are refused one by one, unread.
  const read = files.filter((file) => file.bytes.length <= limits.fileBytes);
  const bytes = read.reduce((sum, file) => sum + file.bytes.length, 0);
  if (bytes <= limits.sourceBytes) return undefined;
  const message = `the files of the Source have ${bytes} bytes together; at most ${limits.sourceBytes} are read`;
  return { file: '', line: 0, message };
}

function inNamespace(entry: RenderedObject, options: RenderOptions): RenderedObject {
  const { object } = entry;
  const { defaultNamespace, isNamespaced } = options;
  if (!defaultNamespace || object.metadata.namespace) return entry;
  if (!isNamespaced?.(object.apiVersion, object.kind)) return entry;
  const metadata = { ...object.metadata, namespace: defaultNamespace };
  return { ...entry, object: { ...object, metadata } };
}

/** One problem for each place, naming another. */
function duplicateProblems(entries: readonly RenderedObject[]): FileProblem[] {
  const places = new Map<string, RenderedObject[]>();
  for (const entry of entries) {
    const key = objectKey(entry.object);
    const same = places.get(key);
    if (same) same.push(entry);
    else places.set(key, [entry]);
  }
  return [...places.values()].flatMap((same) => {
    if (same.length < 2) return [];
    return same.map(({ object, origin }, index) => {
      const other = same[index === 0 ? 1 : 0] ?? { origin };
      const message = `${describe(object)} is also in ${formatOrigin(other.origin)}: keep one of them`;
      return { file: origin.file, line: origin.line, message };
    });
  });
}

/** An empty cache. Its results are shared and must not be changed. */
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
