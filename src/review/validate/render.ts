import { lstatSync } from 'node:fs';
import { relative, sep } from 'node:path';
import { parseSource } from '../../api/kinds/parse.ts';
import type { Source } from '../../api/source/source.ts';
import { checkSource } from '../../api/source/validate.ts';
import { folderOf } from '../../engine/sync/context/context.ts';
import { unignored, withoutIgnored } from '../../engine/sync/read/ignore-rules.ts';
import { openLocalRepository } from '../../git/store/local-repository.ts';
import { type Builders, createBuildCache } from '../../render/build/builder.ts';
import { collectKustomization } from '../../render/build/collect.ts';
import { isChart } from '../../render/helm.ts';
import { createRenderCache, renderPlain, settle } from '../../render/render.ts';
import type {
  FileProblem,
  Origin,
  RenderedObject,
  RenderResult,
  SourceFile,
} from '../../render/rendered-object.ts';
import { unopened } from '../../render/sops/decrypt.ts';
import { renderSource, type SourcePart } from '../../render/source.ts';
import { folderOfPath, inside, isKustomization } from '../../render/tree.ts';
import { type LocalFolder, localFolder } from '../local-files.ts';
import { scopeOf, sourceForPath, variablesIn } from '../offline.ts';
import { chooseSources } from '../plan/sources.ts';

/** What is applied together: a Source's folder, a kustomization, a chart, or files that belong to none of these. */
interface LocalRendering {
  readonly rendered: RenderResult;
  /** A Source was found that applies exactly this, so that what is missing here is missing for certain. */
  readonly complete: boolean;
  /** That Source. */
  readonly source?: Source;
}

interface LocalOptions {
  readonly builders: Builders;
  /** For objects without a namespace where no Source says one. */
  readonly namespace: string | undefined;
}

/** What became of the files. */
interface LocalReading {
  readonly renderings: readonly LocalRendering[];
  /** Files that hold no object of Kubernetes and that no Source reads, as they were given. */
  readonly leftAlone: readonly string[];
  /** Sources of this repository whose path is not there. */
  readonly missing: readonly Source[];
}

/** `others`: files without any object, which no Source reads. */
interface Groups {
  readonly groups: readonly Group[];
  readonly others: readonly SourceFile[];
}

/** Files that are rendered with the settings of one Source. Paths are those from the repository's root. */
interface Group {
  readonly at: LocalFolder;
  readonly files: readonly SourceFile[];
  readonly source: Source;
  readonly complete: boolean;
}

/**
 * Renders what was given as the controller would. In a folder: the paths of the Sources among the files, each with its own settings; of what no
 * Source reads, each kustomization that is no base of another and each chart; of the rest the files that hold Kubernetes objects, other YAML is
 * left alone. A folder inside a repository that is given with one Source of another path counts as that path. Single files are read as they are. Paths
 * in what is found are as they were given.
 */
export async function renderLocal(
  paths: readonly string[],
  files: readonly SourceFile[],
  { builders, namespace }: LocalOptions,
): Promise<LocalReading> {
  const sources = renderPlain(files).objects.flatMap(({ object }) => {
    const parsed = object.kind === 'Source' ? parseSource(object) : undefined;
    return parsed?.ok && checkSource(parsed.value).problems.length === 0 ? [parsed.value] : [];
  });
  const folders = paths.filter((path) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory());
  const renderings: LocalRendering[] = [];
  const leftAlone: string[] = [];
  const missing: Source[] = [];
  const grouped = new Set<string>();
  for (const folder of folders) {
    const at = localFolder(folder);
    // Files below a given folder, by their path from the repository's root.
    const root = at.shown('.');
    const own = files
      .map((file) => ({ ...file, path: relative(root, file.path).split(sep).join('/') }))
      .filter(({ path }) => (at.folder === '' ? !path.startsWith('../') : isBelow(at.folder, path)));
    for (const { path } of own) grouped.add(at.shown(path));
    const here = await sourcesOf(folder, sources);
    missing.push(...(await withoutFolder(at, here)));
    const { groups, others } = await groupsOf(at, own, here);
    leftAlone.push(...others.map(({ path }) => at.shown(path)));
    for (const group of groups) renderings.push(await renderGroup(group, builders, namespace));
  }
  const single = files.filter(({ path }) => !grouped.has(path));
  if (single.length === 0) return { renderings, leftAlone, missing };
  const plain = renderPlain(single);
  const [only] = sources.length === 1 ? sources : [];
  const settled = inNamespaces([plain], defaultNamespaceOf(only) ?? namespace);
  renderings.push({ rendered: { ...settled, lineOf: plain.lineOf }, complete: false });
  return { renderings, leftAlone, missing };
}

/** Sources that follow the repository of a folder; none where the remotes match none and the Sources name several repositories. */
async function sourcesOf(folder: string, sources: readonly Source[]): Promise<readonly Source[]> {
  const repository = await openLocalRepository(folder).catch(() => undefined);
  const remotes = (await repository?.remotes()) ?? [];
  await repository?.close();
  const chosen = chooseSources(sources, { remotes, branch: undefined });
  const isKnown = chosen.length < sources.length || new Set(chosen.map(({ spec }) => spec.url)).size === 1;
  return isKnown ? chosen : [];
}

/** Sources whose path is no folder of the repository; asked for the whole repository only. */
async function withoutFolder(at: LocalFolder, sources: readonly Source[]): Promise<Source[]> {
  if (at.folder !== '') return [];
  const entries = await at.tree.read(sources.map(folderOf));
  return sources.filter((source) => entries.get(folderOf(source))?.kind !== 'folder');
}

async function groupsOf(
  at: LocalFolder,
  files: readonly SourceFile[],
  sources: readonly Source[],
): Promise<Groups> {
  const placed = sources.map((source) => ({ source, folder: folderOf(source) }));
  // The folder is all or part of what a Source reads: nothing in it is anybody else's.
  const around =
    placed.find(({ folder }) => folder === at.folder) ??
    placed.find(({ folder }) => isBelow(folder, `${at.folder}/`));
  const below = placed.filter(({ folder }) => folder !== at.folder && isBelow(at.folder, `${folder}/`));
  const groups: Group[] = [];
  const [only] = placed;
  if (!around && below.length === 0 && only && placed.length === 1 && at.folder !== '')
    return { groups: [{ at, files, source: only.source, complete: true }], others: [] };
  for (const { source, folder } of around ? [around, ...below] : below) {
    const from = isBelow(folder, `${at.folder}/`) ? at.folder : folder;
    const given = files.filter(({ path }) => isBelow(from, path));
    const { signal } = new AbortController();
    const leftOut = { folder, rules: source.spec.ignore, signal };
    const { files: own } = await unignored({ files: given, problems: [] }, leftOut);
    const tree = withoutIgnored(at.tree, leftOut);
    if (own.length > 0)
      groups.push({ at: { ...at, tree, folder: from }, files: own, source, complete: true });
  }
  if (around) return { groups, others: [] };
  const read = new Set(groups.flatMap(({ files: own }) => own.map(({ path }) => path)));
  for (const group of groups) for (const path of await basesOf(group)) read.add(path);
  const isCovered = (path: string) => groups.some((group) => isBelow(group.at.folder, path));
  const left = files.filter(({ path }) => !read.has(path));
  const loose = await looseGroups(
    at,
    left.filter(({ path }) => !isCovered(path)),
  );
  const ignored = left.filter(({ path }) => isCovered(path));
  return { groups: [...groups, ...loose.groups], others: [...ignored, ...loose.others] };
}

/** The folders of kustomizations and charts that no Source names, and what is left. */
async function looseGroups(at: LocalFolder, files: readonly SourceFile[]): Promise<Groups> {
  // Components are parts of other kustomizations only.
  const heads = files.filter(
    (file) =>
      isKustomization(file.path) && !/^kind:\s*['"]?Component\b/m.test(new TextDecoder().decode(file.bytes)),
  );
  const kustomized = heads.map(({ path }) => folderOfPath(path));
  const bases = new Set<string>();
  for (const folder of kustomized) {
    const { files: read } = await collectKustomization(folder, at.tree);
    for (const path of read.keys()) if (folderOfPath(path) !== folder) bases.add(path);
  }
  const tops = heads.filter(({ path }) => !bases.has(path)).map(({ path }) => folderOfPath(path));
  const charts = files.filter(({ path }) => isChart(path)).map(({ path }) => folderOfPath(path));
  const topCharts = charts.filter(
    (folder) =>
      !charts.some((other) => other !== folder && isBelow(other, `${folder}/`)) &&
      !kustomized.some((other) => isBelow(other, `${folder}/`)),
  );
  const built = [...kustomized, ...topCharts];
  const rest = files.filter(
    ({ path }) =>
      !isKustomization(path) && !built.some((folder) => isBelow(folder, path)) && !bases.has(path),
  );
  const whole = [...tops, ...topCharts].map((folder): Group => {
    const own = files.filter(({ path }) => isBelow(folder, path));
    return { at: { ...at, folder }, files: own, source: sourceForPath(folder), complete: false };
  });
  const manifests = rest.filter(holdsObjects);
  const others = rest.filter((file) => !manifests.includes(file));
  if (manifests.length === 0) return { groups: whole, others };
  const source = sourceForPath(at.folder);
  const plain = { ...source, spec: { ...source.spec, renderer: 'plain' as const } };
  return { groups: [...whole, { at, files: manifests, source: plain, complete: false }], others };
}

/** Files outside its folder that a Source's kustomization reads. */
async function basesOf({ at, files }: Group): Promise<Iterable<string>> {
  const paths: string[] = [];
  for (const { path } of files.filter((file) => isKustomization(file.path)))
    paths.push(...(await collectKustomization(folderOfPath(path), at.tree)).files.keys());
  return paths;
}

/** Whether anything in a file claims to be an object of Kubernetes; pipelines, compose files and values do not. */
function holdsObjects({ path, bytes }: SourceFile): boolean {
  // Windows PowerShell writes what it redirects like this, which no Source reads.
  const isWide = bytes[0] === 0xff && bytes[1] === 0xfe;
  const text = new TextDecoder(isWide ? 'utf-16le' : 'utf-8').decode(bytes);
  const isObject = /^(\s*\{)?\s*["']?(apiVersion|kind)["']?\s*:|^\s{0,4}"(apiVersion|kind)"\s*:/m.test(text);
  return isObject && !/(^|\/)\.sops\.ya?ml$/.test(path);
}

async function renderGroup(
  { at, files, source, complete }: Group,
  builders: Builders,
  namespace: string | undefined,
): Promise<LocalRendering> {
  const rendering = await renderSource(
    source,
    { folder: at.folder, files, problems: [], tree: at.tree },
    {
      builders,
      builds: createBuildCache(),
      cache: createRenderCache(),
      signal: new AbortController().signal,
      variables: variablesIn(source),
      decryption: unopened,
    },
  );
  // Both ways: what is asked about later carries the shown path.
  const rooted = new Map<Origin, Origin>();
  const show = (file: string) => (file === '' ? '' : at.shown(file));
  const read = rendering.read.map(
    (part): SourcePart => ({
      ...part,
      objects: part.objects.map((entry): RenderedObject => {
        const origin = { ...entry.origin, file: show(entry.origin.file) };
        rooted.set(origin, entry.origin);
        return { ...entry, origin };
      }),
      problems: part.problems.map((problem): FileProblem => ({ ...problem, file: show(problem.file) })),
    }),
  );
  const fallback = read.some((part) => part.isChart) ? 'default' : undefined;
  const settled = inNamespaces(read, defaultNamespaceOf(source) ?? namespace ?? fallback);
  const lineOf = (origin: Origin, field: string) => rendering.lineOf(rooted.get(origin) ?? origin, field);
  return { rendered: { ...settled, lineOf }, complete, ...(complete ? { source } : {}) };
}

/** As the controller places them: what lives in no namespace loses the one that it names, which the API server drops. */
function inNamespaces(
  parts: readonly SourcePart[],
  defaultNamespace: string | undefined,
): Pick<RenderResult, 'objects' | 'problems'> {
  const scoped = parts.map((part) => ({ ...part, objects: part.objects.map(inItsScope) }));
  if (!defaultNamespace) return settle(scoped, {});
  return settle(scoped, {
    defaultNamespace,
    isNamespaced: (_, kind) => ['namespaced', 'unknown'].includes(scopeOf(kind)),
  });
}

function inItsScope(entry: RenderedObject): RenderedObject {
  const { kind, metadata } = entry.object;
  if (metadata.namespace === undefined || scopeOf(kind) !== 'cluster') return entry;
  const { namespace: _, ...unscoped } = metadata;
  return { ...entry, object: { ...entry.object, metadata: unscoped } };
}

function defaultNamespaceOf(source: Source | undefined): string | undefined {
  return source?.spec.helm?.namespace ?? source?.spec.defaultNamespace;
}

/** Whether a file lies in a folder or below it; a folder is given with a slash at its end. */
function isBelow(folder: string, path: string): boolean {
  return folder === '' || path.startsWith(inside(folder, ''));
}
