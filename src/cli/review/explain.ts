import { messageOf, stallOf } from '../../api/canary/summary.ts';
import type { NamespacedName } from '../../api/kubernetes.ts';
import { changesUnderWay } from '../../review/diff/release-changes.ts';
import { explain } from '../../review/explain/explanation.ts';
import { applyHypothesis, type Hypothesis, parseHypothesis } from '../../review/explain/hypothesis.ts';
import { readCanaryWith } from '../../review/read-canary.ts';
import type { World } from '../../rollout/world.ts';
import type { Connection } from '../../server/connection.ts';
import {
  type CommandResult,
  type DataFormat,
  formatOutput,
  printable,
  printed,
  type ReleaseChanges,
  type Screen,
  screenOf,
} from '../../terminal/output.ts';
import { type CliCommand, emit, withConnection } from '../command.ts';
import { type ControllerFlags, withControllerFlags, withFlagsOfController } from '../controller-flags.ts';
import { holdfastNamespaceOption } from '../flags.ts';
import { forTargets, type ObjectFlags, withObjectFlags } from '../requests/request.ts';
import { explanationLines } from './explanation-text.ts';

interface ExplainFlags extends ObjectFlags, Partial<ControllerFlags> {
  readonly whatIf: string[];
  readonly holdfastNamespace: string;
}

/** `holdfast explain`: expected and actual state, the cause of a difference, and what Holdfast would do about it. Writes nothing. */
export const explainCommand: CliCommand = {
  register(command, context) {
    command.description(
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
              const { world, underWay, unread } = await look(connection, target, found);
              const options = { assumed: flags.whatIf, underWay, format: flags.output, screen };
              const result = explainWorld(world, hypothesis, options);
              const note = 'releases in Secrets are not known, so that what follows may differ';
              return unread ? { ...result, stderr: `note: ${note}: ${printable(unread)}\n` } : result;
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
  /** Why the records of releases cannot be read. */
  readonly unread: string | undefined;
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
    unread: context.observation.view.unread('records'),
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
  const stops = stallOf(world.status);
  const data = { ...explanation, underWay, stops };
  if (format !== 'text') return printed(formatOutput('Explanation', data, format));
  const said = messageOf({ ...world.canary, status: world.status });
  const isForetold = explanation.forecast.moments.some(({ message }) => message.includes(stops ?? ''));
  const told = { ...data, stops: isForetold ? undefined : stops, said };
  const lines = explanationLines(told, screen, world.nowMs);
  return printed(`${lines.join('\n')}\n`);
}
