import { lstatSync } from 'node:fs';
import { relative, sep } from 'node:path';
import type { Source } from '../../api/source/source.ts';
import { type Builders, createBuildCache } from '../../render/build/builder.ts';
import { isChart } from '../../render/helm.ts';
import { createRenderCache, type RenderResult, renderPlain, settle } from '../../render/render.ts';
import type { FileProblem, Origin, RenderedObject, SourceFile } from '../../render/rendered-object.ts';
import { unopened } from '../../render/sops/decrypt.ts';
import { renderSource, type SourcePart, type SourceRendering } from '../../render/source.ts';
import { folderOfPath } from '../../render/tree.ts';
import { type LocalFolder, localFolder } from '../local-files.ts';
import { scopeOf, sourceForPath, variablesIn } from '../offline.ts';
import { kindOf } from './kinds.ts';

/** What the files hold, and the Sources among them. */
interface LocalRendering {
  readonly rendered: RenderResult;
  readonly sources: readonly Source[];
}

interface Group {
  readonly at: LocalFolder;
  /** Paths from the repository's root. */
  readonly files: readonly SourceFile[];
}

/**
 * Renders what was given as a Source would: each folder as its path, charts below it as Sources of their own, single files as they are. The
 * settings come from the Source among the files whose path the folder is, else from the only one. Paths are as they were given.
 */
export async function renderLocal(
  paths: readonly string[],
  files: readonly SourceFile[],
  builders: Builders,
): Promise<LocalRendering> {
  const folders = paths.filter((path) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory());
  const groups = folders.flatMap((folder) => groupsOf(localFolder(folder), files));
  const grouped = new Set(groups.flatMap(({ at, files: own }) => own.map(({ path }) => at.shown(path))));
  const single = files.filter(({ path }) => !grouped.has(path));
  const sources = renderPlain(files)
    .objects.map(({ object }) => object)
    .filter((object): object is Source => kindOf(object) === 'Source');
  const renderings: SourceRendering[] = [];
  for (const group of groups) renderings.push(await renderGroup(group, sources, builders));
  const plain = renderPlain(single);
  const parts = [...renderings.flatMap(({ read }) => read), plain];
  const lineOf = (origin: Origin, field: string) => {
    const owner = renderings.find(({ read }) =>
      read.some(({ objects }) => objects.some((entry) => entry.origin === origin)),
    );
    return (owner ?? plain).lineOf(origin, field);
  };
  return { rendered: { ...withNamespaces(parts, sources), lineOf }, sources };
}

function groupsOf(at: LocalFolder, files: readonly SourceFile[]): Group[] {
  const root = at.shown('.');
  const own = files
    .map((file) => ({ ...file, path: relative(root, file.path).split(sep).join('/') }))
    .filter(({ path }) => (at.folder === '' ? !path.startsWith('../') : path.startsWith(`${at.folder}/`)));
  const charts = own
    .filter(({ path }) => isChart(path) && folderOfPath(path) !== at.folder)
    .map(({ path }) => folderOfPath(path));
  const tops = charts.filter((folder) => !charts.some((other) => folder.startsWith(`${other}/`)));
  const inChart = (path: string) => tops.find((folder) => path.startsWith(`${folder}/`));
  return [
    { at, files: own.filter(({ path }) => !inChart(path)) },
    ...tops.map((folder) => ({
      at: { ...at, folder },
      files: own.filter(({ path }) => inChart(path) === folder),
    })),
  ];
}

async function renderGroup(
  { at, files }: Group,
  sources: readonly Source[],
  builders: Builders,
): Promise<SourceRendering> {
  const source = sourceFor(at.folder, sources);
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
  return {
    ...rendering,
    read,
    lineOf: (origin, field) => rendering.lineOf(rooted.get(origin) ?? origin, field),
  };
}

function sourceFor(folder: string, sources: readonly Source[]): Source {
  const pathOf = ({ spec }: Source) =>
    (spec?.path ?? '')
      .split('/')
      .filter((part) => part !== '' && part !== '.')
      .join('/');
  const [only] = sources.length === 1 ? sources : [];
  const found = sources.find((source) => pathOf(source) === folder) ?? only;
  return found ?? sourceForPath(folder);
}

function withNamespaces(
  parts: readonly SourcePart[],
  sources: readonly Source[],
): Pick<RenderResult, 'objects' | 'problems'> {
  const named = sources.map(({ spec }) => spec?.helm?.namespace ?? spec?.defaultNamespace).filter(Boolean);
  const namespaces = new Set(
    parts.some(({ isChart: chart }) => chart) && named.length === 0 ? ['default'] : named,
  );
  const [defaultNamespace] = namespaces.size === 1 ? namespaces : [];
  if (!defaultNamespace) return settle(parts, {});
  return settle(parts, { defaultNamespace, isNamespaced: (_, kind) => scopeOf(kind) !== 'cluster' });
}
