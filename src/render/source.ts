import { limits as defaultLimits } from '../api/limits.ts';
import type { Source } from '../api/source.ts';
import { type BuildCache, buildKey } from './build/build-cache.ts';
import type { Builder, Builders, Built } from './build/builder.ts';
import type { RenderCache } from './cache.ts';
import { lineOfField, renderFile } from './file.ts';
import { buildChart } from './helm/helm.ts';
import { collectKustomization, type InputLimits, isKustomization } from './kustomize/collect.ts';
import { buildKustomization } from './kustomize/kustomize.ts';
import { readAhead, sizeProblem } from './render.ts';
import { pathFrom, type Tree, type TreeFile } from './tree.ts';
import type { FileProblem, Origin, RenderedObject, SourceFile } from './types.ts';
import { type Unit, unitsOf } from './units.ts';

/** What one commit holds for a Source. */
export interface SourceFiles {
  /** `spec.path` without slashes at its ends. */
  readonly folder: string;
  /** The manifests below it that are not ignored. */
  readonly files: readonly SourceFile[];
  /** Manifests that cannot be read; told unless only a program could have wanted them. */
  readonly problems: readonly FileProblem[];
  readonly tree: Tree;
}

/** What rendering works with. */
export interface SourceRenderer {
  readonly builders: Builders;
  readonly builds: BuildCache;
  readonly cache: RenderCache;
  readonly signal: AbortSignal;
  readonly limits?: InputLimits;
}

/** What one file, or one folder that a program renders, holds. */
export interface SourcePart {
  readonly objects: RenderedObject[];
  readonly problems: FileProblem[];
  readonly isChart?: boolean;
}

/** Objects as they were written, before namespaces are filled in. */
export interface SourceRendering {
  readonly read: readonly SourcePart[];
  /** Ids of what was read outside the folder, by path: the same ids mean the same content. */
  readonly outside: ReadonlyMap<string, string>;
  /** Looking again may lead to something else without a new commit. */
  readonly isFleeting: boolean;
  readonly lineOf: (origin: Origin, field: string) => number;
}

interface UnitResult {
  readonly built: Built;
  readonly files: ReadonlyMap<string, TreeFile>;
}

/**
 * Renders what a Source selects: each kustomization or chart as a whole, or from the cache where nothing that it refers to changed, and the
 * other files one by one. A unit that cannot be rendered is a problem of its file. Throws the signal's reason, and the tree's errors.
 */
export async function renderSource(
  source: Source,
  given: SourceFiles,
  renderer: SourceRenderer,
): Promise<SourceRendering> {
  const { folder, tree } = given;
  const limits = renderer.limits ?? defaultLimits;
  const { plain, units, problems } = unitsOf(given.files, folder, source.spec.renderer);
  const unread = given.problems.filter(({ file }) => !units.some((unit) => isInside(unit.folder, file)));
  const context = { ...renderer, limits, tree: withKnown(tree, given.files), source };
  await readAhead(plain, renderer);
  const excess = sizeProblem(plain, limits);
  const results = await inTurn(units, (unit) => renderUnit(unit, context));
  const texts = new Map(plain.map(({ path, bytes }) => [path, bytes]));
  for (const { files } of results.filter((_, index) => units[index]?.program === 'kustomize'))
    for (const [path, { bytes }] of files) if (!isKustomization(path)) texts.set(path, bytes);
  return {
    read: [
      { objects: [], problems: [...unread, ...problems, ...(excess ? [excess] : [])] },
      ...(excess ? [] : plain.map((file) => renderer.cache.get(file) ?? renderFile(file, limits))),
      ...results.map(({ built }, index) => ({
        objects: [...built.objects],
        problems: [...built.problems],
        isChart: units[index]?.program === 'helm',
      })),
    ],
    outside: outsideOf(folder, results),
    isFleeting: results.some(({ built }) => built.isFleeting === true),
    lineOf(origin, field) {
      const bytes = texts.get(origin.file);
      return bytes ? lineOfField({ path: origin.file, bytes }, origin, field, limits) : origin.line;
    },
  };
}

interface UnitContext extends SourceRenderer {
  readonly limits: InputLimits;
  readonly tree: Tree;
  readonly source: Source;
}

async function renderUnit(unit: Unit, context: UnitContext): Promise<UnitResult> {
  const builder = context.builders[unit.program];
  const file = unit.program === 'helm' ? 'Chart.yaml' : 'kustomization.yaml';
  const at = unit.folder === '' ? file : `${unit.folder}/${file}`;
  if (!builder) {
    const message = `needs ${unit.program}, which is not installed where Holdfast runs: name it with --${unit.program}`;
    return { built: refused([{ file: at, line: 0, message }]), files: new Map() };
  }
  return unit.program === 'kustomize'
    ? renderKustomization(unit, builder, context)
    : renderChart(unit, builder, context);
}

async function renderKustomization(
  { folder }: Unit,
  builder: Builder,
  { tree, limits, signal, builds }: UnitContext,
): Promise<UnitResult> {
  const { files, problems } = await collectKustomization(folder, tree, {
    limits,
    references: builds.references,
  });
  if (problems.length > 0) return { built: refused(problems), files };
  const key = buildKey(await builder.version(), ['kustomize', folder], files);
  const built = await cached(builds, key, () =>
    buildKustomization(builder, { folder, files, limits, signal }),
  );
  return { built, files };
}

async function renderChart(
  { folder }: Unit,
  builder: Builder,
  { tree, limits, signal, builds, source }: UnitContext,
): Promise<UnitResult> {
  const helm = source.spec.helm ?? {};
  const { files, problems, valuesFiles } = await chartFiles(folder, helm.valuesFiles ?? [], tree);
  if (problems.length > 0) return { built: refused(problems), files };
  const release = { name: helm.releaseName ?? source.metadata.name, namespace: releaseNamespace(source) };
  const settings = ['helm', folder, release, valuesFiles, helm.values ?? null, helm.skipHooks === true];
  const key = buildKey(await builder.version(), settings, files);
  const built = await cached(builds, key, () =>
    buildChart(builder, { folder, files, release, valuesFiles, helm, limits, signal }),
  );
  return { built, files };
}

/** Namespace that a chart is rendered for, and that its objects are put into when they name none. */
export function releaseNamespace({ spec, metadata }: Source): string {
  return spec.helm?.namespace ?? spec.defaultNamespace ?? metadata.namespace ?? 'default';
}

async function chartFiles(folder: string, named: readonly string[], tree: Tree) {
  const { files: chart, problems: unread } = await tree.readAll(folder);
  const files = new Map(chart);
  const problems: FileProblem[] = unread.map(({ path, message }) => ({ file: path, line: 0, message }));
  const targets = named.map((name) => ({ name, path: pathFrom(folder, name) }));
  const entries = await tree.read(targets.flatMap(({ path }) => (path === undefined ? [] : [path])));
  const valuesFiles: string[] = [];
  for (const { name, path } of targets) {
    const entry = path === undefined ? undefined : entries.get(path);
    if (path !== undefined && entry?.kind === 'file') {
      files.set(path, entry);
      valuesFiles.push(path);
      continue;
    }
    const what = path === undefined ? 'leads out of the repository' : 'is no file of the repository';
    problems.push({ file: '', line: 0, field: 'spec.helm.valuesFiles', message: `${name} ${what}` });
  }
  return { files, problems, valuesFiles };
}

async function cached(builds: BuildCache, key: string, build: () => Promise<Built>): Promise<Built> {
  const known = builds.get(key);
  if (known) return known;
  const built = await build();
  if (!built.isFleeting) builds.set(key, built);
  return built;
}

function refused(problems: readonly FileProblem[]): Built {
  return { objects: [], problems, bytes: 0 };
}

/** A tree that need not ask again for the files that were read already. */
function withKnown(tree: Tree, files: readonly SourceFile[]): Tree {
  const known = new Map(files.map((file) => [file.path, file]));
  return {
    readAll: (folder) => tree.readAll(folder),
    async read(paths) {
      const asked = paths.filter((path) => known.get(path)?.oid === undefined);
      const found = new Map(asked.length > 0 ? await tree.read(asked) : []);
      for (const path of paths) {
        const file = known.get(path);
        if (file?.oid !== undefined) found.set(path, { kind: 'file', oid: file.oid, bytes: file.bytes });
      }
      return found;
    },
  };
}

function outsideOf(folder: string, results: readonly UnitResult[]): Map<string, string> {
  const all = results.flatMap(({ files }) => [...files].map(([path, { oid }]) => [path, oid] as const));
  return new Map(all.filter(([path]) => !isInside(folder, path)));
}

function isInside(folder: string, path: string): boolean {
  return folder === '' || path.startsWith(`${folder}/`);
}

/** Programs run side by side as far as their own queue lets them; results come in the order of the units. */
async function inTurn<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const queue = [...items.entries()];
  const worker = async (): Promise<void> => {
    for (let next = queue.shift(); next; next = queue.shift()) results[next[0]] = await work(next[1]);
  };
  await Promise.all(Array.from({ length: parallelUnits }, worker));
  return results;
}

const parallelUnits = 4;
