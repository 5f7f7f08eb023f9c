import type { NamespacedName } from '../api/kubernetes.ts';
import type { Comparison } from '../health/comparison.ts';
import { changesUnderWay } from '../review/diff/release-changes.ts';
import { type Explanation, explain, type Moment } from '../review/explain/explanation.ts';
import { applyHypothesis, type Hypothesis, parseHypothesis } from '../review/explain/hypothesis.ts';
import { readCanaryWith } from '../review/read-canary.ts';
import type { World } from '../rollout/world.ts';
import type { Connection } from '../server/connection.ts';
import {
  type CommandResult,
  type DataFormat,
  formatSpan,
  formatTable,
  paint,
  printable,
  type Screen,
  screenOf,
  type TableColumn,
  wrap,
} from '../terminal/output.ts';
import { formatOutput, type ReleaseChanges } from '../terminal/schemas/output-kinds.ts';
import { type CliCommand, emit, withConnection } from './command.ts';
import { type ControllerFlags, withControllerFlags, withFlagsOfController } from './controller-flags.ts';
import { holdfastNamespaceOption } from './flags.ts';
import { changeSummary } from './release-changes.ts';
import { forTargets, type ObjectFlags, withObjectFlags } from './requests/request.ts';
import { commitLine } from './status/rows.ts';

interface ExplainFlags extends ObjectFlags, Partial<ControllerFlags> {
  readonly whatIf: string[];
  readonly holdfastNamespace: string;
}

/** `holdfast explain`: expected and actual state, the cause of a difference, and what Holdfast would do about it. Writes nothing. */
export const explainCommand: CliCommand = {
  register(program, context) {
    const command = program
      .command('explain')
      .summary('explain the state of a Canary, or what would follow from a fault')
      .description(
        'explain the state of a Canary and what comes next, or what would follow from a fault (--what-if); writes nothing',
      );
    withObjectFlags(command, 'Canary')
      .option(
        '--what-if <assumption...>',
        'assume onFailure=..., cause=..., canary=healthy|sameFault|notReady, checks=fail or others=N (other Canaries that fail)',
        [],
      )
      .addOption(holdfastNamespaceOption('--holdfast-namespace'));
    withControllerFlags(command, controllerFlagNames).action(
      async (subject: string | undefined, flags: ExplainFlags) => {
        const hypothesis = parseHypothesis(flags.whatIf);
        const screen = screenOf(process.stdout, process.env);
        const result = await withConnection(flags, context, async (connection) => {
          const query = { namespace: flags.holdfastNamespace, names: controllerFlagNames, given: flags };
          return withFlagsOfController(connection, query, (found) =>
            forTargets(connection, 'Canary', { subject, flags }, async (target) => {
              const { world, underWay } = await look(connection, target, found);
              const options = { assumed: flags.whatIf, underWay, format: flags.output, screen };
              return explainWorld(world, hypothesis, options);
            }),
          );
        });
        emit(result, context);
      },
    );
  },
};

const controllerFlagNames = ['mesh-provider', 'min-analysis-interval', 'selector-labels'] as const;

/** What is there to explain. */
interface Seen {
  readonly world: World;
  readonly underWay: ReleaseChanges | undefined;
}

function look(connection: Connection, target: NamespacedName, flags: ControllerFlags): Promise<Seen> {
  const options = {
    minIntervalMs: flags.minAnalysisInterval,
    defaultProvider: flags.meshProvider,
    selectorLabels: flags.selectorLabels,
    includeLabelPrefixes: [],
  };
  return readCanaryWith(connection, { ...target, options }, async (context) => ({
    world: context.observation.world,
    underWay: await changesUnderWay(context),
  }));
}

/** How an explanation is printed. */
interface ExplainOptions {
  /** The hypothesis as it was typed. */
  readonly assumed: readonly string[];
  /** What the release under way changes. */
  readonly underWay?: ReleaseChanges | undefined;
  readonly format: 'text' | DataFormat;
  readonly screen: Screen;
}

/** Explains a world as it is, or as it would be. Throws InputError for an assumption that does not fit it. */
export function explainWorld(world: World, hypothesis: Hypothesis, options: ExplainOptions): CommandResult {
  const { assumed, underWay, format, screen } = options;
  const explanation = explain(applyHypothesis(world, hypothesis), assumed);
  const stdout =
    format === 'text'
      ? `${explanationLines({ ...explanation, underWay }, screen, world.nowMs).join('\n')}\n`
      : formatOutput('Explanation', { ...explanation, underWay }, format);
  return { stdout, stderr: '', exitCode: 0 };
}

const indent = '  ';

/** An explanation for people; lines without line feeds. */
function explanationLines(
  explanation: Explanation & { readonly underWay: ReleaseChanges | undefined },
  screen: Screen,
  nowMs: number,
): string[] {
  const { canary, assumed, phase, state, release, primary, judgement, underWay, forecast } = explanation;
  const current = [phase || 'not reconciled yet', state && `(${state})`].filter(Boolean).join(' ');
  const what = commitLine(release.commit, release.subject) || release.digest.slice(0, 15) || 'none yet';
  return [
    paint(screen, 'strong', printable(`Canary ${canary}: ${current}`)),
    ...(assumed.length > 0
      ? wrap(`assumed: ${assumed.join(', ')}; nothing is written`, screen.columns, '')
      : []),
    ...section(screen, 'Expected on the primary', [
      indent + printable(what),
      ...comparisons(primary, screen),
    ]),
    ...(judgement ? judgementLines(judgement, screen) : []),
    ...(underWay
      ? section(
          screen,
          'What the release under way changes',
          wrap(changeSummary(underWay, canary), screen.columns, indent),
        )
      : []),
    ...section(screen, 'What comes next, if the cluster does not change', [
      ...forecast.moments.flatMap((moment) => momentLines(moment, screen, nowMs)),
      ...wrap(forecast.end, screen.columns, indent),
    ]),
  ];
}

function section(screen: Screen, title: string, lines: readonly string[]): string[] {
  return ['', paint(screen, 'strong', title), ...lines];
}

function comparisons(rows: readonly Comparison[], screen: Screen): string[] {
  const columns: ReadonlyArray<TableColumn<Comparison>> = [
    {
      title: '',
      value: ({ met, severity }) => (met ? 'ok' : severity === 'tells' ? 'note' : 'differs'),
      tone: ({ met, severity }) => (met ? 'good' : severity === 'tells' ? 'busy' : 'bad'),
    },
    { title: 'WHAT', value: ({ name }) => name },
    { title: 'EXPECTED', value: ({ expected }) => expected, least: 12 },
    { title: 'ACTUAL', value: ({ actual }) => actual, least: 12 },
  ];
  const narrower = { ...screen, columns: screen.columns - indent.length };
  return formatTable(columns, rows, narrower, false).map((line) => indent + line);
}

function judgementLines(judgement: NonNullable<Explanation['judgement']>, screen: Screen): string[] {
  const { cause, title, fix, evidence, onCanaryToo, action, why } = judgement;
  const canary = onCanaryToo ? '; the canary has the same fault' : '; the canary does not have it';
  const what = `${cause}: ${title}${onCanaryToo === undefined ? '' : canary}`;
  return [
    ...section(screen, 'Cause', wrap(what, screen.columns, indent)),
    ...evidence.flatMap((line) => wrap(`- ${line}`, screen.columns, indent + indent)),
    ...wrap(`fix: ${fix}`, screen.columns, indent),
    ...section(screen, 'Decision', wrap(`${action} (${why})`, screen.columns, indent)),
  ];
}

function momentLines(
  { timeMs, phase, state, message, actions }: Moment,
  screen: Screen,
  nowMs: number,
): string[] {
  const when = timeMs <= nowMs ? 'now' : `in ${formatSpan(timeMs - nowMs)}`;
  const phaseAndState = state ? `${phase} (${state})` : phase;
  return [
    ...wrap(`${when}: ${phaseAndState}: ${message}`, screen.columns, indent),
    ...actions.flatMap((action) => wrap(`- ${action}`, screen.columns, indent + indent)),
  ];
}
