import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Option } from 'commander';
import { objectKey } from '../api/kubernetes.ts';
import { limits } from '../api/limits.ts';
import { findBuilders, type ProgramPaths } from '../render/build/programs.ts';
import { formatProblem, type RenderedObject, type RenderResult } from '../render/rendered-object.ts';
import { readLocalFiles } from '../review/local-files.ts';
import { type KindOptions, remarksOn, type Severity } from '../review/validate/kinds.ts';
import { queryFindings } from '../review/validate/queries.ts';
import { folderFindings, namespaceFindings, referenceFindings } from '../review/validate/references.ts';
import { type Finding, releaseFindings } from '../review/validate/releases.ts';
import { renderLocal } from '../review/validate/render.ts';
import {
  type CommandResult,
  compareTexts,
  counted,
  type DataFormat,
  paint,
  printable,
  type Screen,
  screenOf,
  type Tone,
} from '../terminal/output.ts';
import { formatOutput } from '../terminal/schemas/output-kinds.ts';
import { defaultSelectorLabels } from '../workload/shared/metadata.ts';
import { type CliCommand, emit } from './command.ts';
import {
  crossNamespaceRefsOption,
  namespaceName,
  noCrossNamespaceRefsOption,
  outputOption,
  type ProgramFlags,
  programsIn,
  withProgramFlags,
} from './flags.ts';

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
interface Validation {
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
  for (const { rendered, complete } of renderings) {
    const broken = [...local.problems, ...rendered.problems];
    findings.push(
      ...rendered.problems.map((problem): Finding => ({ ...problem, severity: 'problem' })),
      ...rendered.objects.flatMap((entry) => objectFindings(entry, rendered, kinds)),
      ...namespaceFindings(rendered, complete),
      ...referenceFindings(rendered, keys, complete),
      ...queryFindings(rendered, objects),
      ...folderFindings(rendered, missing),
      ...releaseFindings(rendered, broken, { complete, selectorLabels }),
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

/** By file and line; what two checks found alike is reported once. */
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

interface ValidateFlags extends ProgramFlags {
  readonly strict: boolean;
  readonly namespace?: string;
  readonly meshProvider: string;
  readonly crossNamespaceRefs: boolean;
  readonly output: 'text' | DataFormat;
}

/** `holdfast validate`: what Holdfast would say about manifests, before they are merged. */
export const validateCommand: CliCommand = {
  register(program, context) {
    const command = program
      .command('validate')
      .summary('check manifests the way a Source reads them')
      .description('check manifests the way a Source reads them; exit code 2 if there is a problem')
      .argument('<path...>', 'files and folders')
      .option(
        '-n, --namespace <name>',
        'namespace for objects without one where no Source says it',
        namespaceName,
      )
      .option('--no-strict', 'report unknown fields as warnings')
      .addOption(new Option('--strict', 'the default').hideHelp())
      .option('--mesh-provider <name>', 'routing provider of Canaries without spec.provider', 'kubernetes')
      .addOption(crossNamespaceRefsOption())
      .addOption(noCrossNamespaceRefsOption())
      .addOption(outputOption('text', ['text', 'json', 'yaml']));
    withProgramFlags(command).action(async (paths: string[], flags: ValidateFlags) => {
      const { strict, namespace, meshProvider: defaultProvider } = flags;
      const forbidsOtherNamespaces = !flags.crossNamespaceRefs;
      const programs = programsIn(flags, process.env);
      const validation = await validate({
        paths,
        strict,
        namespace,
        defaultProvider,
        forbidsOtherNamespaces,
        programs,
      });
      const screen = screenOf(process.stdout, process.env);
      const { output } = flags;
      emit(output === 'text' ? reportText(validation, screen) : reportData(validation, output), context);
    });
  },
};

const tones: Readonly<Record<Severity, Tone>> = { problem: 'bad', warning: 'busy', note: 'quiet' };

/** `path:line: field: message` a line, warnings and notes marked as such, and a summary. Exit code 2 if there is a problem. */
export function reportText(validation: Validation, screen: Screen): CommandResult {
  const lines = validation.findings.map((finding) => {
    const { severity, file, line, field } = finding;
    // The place comes first, as editors and terminals expect it.
    const message = [field, finding.message].filter(Boolean).join(': ');
    const shown = severity === 'problem' ? finding : { file, line, field: severity, message };
    return paint(screen, tones[severity], printable(formatProblem(shown)));
  });
  return {
    stdout: `${[...lines, summary(validation)].join('\n')}\n`,
    stderr: '',
    exitCode: codeOf(validation),
  };
}

/** The same for programs: one list for each severity. */
export function reportData(validation: Validation, format: DataFormat): CommandResult {
  const { files, objects, leftAlone } = validation;
  const of = (severity: Severity) =>
    validation.findings
      .filter((finding) => finding.severity === severity)
      .map(({ severity: _, ...rest }) => rest);
  const report = {
    files,
    objects,
    problems: of('problem'),
    warnings: of('warning'),
    notes: of('note'),
    leftAlone,
  };
  return { stdout: formatOutput('Validation', report, format), stderr: '', exitCode: codeOf(validation) };
}

function codeOf({ findings }: Validation): 0 | 2 {
  return findings.some(({ severity }) => severity === 'problem') ? 2 : 0;
}

function summary({ files, objects, findings, leftAlone }: Validation): string {
  const count = (severity: Severity) => findings.filter((finding) => finding.severity === severity).length;
  const parts = (['problem', 'warning', 'note'] as const)
    .map((severity) => [count(severity), severity] as const)
    .filter(([number, severity]) => number > 0 || severity === 'problem')
    .map(([number, severity]) => (number === 0 ? `no ${severity}s` : counted(number, severity)));
  const others = leftAlone.length > 0 ? `; ${counted(leftAlone.length, 'other file')} left alone` : '';
  return `${parts.join(', ')} in ${counted(objects, 'object')} of ${counted(files - leftAlone.length, 'file')}${others}`;
}
