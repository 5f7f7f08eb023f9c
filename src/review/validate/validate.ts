/** What `holdfast validate` finds in files. No cluster is asked. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, objectKey } from '../../api/kubernetes.ts';
import { limits } from '../../api/limits.ts';
import type { Source } from '../../api/source/source.ts';
import { whyNotAllowed } from '../../engine/sync/scope/permissions.ts';
import { findBuilders, type ProgramPaths } from '../../render/build/programs.ts';
import type { RenderedObject, RenderResult } from '../../render/rendered-object.ts';
import { compareTexts } from '../../terminal/output.ts';
import { defaultSelectorLabels } from '../../workload/shared/metadata.ts';
import { readLocalFiles } from '../local-files.ts';
import { type KindOptions, remarksOn, type Severity } from './kinds.ts';
import { queryFindings } from './queries.ts';
import { folderFindings, namespaceFindings, referenceFindings } from './references.ts';
import { type Finding, releaseFindings } from './releases.ts';
import { renderLocal } from './render.ts';

/** What `holdfast validate` is asked for. */
interface ValidateOptions extends Partial<KindOptions> {
  readonly paths: readonly string[];
  readonly selectorLabels?: readonly string[];
  /** For objects without a namespace where no Source says one. */
  readonly namespace?: string | undefined;
  /** Where kustomize and helm are; otherwise they are looked for on PATH. */
  readonly programs?: ProgramPaths;
}

/** What it found, in the order of files and lines. */
export interface Validation {
  readonly files: number;
  readonly objects: number;
  readonly findings: readonly Finding[];
  /** Files that hold no object of Kubernetes and that no Source reads. */
  readonly leftAlone: readonly string[];
}

/** Reads the files as a Source would and reports what Holdfast would refuse, warn of or ignore. No cluster is asked. */
export async function validate(options: ValidateOptions): Promise<Validation> {
  const local = await readLocalFiles(options.paths);
  const kinds: KindOptions = {
    strict: options.strict ?? true,
    defaultProvider: options.defaultProvider ?? 'kubernetes',
    minIntervalMs: options.minIntervalMs ?? limits.minAnalysisIntervalMs,
    forbidsOtherNamespaces: options.forbidsOtherNamespaces ?? true,
  };
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-validate-'));
  const builders = findBuilders(options.programs ?? {}, folder);
  const { renderings, leftAlone, missing } = await renderLocal(options.paths, local.files, {
    builders,
    namespace: options.namespace,
  }).finally(() => rm(folder, { recursive: true, force: true }));
  const selectorLabels = options.selectorLabels ?? defaultSelectorLabels;
  const objects = renderings.flatMap(({ rendered }) => rendered.objects);
  const keys = new Set(objects.map(({ object }) => objectKey(object)));
  const findings = local.problems.map((problem): Finding => ({ ...problem, severity: 'problem' }));
  for (const { rendered, complete, source } of renderings) {
    const broken = [...local.problems, ...rendered.problems];
    findings.push(
      ...rendered.problems.map((problem): Finding => ({ ...problem, severity: 'problem' })),
      ...rendered.objects.flatMap((entry) => objectFindings(entry, rendered, kinds)),
      ...namespaceFindings(rendered, complete),
      ...referenceFindings(rendered, keys, complete),
      ...queryFindings(rendered, objects),
      ...(source ? notAllowed(source, rendered.objects) : []),
      ...folderFindings(rendered, missing),
      ...releaseFindings(rendered, broken, {
        complete,
        selectorLabels,
        defaultProvider: kinds.defaultProvider,
      }),
    );
  }
  if (local.files.length === 0 && local.problems.length === 0)
    findings.push({
      file: options.paths.join(', '),
      line: 0,
      message: 'contains no .yaml, .yml or .json file',
      severity: 'problem',
    });
  const places = new Set(objects.map(({ origin }) => JSON.stringify(origin)));
  return { files: local.files.length, objects: places.size, findings: sorted(findings), leftAlone };
}

/** What the Source may not write, by its own `spec.allow`. */
function notAllowed(source: Source, objects: readonly RenderedObject[]): Finding[] {
  return objects.flatMap(({ object, origin: { file, line } }): Finding[] => {
    const why = whyNotAllowed(source, object);
    if (why === undefined) return [];
    return [{ file, line, message: `${describe(object)}: ${why}`, severity: 'problem' }];
  });
}

function objectFindings(
  { object, origin }: RenderedObject,
  { lineOf }: RenderResult,
  options: KindOptions,
): Finding[] {
  return remarksOn(object, options).map(({ path, message, severity }) => ({
    file: origin.file,
    line: path ? lineOf(origin, path) : origin.line,
    ...(path ? { field: path } : {}),
    message,
    severity,
  }));
}

const order: readonly Severity[] = ['problem', 'warning', 'note'];

/** By file and line; a finding of two checks is reported once. */
function sorted(findings: readonly Finding[]): Finding[] {
  const unique = new Map<string, Finding>();
  for (const finding of findings) {
    const { file, line, field, message } = finding;
    const key = JSON.stringify([file, line, field, message]);
    const known = unique.get(key);
    if (!known || order.indexOf(finding.severity) < order.indexOf(known.severity)) unique.set(key, finding);
  }
  return [...unique.values()].sort(
    (a, b) =>
      compareTexts(a.file, b.file) ||
      a.line - b.line ||
      order.indexOf(a.severity) - order.indexOf(b.severity),
  );
}
