/** The plain renderer: YAML and JSON files as Kubernetes objects. */
import { createPause } from '../api/clock.ts';
import {
  describe,
  fromEntries,
  isRecord,
  type KubernetesObject,
  objectKey,
  present,
} from '../api/kubernetes.ts';
import { limits as defaultLimits } from '../api/limits.ts';
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
import { decodeText, lineFinder, readDocuments, YamlFault } from './yaml/documents.ts';
import { type ScannedDocument, scanEach } from './yaml/scan.ts';
import { offsetOf, pathSteps } from './yaml/values.ts';

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
    const message = `the Source holds ${named.length} objects; at most ${objectsPerSource} are taken; divide them between several Sources`;
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
      message: `the Source selects ${files.length} files; at most ${limits.sourceFiles} are read; choose a smaller spec.path, or divide it between several Sources`,
    };
  }
  // Files that are too large are refused one by one, unread.
  const read = files.filter((file) => file.bytes.length <= limits.fileBytes);
  const bytes = read.reduce((sum, file) => sum + file.bytes.length, 0);
  if (bytes <= limits.sourceBytes) return undefined;
  const message = `the files of the Source have ${bytes} bytes together; at most ${limits.sourceBytes} are read; choose a smaller spec.path, or divide it between several Sources`;
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

/** Problems reported of one file; more would hide the first. */
const maxProblems = 50;

/** Reads one file. Depends on its bytes, path and the limits alone, so results may be cached by blob id. Never throws on bad input. */
export function renderFile(file: SourceFile, limits: RenderLimits): RenderedFile {
  const scanned = scanEach(file, limits, (documents) => readObjects(file.path, documents));
  if (!scanned.ok) return { objects: [], problems: [scanned.problem] };
  const { objects, problems } = scanned.documents;
  return problems.length > 0 ? { objects: [], problems } : { objects, problems };
}

function readObjects(path: string, documents: Iterable<ScannedDocument>): RenderedFile {
  const objects: RenderedObject[] = [];
  const problems: FileProblem[] = [];
  for (const { value, lineOf, index } of documents) {
    const found = objectsOf(value);
    for (const { object, items } of found.objects) {
      const line = lineOf(documentPath(items, ''));
      objects.push({ object, origin: { file: path, line, document: index, items } });
    }
    for (const { path: field, message } of found.problems.slice(0, maxProblems - problems.length)) {
      problems.push({ file: path, line: lineOf(field), ...(field ? { field } : {}), message });
    }
  }
  return { objects, problems };
}

/**
 * Line of a field of an object, or of the deepest field on the way to it that the file mentions. Reads the file again: problems are rare,
 * and trees are large. `field`: as messages name it, such as `spec.analysis.metrics[0].name`. Falls back to the object's line.
 */
export function lineOfField(file: SourceFile, origin: Origin, field: string, limits: RenderLimits): number {
  if (readAgain?.bytes !== file.bytes) {
    readAgain = { bytes: file.bytes, lineAt: linesIn(file.bytes, limits) };
    // What is reported at once is found in one reading of the file.
    queueMicrotask(() => {
      readAgain = undefined;
    });
  }
  return readAgain.lineAt(origin.document, documentPath(origin.items, field)) ?? origin.line;
}

/** Line of a path in a document of a file; undefined where the file cannot be read so far. */
type LineAt = (document: number, path: string) => number | undefined;

let readAgain: { readonly bytes: Uint8Array; readonly lineAt: LineAt } | undefined;

function linesIn(bytes: Uint8Array, limits: RenderLimits): LineAt {
  const { text } = decodeText(bytes);
  if (text === undefined) return () => undefined;
  const lineAt = lineFinder(text);
  const documents: unknown[] = [];
  try {
    for (const document of readDocuments(text, limits)) documents.push(document.contents);
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
  }
  return (document, path) =>
    document < documents.length ? lineAt(offsetOf(documents[document], pathSteps(path))) : undefined;
}

/** A problem inside one document; `path` is that of the document. */
interface DocumentProblem {
  path: string;
  message: string;
}

/** One object of a document, before its origin is known. */
interface DocumentObject {
  object: KubernetesObject;
  /** Positions in lists, outermost first. */
  items: readonly number[];
}

/** The objects in a document: itself, or the items of a `List`. An object that is not complete is a problem. */
export function objectsOf(
  value: unknown,
  items: readonly number[] = [],
): { objects: DocumentObject[]; problems: DocumentProblem[] } {
  const at = (field: string) => documentPath(items, field);
  if (!isRecord(value))
    return { objects: [], problems: [{ path: at(''), message: 'is not a Kubernetes object (a mapping)' }] };
  if (isList(value)) return listedObjects(value, items);
  const problems = identityProblems(value).map(({ path, message }) => ({ path: at(path), message }));
  if (problems.length > 0) return { objects: [], problems };
  return { objects: [{ object: withoutNulls(value as KubernetesObject), items }], problems: [] };
}

/** Labels and annotations without a value, as charts leave them: maps are none, and a key has the empty text, as the API server takes them. */
function withoutNulls(object: KubernetesObject): KubernetesObject {
  const { labels, annotations, ...metadata } = object.metadata;
  const hasNull = (map: unknown) => map === null || (isRecord(map) && Object.values(map).includes(null));
  if (!hasNull(labels) && !hasNull(annotations)) return object;
  const texts = (map: Readonly<Record<string, unknown>> | undefined) =>
    map && fromEntries(Object.entries(map).map(([key, value]) => [key, value ?? '']));
  const maps = present({ labels: texts(labels ?? undefined), annotations: texts(annotations ?? undefined) });
  return { ...object, metadata: { ...metadata, ...maps } as KubernetesObject['metadata'] };
}

/** The path in its document of a field of an object. */
function documentPath(items: readonly number[], field: string): string {
  const prefix = items.map((item) => `items[${item}]`).join('.');
  if (prefix === '' || field === '') return `${prefix}${field}`;
  return field.startsWith('[') ? `${prefix}${field}` : `${prefix}.${field}`;
}

interface ListObject extends Record<string, unknown> {
  kind: string;
  items: unknown[] | null;
}

/** `v1 List`, or a typed one such as ConfigMapList, whose items may leave out what the list says; without items it may say `null`. */
function isList(value: Record<string, unknown>): value is ListObject {
  const isOne = Array.isArray(value.items) || value.items === null;
  return typeof value.kind === 'string' && value.kind.endsWith('List') && isOne;
}

function listedObjects(list: ListObject, items: readonly number[]): ReturnType<typeof objectsOf> {
  const kind = list.kind.slice(0, -'List'.length);
  const defaults = kind === '' ? {} : { apiVersion: list.apiVersion, kind };
  const found = (list.items ?? []).map((item, index) => {
    return objectsOf(isRecord(item) ? { ...defaults, ...item } : item, [...items, index]);
  });
  return {
    objects: found.flatMap(({ objects }) => objects),
    problems: found.flatMap(({ problems }) => problems),
  };
}

function identityProblems(value: Record<string, unknown>): DocumentProblem[] {
  const problems: DocumentProblem[] = [];
  for (const field of ['apiVersion', 'kind']) {
    if (!isText(value[field])) problems.push({ path: field, message: textMessage(value[field]) });
  }
  if (String(value.apiVersion).startsWith('kustomize.config.k8s.io/')) {
    return [{ path: '', message: 'is a file for kustomize, which the plain renderer does not build' }];
  }
  const metadata = value.metadata;
  if (!isRecord(metadata)) return [...problems, { path: 'metadata', message: 'is missing or no mapping' }];
  return [...problems, ...metadataProblems(metadata)];
}

function metadataProblems(metadata: Record<string, unknown>): DocumentProblem[] {
  const problems: DocumentProblem[] = [];
  const problem = (path: string, message: string) => problems.push({ path: `metadata.${path}`, message });
  if (!isText(metadata.name)) {
    if (metadata.generateName === undefined || metadata.name !== undefined)
      problem('name', textMessage(metadata.name));
    else problem('generateName', 'would create a new object at every commit; set metadata.name');
  }
  const { namespace } = metadata;
  if (namespace !== undefined && namespace !== null && typeof namespace !== 'string')
    problem('namespace', 'must be a string: quote it');
  for (const field of ['labels', 'annotations']) problems.push(...textMapProblems(field, metadata[field]));
  return problems;
}

function textMapProblems(field: string, value: unknown): DocumentProblem[] {
  if (value === undefined || value === null) return [];
  if (!isRecord(value)) return [{ path: `metadata.${field}`, message: 'must be a mapping' }];
  const wrong = Object.keys(value).filter((key) => value[key] !== null && typeof value[key] !== 'string');
  // The file is broken with the first one; looking up the lines of thousands would be slow.
  return wrong.slice(0, 10).map((key) => ({
    path: `metadata.${field}[${JSON.stringify(key)}]`,
    message: 'must be a string: quote it',
  }));
}

function textMessage(value: unknown): string {
  return value === undefined || value === null || value === '' ? 'is missing' : 'must be a string: quote it';
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
