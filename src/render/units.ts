import type { Source, SourceSpec } from '../api/source/source.ts';
import { type BuildCache, type Builder, type Builders, type Built, buildKey } from './build/builder.ts';
import { collectKustomization, type InputLimits } from './build/collect.ts';
import { buildChart, type ChartCapabilities, isChart, offlineCapabilities } from './helm.ts';
import { buildKustomization } from './kustomize/kustomize.ts';
import type { FileProblem, SourceFile } from './rendered-object.ts';
import { folderOfPath, inside, isKustomization, pathFrom, type Tree, type TreeFile } from './tree.ts';

/** A folder that a program renders as a whole. */
interface Unit {
  readonly program: 'kustomize' | 'helm';
  /** From the root of the repository; empty for the root. */
  readonly folder: string;
}

/** Who reads what of a Source. */
interface Units {
  readonly plain: readonly SourceFile[];
  readonly units: readonly Unit[];
  readonly problems: readonly FileProblem[];
}

/**
 * Splits the files of a Source (ADR 24). `auto`: kustomize where the path holds a kustomization, else helm where it holds a chart, else
 * plain; folders below a plain path that hold a kustomization are built by kustomize, the topmost one of each branch, as Flux does.
 */
export function unitsOf(
  files: readonly SourceFile[],
  folder: string,
  renderer: SourceSpec['renderer'] = 'auto',
): Units {
  if (renderer === 'plain') return { plain: files.filter(isPlain), units: [], problems: [] };
  if (renderer !== 'auto') return { plain: [], units: [{ program: renderer, folder }], problems: [] };
  const here = files.filter(({ path }) => folderOfPath(path) === folder);
  if (here.some(({ path }) => isKustomization(path)))
    return { plain: [], units: [{ program: 'kustomize', folder }], problems: [] };
  if (here.some(({ path }) => isChart(path)))
    return { plain: [], units: [{ program: 'helm', folder }], problems: [] };
  return nested(files);
}

function nested(files: readonly SourceFile[]): Units {
  const kustomized = new Set(
    files.filter(({ path }) => isKustomization(path)).map(({ path }) => folderOfPath(path)),
  );
  const tops = [...kustomized].filter((folder) => !isBelow(folderOfPath(folder), kustomized)).sort();
  const isBuilt = (path: string) => isBelow(folderOfPath(path), kustomized);
  const charts = files.filter(({ path }) => isChart(path) && !isBuilt(path));
  const chartFolders = new Set(charts.map(({ path }) => folderOfPath(path)));
  const problems = charts
    .filter(({ path }) => !isBelow(folderOfPath(folderOfPath(path)), chartFolders))
    .map(({ path }): FileProblem => {
      const message =
        'this folder is a chart; create a Source with this path, or exclude it with spec.ignore';
      return { file: path, line: 0, message };
    });
  const isFree = (path: string) => !isBuilt(path) && !isBelow(folderOfPath(path), chartFolders);
  const plain = files.filter((file) => isPlain(file) && isFree(file.path));
  return { plain, units: tops.map((folder) => ({ program: 'kustomize', folder })), problems };
}

/** Kustomizations and the settings of SOPS are no objects. */
function isPlain({ path }: SourceFile): boolean {
  return !isKustomization(path) && !/(^|\/)\.sops\.ya?ml$/.test(path);
}

/** Whether a folder is one of these or inside one. */
function isBelow(folder: string, folders: ReadonlySet<string>): boolean {
  for (let at = folder; ; at = folderOfPath(at)) {
    if (folders.has(at)) return true;
    if (at === '') return false;
  }
}

/** What one unit is rendered with. */
interface UnitContext {
  readonly builders: Builders;
  readonly builds: BuildCache;
  readonly signal: AbortSignal;
  readonly limits: InputLimits;
  readonly tree: Tree;
  readonly source: Source;
  /** Asked for charts alone. */
  readonly capabilities?: (() => Promise<ChartCapabilities>) | undefined;
}

/** The result of a unit, and every file that it was rendered from, by path. */
export interface UnitResult {
  readonly built: Built;
  readonly files: ReadonlyMap<string, TreeFile>;
  /** A program ran for it; otherwise it came from the cache, or could not be begun. */
  readonly isNew?: boolean;
}

/** Renders units side by side as far as the programs' own queue lets them; results come in the order of the units. */
export function renderUnits(units: readonly Unit[], context: UnitContext): Promise<UnitResult[]> {
  return inTurn(units, (unit) => renderUnit(unit, context));
}

async function renderUnit(unit: Unit, context: UnitContext): Promise<UnitResult> {
  const found = context.builders[unit.program];
  const { namespace } = context.source.metadata;
  const builder: Builder | undefined = found && {
    ...found,
    run: (args, inputs, signal) => found.run(args, inputs, signal, namespace),
  };
  const file = unit.program === 'helm' ? 'Chart.yaml' : 'kustomization.yaml';
  const at = inside(unit.folder, file);
  if (!builder) {
    const message = `needs ${unit.program}, which is not installed where Holdfast runs; set its path with --${unit.program}`;
    return { built: refused([{ file: at, line: 0, message }]), files: new Map() };
  }
  const version = await builder.version().catch((error: Error) => error);
  if (version instanceof Error)
    return {
      built: { ...refused([{ file: at, line: 0, message: version.message }]), isFleeting: true },
      files: new Map(),
    };
  return unit.program === 'kustomize'
    ? renderKustomization(unit, { builder, version }, context)
    : renderChart(unit, { builder, version }, context);
}

/** A program that answers. */
interface Program {
  readonly builder: Builder;
  readonly version: string;
}

async function renderKustomization(
  { folder }: Unit,
  { builder, version }: Program,
  { tree, limits, signal, builds }: UnitContext,
): Promise<UnitResult> {
  const { files, problems } = await collectKustomization(folder, tree, {
    limits,
    references: builds.references,
  });
  if (problems.length > 0) return { built: refused(problems), files };
  const key = buildKey(version, ['kustomize', folder], files);
  const result = await cached(builds, key, () =>
    buildKustomization(builder, { folder, files, limits, signal }),
  );
  return { ...result, files };
}

async function renderChart(
  { folder }: Unit,
  { builder, version }: Program,
  { tree, limits, signal, builds, source, capabilities: ask }: UnitContext,
): Promise<UnitResult> {
  const helm = source.spec.helm ?? {};
  const { files, problems, valuesFiles } = await chartFiles(folder, helm.valuesFiles ?? [], tree);
  if (problems.length > 0) return { built: refused(problems), files };
  const release = { name: helm.releaseName ?? source.metadata.name, namespace: releaseNamespace(source) };
  const capabilities = (await ask?.()) ?? offlineCapabilities;
  const settings = [
    ...['helm', folder, release, valuesFiles, helm.values ?? null, helm.skipHooks === true],
    capabilities,
  ];
  const key = buildKey(version, settings, files);
  const result = await cached(builds, key, () =>
    buildChart(builder, { folder, files, release, valuesFiles, helm, capabilities, limits, signal }),
  );
  return { ...result, files };
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
    const what = path === undefined ? 'is outside the repository' : 'is not a file of the repository';
    problems.push({ file: '', line: 0, field: 'spec.helm.valuesFiles', message: `${name} ${what}` });
  }
  return { files, problems, valuesFiles };
}

async function cached(
  builds: BuildCache,
  key: string,
  build: () => Promise<Built>,
): Promise<Pick<UnitResult, 'built' | 'isNew'>> {
  const known = builds.get(key);
  if (known) return { built: known };
  const built = await build();
  if (!built.isFleeting) builds.set(key, built);
  return { built, isNew: true };
}

function refused(problems: readonly FileProblem[]): Built {
  return { objects: [], problems, bytes: 0 };
}

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
