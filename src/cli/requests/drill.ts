import type { ClusterClient } from '../../cluster/client/client.ts';
import type { DrillReport } from '../../engine/canary/drill/drill.ts';
import {
  type CommandResult,
  counted,
  type DataFormat,
  formatOutput,
  paint,
  printable,
  printableLines,
  type Screen,
  screenOf,
  wrap,
} from '../../terminal/output.ts';
import { type CliCommand, emit, withConnection } from '../command.ts';
import { type ControllerFlags, withControllerFlags, withFlagsOfController } from '../controller-flags.ts';
import { exitCodes } from '../failure.ts';
import {
  holdfastNamespaceOption,
  outputOption,
  refuseNameWithSelector,
  type SubjectFlags,
  withSubjectFlags,
} from '../flags.ts';
import { type DrillQuery, drillCanaries } from './drill-canaries.ts';
import { nameIn } from './request.ts';

/** What `holdfast drill` is asked for. */
interface DrillOptions extends DrillQuery {
  readonly format: 'text' | DataFormat;
  readonly screen: Screen;
}

/**
 * Drills one Canary or all; exit code 1 when a last-known-good would be refused, 2 when a Canary of several is not valid, which keeps no other one
 * from its drill. Throws ApiError and InputError.
 */
export async function drillAll(client: ClusterClient, options: DrillOptions): Promise<CommandResult> {
  const { format, screen } = options;
  const { reports, invalid, unwritten } = await drillCanaries(client, options);
  const lines =
    reports.length === 0 && invalid.length === 0
      ? ['No Canaries found.']
      : reports.flatMap((report) => reportLines(report, screen));
  const stdout =
    format === 'text' ? `${lines.join('\n')}\n` : formatOutput('Drill', { canaries: reports }, format);
  const stderr = printableLines([...invalid.map((problem) => `error: ${problem}\n`), ...unwritten].join(''));
  const answer = reports.every(({ passed }) => passed) ? exitCodes.good : exitCodes.bad;
  return { stdout, stderr, exitCode: invalid.length > 0 ? exitCodes.noAnswer : answer };
}

function reportLines(
  { canary, release, passed, findings, unseen, objects }: DrillReport,
  screen: Screen,
): string[] {
  if (!release) return [`${canary}: ${paint(screen, 'quiet', 'no release has been promoted yet')}`];
  const name = printable(`${release.commit.slice(0, 7)} ${release.subject}`.trim());
  const tested = objects - new Set(unseen.map(({ object }) => object)).size;
  const accepted =
    tested === objects
      ? `would be accepted (${counted(objects, 'object')}; images are not pulled)`
      : `nothing was refused (${tested} of ${counted(objects, 'object')} tested; images are not pulled)`;
  const verdict = passed ? paint(screen, 'good', accepted) : paint(screen, 'bad', 'would be rejected');
  const details = [
    ...findings.map(({ object, message }) => `${object}: ${message}`),
    ...unseen.map(({ object, why }) => `not checked: ${object}: ${why}`),
  ];
  return [`${canary}: ${name} ${verdict}`, ...details.flatMap((line) => wrap(line, screen.columns, '  '))];
}

interface DrillFlags extends SubjectFlags, Partial<ControllerFlags> {
  readonly holdfastNamespace: string;
  readonly output: DrillOptions['format'];
}

const controllerFlagNames = ['selector-labels', 'include-label-prefix'] as const;

/** `holdfast drill`: whether the cluster would take the last-known-good today. */
export const drillCommand: CliCommand = {
  register(command, context) {
    withSubjectFlags(
      command
        .description(
          'dry-run the last known good release to see whether the cluster would still accept it; exit code 1 if not, 2 on errors',
        )
        .argument('[canary]', 'NAME or canary/NAME (default: every Canary of the namespace)'),
    ).addOption(holdfastNamespaceOption('--holdfast-namespace'));
    withControllerFlags(command, controllerFlagNames)
      .addOption(outputOption())
      .action(async (subject: string | undefined, flags: DrillFlags) => {
        refuseNameWithSelector(subject, flags);
        const result = await withConnection(flags, context, async ({ access, client }) => {
          const namespace = flags.holdfastNamespace;
          const query = { namespace, names: controllerFlagNames, given: flags };
          return withFlagsOfController({ client }, query, (found) =>
            drillAll(client, {
              name: subject === undefined ? undefined : nameIn(subject, 'Canary'),
              namespace: flags.allNamespaces ? undefined : (flags.namespace ?? access.namespace),
              labelSelector: flags.selector,
              ownNamespace: namespace,
              selectorLabels: found.selectorLabels,
              includeLabelPrefixes: found.includeLabelPrefix,
              format: flags.output,
              screen: screenOf(process.stdout, process.env),
              nowMs: Date.now(),
            }),
          );
        });
        emit(result, context);
      });
  },
};
