import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { limits } from '../api/limits.ts';
import type { Builders } from '../render/build/builder.ts';
import { findBuilders, type ProgramPaths } from '../render/build/programs.ts';
import type { RenderResult } from '../render/render.ts';
import type { RenderedObject } from '../render/types.ts';
import { defaultSelectorLabels } from '../workload/selector.ts';
import { readLocalFiles } from './validate-files.ts';
import { type KindOptions, remarksOn, type Severity } from './validate-kinds.ts';
import { namespaceFindings, referenceFindings } from './validate-references.ts';
import { type Finding, releaseFindings } from './validate-releases.ts';
import { renderLocal } from './validate-render.ts';

/** What `holdfast validate` is asked for. */
export interface ValidateOptions extends Partial<KindOptions> {
  readonly paths: readonly string[];
  readonly selectorLabels?: readonly string[];
  /** Where kustomize and helm are; otherwise they are looked for on PATH. */
  readonly programs?: ProgramPaths;
}

/** What it found, in the order of files and lines. */
export interface Validation {
  readonly files: number;
  readonly objects: number;
  readonly findings: readonly Finding[];
}

/** Reads the files as a Source would and says everything that Holdfast would refuse, doubt or leave undone. No cluster is asked. */
export async function validate(options: ValidateOptions): Promise<Validation> {
  const local = await readLocalFiles(options.paths);
  const kinds: KindOptions = {
    strict: options.strict ?? false,
    defaultProvider: options.defaultProvider ?? 'kubernetes',
    minIntervalMs: options.minIntervalMs ?? limits.minAnalysisIntervalMs,
    forbidsOtherNamespaces: options.forbidsOtherNamespaces ?? false,
  };
  const { rendered, sources } = await withBuilders(options.programs ?? {}, (builders) =>
    renderLocal(options.paths, local.files, builders),
  );
  const broken = [...local.problems, ...rendered.problems];
  const selectorLabels = options.selectorLabels ?? defaultSelectorLabels;
  const complete = sources.length > 0;
  const findings = [
    ...broken.map((problem): Finding => ({ ...problem, severity: 'problem' })),
    ...rendered.objects.flatMap((entry) => objectFindings(entry, rendered, kinds)),
    ...namespaceFindings(rendered, complete),
    ...referenceFindings(rendered),
    ...releaseFindings(rendered, broken, { complete, selectorLabels }),
  ];
  if (local.files.length === 0 && local.problems.length === 0)
    findings.push({
      file: options.paths.join(', '),
      line: 0,
      message: 'holds no .yaml, .yml or .json file',
      severity: 'problem',
    });
  return { files: local.files.length, objects: rendered.objects.length, findings: sorted(findings) };
}

async function withBuilders<T>(programs: ProgramPaths, work: (builders: Builders) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-validate-'));
  try {
    return await work(findBuilders(programs, folder));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
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

/** By file and line; what two checks found alike is told once. */
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
      compare(a.file, b.file) || a.line - b.line || order.indexOf(a.severity) - order.indexOf(b.severity),
  );
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
