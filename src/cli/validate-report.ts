import { formatProblem } from '../render/types.ts';
import { counted } from './counted.ts';
import { type CommandResult, formatData, paint, printable, type Screen, type Tone } from './output.ts';
import type { Validation } from './validate.ts';
import type { Severity } from './validate-kinds.ts';
import type { Finding } from './validate-releases.ts';

const tones: Readonly<Record<Severity, Tone>> = { problem: 'bad', warning: 'busy', note: 'quiet' };

/** `path:line: field: message` a line, warnings and notes marked as such, and a summary. Exit code 2 if there is a problem. */
export function reportText(validation: Validation, screen: Screen): CommandResult {
  const lines = validation.findings.map((finding) =>
    paint(screen, tones[finding.severity], printable(lineFor(finding))),
  );
  return {
    stdout: `${[...lines, summary(validation)].join('\n')}\n`,
    stderr: '',
    exitCode: codeOf(validation),
  };
}

/** The place comes first, as editors and terminals expect it. */
function lineFor(finding: Finding): string {
  if (finding.severity === 'problem') return formatProblem(finding);
  const message = [finding.field, finding.message].filter(Boolean).join(': ');
  const { file, line } = finding;
  return formatProblem({ file, line, field: finding.severity, message });
}

/** The same for programs: one list for each severity. */
export function reportJson(validation: Validation): CommandResult {
  const { files, objects } = validation;
  const of = (severity: Severity) =>
    validation.findings
      .filter((finding) => finding.severity === severity)
      .map(({ severity: _, ...rest }) => rest);
  const report = { files, objects, problems: of('problem'), warnings: of('warning'), notes: of('note') };
  return { stdout: formatData(report, 'json'), stderr: '', exitCode: codeOf(validation) };
}

function codeOf({ findings }: Validation): 0 | 2 {
  return findings.some(({ severity }) => severity === 'problem') ? 2 : 0;
}

function summary({ files, objects, findings }: Validation): string {
  const count = (severity: Severity) => findings.filter((finding) => finding.severity === severity).length;
  const parts = (['problem', 'warning', 'note'] as const)
    .map((severity) => [count(severity), severity] as const)
    .filter(([number, severity]) => number > 0 || severity === 'problem')
    .map(([number, severity]) => (number === 0 ? `no ${severity}s` : counted(number, severity)));
  return `${parts.join(', ')} in ${counted(objects, 'object')} of ${counted(files, 'file')}`;
}
