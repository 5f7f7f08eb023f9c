import { createPause, sleep, systemClock } from '../api/clock.ts';
import { describe, listOf, recordOf } from '../api/kubernetes.ts';
import type { SourceHelm } from '../api/source/source.ts';
import { type Builder, type Built, failedBuild, failureText } from './build/builder.ts';
import { renderFile } from './render.ts';
import type { FileProblem, RenderedObject, RenderLimits } from './rendered-object.ts';
import { folderOfPath, inside, type TreeFile } from './tree.ts';
import { splitDocuments } from './yaml/documents.ts';
import { scanFile } from './yaml/scan.ts';

/** What a chart sees as `.Capabilities`: the version as `v1.36.2`; `apps/v1` and `apps/v1/Deployment`. */
export interface ChartCapabilities {
  readonly kubeVersion: string;
  readonly apiVersions: readonly string[];
}

/** Where no cluster is asked: the version whose API this program is built with. Helm adds the kinds of Kubernetes itself. */
export const offlineCapabilities: ChartCapabilities = { kubeVersion: 'v1.36.0', apiVersions: [] };

/** What one chart is rendered from. */
export interface HelmInput {
  /** From the root of the repository. */
  readonly folder: string;
  /** The chart and its files of values, by path from the root. */
  readonly files: ReadonlyMap<string, TreeFile>;
  readonly release: { readonly name: string; readonly namespace: string };
  /** Paths from the root; a later one wins. */
  readonly valuesFiles: readonly string[];
  readonly helm: SourceHelm;
  readonly capabilities: ChartCapabilities;
  readonly limits: RenderLimits;
  readonly signal: AbortSignal;
}

/** Where the chart and our own values are in the private folder. Helm names templates after the chart, not after its folder. */
const repository = 'repository';
const ownValues = 'values.json';

/**
 * Renders a chart with `helm template`, twice: a chart whose two renderings differ would be another release at each look, so it is refused
 * with the fields named (design section 3). What a chart makes of the time differs in the next second only. Objects of tests are left out; other
 * hooks are refused, or left out where the Source says so. Throws the signal's reason.
 */
export async function buildChart(builder: Builder, input: HelmInput): Promise<Built> {
  const { folder, files, valuesFiles, limits } = input;
  const before = chartProblems(folder, files, valuesFiles, limits);
  if (before.length > 0) return { objects: [], problems: before, bytes: 0 };
  const file = inside(folder, 'Chart.yaml');
  const inputs = new Map([...files].map(([path, { bytes }]) => [`${repository}/${path}`, bytes]));
  inputs.set(ownValues, new TextEncoder().encode(JSON.stringify(input.helm.values ?? {})));
  const outputs: string[] = [];
  for (let round = 0; round < 2; round += 1) {
    const result = await builder.run(helmArgs(input), inputs, input.signal);
    if (!result.ok) return failedBuild(failureOf(file, failureText('helm', result)), result);
    outputs.push(result.output);
    if (round === 0 && asksForTime(files)) await nextSecond(input.signal);
  }
  const [first = '', second = ''] = outputs;
  const built = await objectsIn(first, input, file);
  if (first === second) return built;
  const changing = changingFields(built.objects, (await objectsIn(second, input, file)).objects);
  // Comments, and what is left out: names of tests are often random.
  if (changing === '') return built;
  const message = `two renderings of the same files differ (${changing}), so every poll would make a new release; set these fields to fixed values`;
  return { objects: [], problems: [{ file, line: 0, message }], bytes: 0 };
}

/** Whether a template may ask for the time. Archives are not opened. */
function asksForTime(files: HelmInput['files']): boolean {
  return [...files].some(
    ([path, { bytes }]) =>
      path.endsWith('.tgz') ||
      (!/(?:\.md|NOTES\.txt)$/.test(path) && /\bnow\b/.test(Buffer.from(bytes).toString('latin1'))),
  );
}

async function nextSecond(signal: AbortSignal): Promise<void> {
  const second = () => Math.floor(systemClock.nowMs() / 1000);
  const before = second();
  while (second() === before && !signal.aborted)
    await sleep(systemClock, 1000 - (systemClock.nowMs() % 1000), signal);
}

/** What helm is called with: it asks no cluster itself, and names are not looked up. */
export function helmArgs({ folder, release, valuesFiles, helm, capabilities }: HelmInput): string[] {
  const files = valuesFiles.map((path) => `--values=${listEntry(`${repository}/${path}`)}`);
  const own = helm.values ? [`--values=${ownValues}`] : [];
  const chart = folder === '' ? repository : `${repository}/${folder}`;
  return [
    'template',
    release.name,
    chart,
    `--namespace=${release.namespace}`,
    '--include-crds',
    `--kube-version=${capabilities.kubeVersion}`,
    ...capabilities.apiVersions.map((name) => `--api-versions=${name}`),
    ...files,
    ...own,
  ];
}

/** Helm takes lists of files separated by commas as in CSV: a path with a comma could name any file of this machine. */
function listEntry(path: string): string {
  return /[",\r\n]/.test(path) ? `"${path.replaceAll('"', '""')}"` : path;
}

async function objectsIn(output: string, input: HelmInput, chart: string): Promise<Built> {
  const objects: RenderedObject[] = [];
  const problems: FileProblem[] = [];
  const pause = createPause(input.signal);
  for (const { text, source } of templatesIn(output)) {
    await pause();
    // `shop/templates/web.yaml` stands for a template of a chart of that name, wherever its folder is; parts of charts inside it follow the same way.
    const file = source === undefined ? chart : inside(input.folder, source.slice(source.indexOf('/') + 1));
    const read = renderFile({ path: file, bytes: new TextEncoder().encode(text) }, input.limits);
    // Lines are those of the rendered text, which is not shown.
    problems.push(...read.problems.map((problem) => ({ ...problem, line: 0 })));
    for (const { object } of read.objects) {
      // What a hook waits for, as `pre-install`; none for an ordinary object.
      const named = object.metadata.annotations?.['helm.sh/hook'];
      const hooks = named === undefined ? [] : named.split(',').map((hook) => hook.trim());
      if (hooks.length === 0) objects.push({ object, origin: { file, line: 1, document: 0, items: [] } });
      else if (!hooks.every((hook) => testHook.test(hook)) && !input.helm.skipHooks) {
        const message = `${describe(object)} is a hook (${hooks.join(', ')}), and hooks are not run; disable it in the chart's values, or skip all hooks with spec.helm.skipHooks: true`;
        problems.push({ file, line: 0, message });
      }
    }
  }
  return { objects, problems, bytes: output.length };
}

function failureOf(file: string, message: string): FileProblem {
  const found =
    /(?:^|[\s(])[\w.-]+\/(?<path>(?:charts\/[^\s:]+\/)?(?:templates|crds)\/[^\s:]+):(?<line>\d+)/.exec(
      message,
    )?.groups;
  if (!found) return { file, line: 0, message };
  return { file: file.replace(/Chart\.yaml$/, found.path ?? ''), line: Number(found.line), message };
}

function changingFields(left: readonly RenderedObject[], right: readonly RenderedObject[]): string {
  const longer = left.length < right.length ? right : left;
  const fields = longer.flatMap(({ object }, index) => {
    const found = differingFields(left[index]?.object, right[index]?.object, 3);
    return found.map((field) => `${describe(object)} ${field || 'as a whole'}`);
  });
  return fields.slice(0, 5).join(', ');
}

/** One template's text as helm printed it. */
interface PrintedTemplate {
  readonly text: string;
  /** Path of the template below the folder above the chart, as `shop/templates/web.yaml`. */
  readonly source: string | undefined;
}

/** Splits what `helm template` printed; each part begins with the comment that names its template. */
export function templatesIn(output: string): PrintedTemplate[] {
  let source: string | undefined;
  return splitDocuments(output).map((text) => {
    // A file of several CustomResourceDefinitions is printed as it is, named once.
    source = /^# Source: (?<source>.+)\n/.exec(text)?.groups?.source ?? source;
    return { text, source };
  });
}

/** Tests run with `helm test` only, never during an installation. */
const testHook = /^test(-success|-failure)?$/;

/** Fields in which two objects differ, as paths without values; at most `most`. */
export function differingFields(left: unknown, right: unknown, most = 5, path = ''): string[] {
  if (left === right) return [];
  const isWhole = typeof left !== 'object' || typeof right !== 'object' || left === null || right === null;
  if (isWhole || Array.isArray(left) !== Array.isArray(right)) return [path];
  const a = left as Record<string, unknown>;
  const b = right as Record<string, unknown>;
  const found: string[] = [];
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    if (found.length >= most) break;
    const step = Array.isArray(left) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`;
    found.push(...differingFields(a[key], b[key], most - found.length, step));
  }
  return found;
}

/** Whether a path is that of a chart's description. */
export function isChart(path: string): boolean {
  return path === 'Chart.yaml' || path.endsWith('/Chart.yaml');
}

/**
 * Why a chart is not rendered, before anything is run: files that are no honest YAML, and dependencies that are not in its `charts`
 * folder, since nothing is fetched. `files`: of the chart and its values, by path from the root of the repository.
 */
function chartProblems(
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
    const scanned = scanChartFile({ path: file, bytes: files.get(file)?.bytes ?? new Uint8Array() }, limits);
    return scanned.ok ? [] : [scanned.problem];
  });
  if (unreadable.length > 0) return unreadable;
  return dependencyProblems(folder, files, { path, bytes: chart.bytes }, limits);
}

/** Charts of others write a key twice now and then, and helm takes the last one. */
function scanChartFile(file: { path: string; bytes: Uint8Array }, limits: RenderLimits) {
  return scanFile(file, limits, { lastKeyWins: true });
}

function dependencyProblems(
  folder: string,
  files: ReadonlyMap<string, TreeFile>,
  chart: { path: string; bytes: Uint8Array },
  limits: RenderLimits,
): FileProblem[] {
  const scanned = scanChartFile(chart, limits);
  const [document] = scanned.ok ? scanned.documents : [];
  const charts = inside(folder, 'charts');
  const below = [...files.keys()].filter((path) => path.startsWith(`${charts}/`));
  const archives = below
    .map((path) => path.slice(charts.length + 1))
    .filter((name) => /^[^/]+\.tgz$/.test(name));
  // Helm goes by the names in the charts, whatever their folders are called.
  const folders = below
    .filter((path) => isChart(path) && folderOfPath(folderOfPath(path)) === charts)
    .map((path) => scanChartFile({ path, bytes: files.get(path)?.bytes ?? new Uint8Array() }, limits))
    .map((scanned) => (scanned.ok ? recordOf(scanned.documents[0]?.value).name : undefined));
  return listOf(recordOf(document?.value).dependencies).flatMap((entry, index): FileProblem[] => {
    const name = String(recordOf(entry).name ?? '');
    if (folders.includes(name) || archives.some((archive) => archive.startsWith(`${name}-`))) return [];
    const field = `dependencies[${index}]`;
    const message = `${name} is not in ${charts}; nothing is fetched while rendering: run "helm dependency build" and commit that folder`;
    return [{ file: chart.path, line: document?.lineOf(field) ?? 0, field, message }];
  });
}
