import type { SourceSpec } from '../api/source.ts';
import { isChart } from './helm/chart.ts';
import { isKustomization } from './kustomize/collect.ts';
import { folderOfPath } from './tree.ts';
import type { FileProblem, SourceFile } from './types.ts';

/** A folder that a program renders as a whole. */
export interface Unit {
  readonly program: 'kustomize' | 'helm';
  /** From the root of the repository; empty for the root. */
  readonly folder: string;
}

/** Who reads what of a Source. */
export interface Units {
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
        'this folder is a chart; give it a Source of its own whose path it is, or leave it out with spec.ignore';
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

/** Whether a folder is one of these or lies in one. */
function isBelow(folder: string, folders: ReadonlySet<string>): boolean {
  for (let at = folder; ; at = folderOfPath(at)) {
    if (folders.has(at)) return true;
    if (at === '') return false;
  }
}
