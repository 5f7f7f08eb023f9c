import { Option } from 'commander';
import { formatProblem } from '../../render/rendered-object.ts';
import type { Severity } from '../../review/validate/kinds.ts';
import { type Validation, validate } from '../../review/validate/validate.ts';
import {
  type CommandResult,
  counted,
  type DataFormat,
  formatOutput,
  paint,
  printable,
  type Screen,
  screenOf,
  type Tone,
} from '../../terminal/output.ts';
import { defaultSelectorLabels } from '../../workload/shared/metadata.ts';
import { type CliCommand, emit } from '../command.ts';
import {
  commaList,
  crossNamespaceRefsOption,
  namespaceName,
  noCrossNamespaceRefsOption,
  outputOption,
  type ProgramFlags,
  programsIn,
  withProgramFlags,
} from '../flags.ts';

interface ValidateFlags extends ProgramFlags {
  readonly strict: boolean;
  readonly namespace?: string;
  readonly meshProvider: string;
  readonly selectorLabels: string[];
  readonly crossNamespaceRefs: boolean;
  readonly output: 'text' | DataFormat;
}

/** `holdfast validate`: what Holdfast would say about manifests, before they are merged. */
export const validateCommand: CliCommand = {
  register(command, context) {
    command
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
      .option(
        '--selector-labels <names>',
        'labels that tell primary from canary pods (comma-separated)',
        commaList,
        [...defaultSelectorLabels],
      )
      .addOption(crossNamespaceRefsOption())
      .addOption(noCrossNamespaceRefsOption())
      .addOption(outputOption());
    withProgramFlags(command).action(async (paths: string[], flags: ValidateFlags) => {
      const { strict, namespace, meshProvider: defaultProvider, selectorLabels } = flags;
      const forbidsOtherNamespaces = !flags.crossNamespaceRefs;
      const programs = programsIn(flags, process.env);
      const validation = await validate({
        paths,
        strict,
        namespace,
        defaultProvider,
        selectorLabels,
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
  const others = leftAlone.length > 0 ? `; ${counted(leftAlone.length, 'other file')} ignored` : '';
  return `${parts.join(', ')} in ${counted(objects, 'object')} of ${counted(files - leftAlone.length, 'file')}${others}`;
}
