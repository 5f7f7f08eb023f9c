import { listOf, mappingOf, scanFile } from '../scan.ts';
import { inside, type TreeFile } from '../tree.ts';
import type { FileProblem, RenderLimits } from '../types.ts';

/** Whether a path is that of a chart's description. */
export function isChart(path: string): boolean {
  return path === 'Chart.yaml' || path.endsWith('/Chart.yaml');
}

/**
 * Why a chart is not rendered, before anything is run: files that are no honest YAML, and dependencies that are not in its `charts`
 * folder, since nothing is fetched. `files`: of the chart and its values, by path from the root of the repository.
 */
export function chartProblems(
  folder: string,
  files: ReadonlyMap<string, TreeFile>,
  valuesFiles: readonly string[],
  limits: RenderLimits,
): FileProblem[] {
  const path = inside(folder, 'Chart.yaml');
  const chart = files.get(path);
  if (!chart)
    return [{ file: path, line: 0, message: 'does not exist; helm renders the chart at spec.path' }];
  const values = [inside(folder, 'values.yaml'), ...valuesFiles].filter((file) => files.has(file));
  const unreadable = [path, ...values].flatMap((file) => {
    const scanned = scanFile({ path: file, bytes: files.get(file)?.bytes ?? new Uint8Array() }, limits);
    return scanned.ok ? [] : [scanned.problem];
  });
  if (unreadable.length > 0) return unreadable;
  return dependencyProblems(folder, files, { path, bytes: chart.bytes }, limits);
}

function dependencyProblems(
  folder: string,
  files: ReadonlyMap<string, TreeFile>,
  chart: { path: string; bytes: Uint8Array },
  limits: RenderLimits,
): FileProblem[] {
  const scanned = scanFile(chart, limits);
  const [document] = scanned.ok ? scanned.documents : [];
  const charts = inside(folder, 'charts');
  const names = [...files.keys()]
    .filter((path) => path.startsWith(`${charts}/`))
    .map((path) => path.slice(charts.length + 1));
  return listOf(mappingOf(document?.value).dependencies).flatMap((entry, index): FileProblem[] => {
    const name = String(mappingOf(entry).name ?? '');
    const isThere = names.some(
      (path) => path === `${name}/Chart.yaml` || (path.startsWith(`${name}-`) && /^[^/]+\.tgz$/.test(path)),
    );
    if (isThere) return [];
    const field = `dependencies[${index}]`;
    const message = `${name} is not in ${charts}; nothing is fetched while rendering: run "helm dependency build" and commit that folder`;
    return [{ file: chart.path, line: document?.lineOf(field) ?? 0, field, message }];
  });
}
