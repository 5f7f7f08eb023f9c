import { createPause } from '../api/clock.ts';
import { limits as defaultLimits } from '../api/limits.ts';
import type { Source } from '../api/source/source.ts';
import type { BuildCache, Builders } from './build/builder.ts';
import type { InputLimits } from './build/collect.ts';
import type { ChartCapabilities } from './helm.ts';
import { lineOfField, readAhead, renderFile, sizeProblem } from './render.ts';
import type { FileProblem, Origin, RenderCache, RenderedObject, SourceFile } from './rendered-object.ts';
import { type Decryption, withoutKeys } from './sops/decrypt.ts';
import { blobId, decrypted } from './sops/source.ts';
import type { Variables } from './substitute/expand.ts';
import { createSubstitution, type Substitution } from './substitute/substitute.ts';
import { isKustomization, type Tree } from './tree.ts';
import { renderUnits, type UnitResult, unitsOf } from './units.ts';

/** What one commit holds for a Source. */
interface SourceFiles {
  /** `spec.path` without slashes at its ends. */
  readonly folder: string;
  /** The manifests below it that are not ignored. */
  readonly files: readonly SourceFile[];
  /** Manifests that cannot be read; reported unless they are inside a unit, whose program reads what it needs. */
  readonly problems: readonly FileProblem[];
  readonly tree: Tree;
}

/** What rendering works with. */
interface SourceRenderer {
  readonly builders: Builders;
  readonly builds: BuildCache;
  readonly cache: RenderCache;
  readonly signal: AbortSignal;
  /** Opens encrypted files; undefined: they are refused. */
  readonly decryption?: Decryption | undefined;
  /** What is filled into every object; undefined: nothing. */
  readonly variables?: Variables | undefined;
  readonly limits?: InputLimits;
  /** The cluster that charts are rendered for; undefined: none is asked. Its errors are thrown. */
  readonly capabilities?: (() => Promise<ChartCapabilities>) | undefined;
}

/** What one file, or one folder that a program renders, holds. */
export interface SourcePart {
  readonly objects: RenderedObject[];
  readonly problems: FileProblem[];
  readonly isChart?: boolean;
}

/** Objects as they were written, before namespaces are filled in. */
interface SourceRendering {
  readonly read: readonly SourcePart[];
  /** Ids of what was read outside the folder, by path: the same ids mean the same content. */
  readonly outside: ReadonlyMap<string, string>;
  /** Files and folders that were rendered now; the others came from the cache. */
  readonly renderedCount: number;
  /** Looking again may lead to something else without a new commit. */
  readonly isFleeting: boolean;
  readonly lineOf: (origin: Origin, field: string) => number;
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
  const { plain: selected, units, problems } = unitsOf(given.files, folder, source.spec.renderer);
  const unread = given.problems.filter(({ file }) => !units.some((unit) => isInside(unit.folder, file)));
  const opened = await decrypted(selected, withKnown(tree, given.files), renderer.decryption ?? withoutKeys, {
    limits,
    signal: renderer.signal,
  });
  const { files: plain, hide } = opened;
  const context = { ...renderer, limits, tree: opened.tree, source };
  const readAnew = await readAhead(plain, renderer);
  const excess = sizeProblem(plain, limits);
  const results = await renderUnits(units, context);
  const texts = new Map(plain.map(({ path, bytes }) => [path, bytes]));
  for (const { files } of results.filter((_, index) => units[index]?.program === 'kustomize'))
    for (const [path, { bytes }] of files) if (!isKustomization(path)) texts.set(path, bytes);
  const lineOf = (origin: Origin, field: string) => {
    const bytes = texts.get(origin.file);
    return bytes ? lineOfField({ path: origin.file, bytes }, origin, field, limits) : origin.line;
  };
  const read: SourcePart[] = [
    { objects: [], problems: [...unread, ...problems, ...opened.problems, ...(excess ? [excess] : [])] },
    ...(excess
      ? []
      : plain.map((file) => {
          const { objects, problems } = renderer.cache.get(file) ?? renderFile(file, limits);
          return { objects: withSecrets(objects, opened.secretsIn([file.path])), problems };
        })),
    ...results.map(({ built, files }, index) => ({
      objects: withSecrets(built.objects, opened.secretsIn(files.keys())),
      problems: [...built.problems],
      isChart: units[index]?.program === 'helm',
    })),
  ];
  const { variables, signal } = renderer;
  const filled = variables
    ? await withVariables(read, createSubstitution(variables, limits), { lineOf, signal })
    : read;
  return {
    read: filled.map((part) => ({
      ...part,
      objects: withSecrets(part.objects, variables?.secrets),
      problems: part.problems.map(hide),
    })),
    outside: outsideOf(folder, results),
    renderedCount: readAnew + results.filter(({ isNew }) => isNew).length,
    isFleeting: results.some(({ built }) => built.isFleeting === true),
    lineOf,
  };
}

function withSecrets(objects: readonly RenderedObject[], secrets: readonly string[] = []): RenderedObject[] {
  if (secrets.length === 0) return [...objects];
  return objects.map((entry) => ({
    ...entry,
    secrets: entry.secrets ? [...entry.secrets, ...secrets] : secrets,
  }));
}

/** Problems reported with the line of their field, for which the file is read again; the others have that of their object. */
const maxLocated = 50;

/** Objects with their variables filled in. What cannot be filled is a problem of the object's file. */
async function withVariables(
  parts: readonly SourcePart[],
  substitution: Substitution,
  { lineOf, signal }: Pick<SourceRendering, 'lineOf'> & { signal: AbortSignal },
): Promise<SourcePart[]> {
  const pause = createPause(signal);
  let found = 0;
  const problemAt = (origin: Origin, path: string, message: string): FileProblem => {
    found += 1;
    const line = path && found <= maxLocated ? lineOf(origin, path) : origin.line;
    return { file: origin.file, line, ...(path ? { field: path } : {}), message };
  };
  const filled: SourcePart[] = [];
  for (const part of parts) {
    const objects: RenderedObject[] = [];
    const problems = [...part.problems];
    for (const entry of part.objects) {
      await pause();
      const { origin } = entry;
      const result = substitution(entry);
      if (result.object) objects.push({ ...entry, object: result.object });
      else problems.push(...result.problems.map(({ path, message }) => problemAt(origin, path, message)));
    }
    filled.push({ ...part, objects, problems });
  }
  return filled;
}

/** A tree that need not ask again for the files that were read already. */
function withKnown(tree: Tree, files: readonly SourceFile[]): Tree {
  const known = new Map(files.map((file) => [file.path, file]));
  return {
    readAll: (folder) => tree.readAll(folder),
    async read(paths) {
      const missing = paths.filter((path) => known.get(path)?.oid === undefined);
      const found = new Map(missing.length > 0 ? await tree.read(missing) : []);
      for (const path of paths) {
        const file = known.get(path);
        if (file?.oid !== undefined) found.set(path, { kind: 'file', oid: file.oid, bytes: file.bytes });
      }
      return found;
    },
  };
}

function outsideOf(folder: string, results: readonly UnitResult[]): Map<string, string> {
  const all = results.flatMap(({ files }) =>
    [...files].map(([path, { oid }]) => [path, blobId(oid)] as const),
  );
  return new Map(all.filter(([path]) => !isInside(folder, path)));
}

function isInside(folder: string, path: string): boolean {
  return folder === '' || path.startsWith(`${folder}/`);
}
