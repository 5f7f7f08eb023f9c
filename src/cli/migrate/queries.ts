/** What `migrate` and `handback` share: their flags, which Canaries they ask about, and the steps of a tree of files. */
import type { Command } from 'commander';
import type { ObjectReference } from '../../api/kubernetes.ts';
import type { Source } from '../../api/source/source.ts';
import { planRollouts } from '../../migrate/argo-rollouts/plan.ts';
import { comparisonOf } from '../../migrate/comparison.ts';
import type { AdoptionQuery } from '../../migrate/flagger/read-canaries.ts';
import { planMoves } from '../../migrate/moves.ts';
import { moveLines } from '../../migrate/moves-text.ts';
import { movesExitCode } from '../../migrate/steps.ts';
import type { Connection } from '../../server/connection.ts';
import { type CommandResult, type DataFormat, formatOutput, screenOf } from '../../terminal/output.ts';
import { type CliContext, withConnection } from '../command.ts';
import {
  type ControllerFlagName,
  type ControllerFlags,
  controllerFlags,
  withControllerFlags,
} from '../controller-flags.ts';
import {
  type ClusterFlags,
  holdfastNamespaceOption,
  outputOption,
  type ProgramFlags,
  programsIn,
  releaseLimitsIn,
  withClusterFlags,
} from '../flags.ts';
import { withGit } from '../review/git-reading.ts';

/** Flags of commands that read Canaries as the controller does. */
export interface CanaryFlags extends Partial<ControllerFlags>, ClusterFlags {
  readonly holdfastNamespace: string;
  readonly output: 'text' | DataFormat;
}

const canaryFlagNames: readonly ControllerFlagName[] = [
  'watch-namespaces',
  'mesh-provider',
  'min-analysis-interval',
  'selector-labels',
  'include-label-prefix',
  'enable-config-tracking',
  'cross-namespace-refs',
  'no-cross-namespace-refs',
];

/** Adds them. */
export function withCanaryFlags(command: Command): Command {
  return withControllerFlags(
    withClusterFlags(command).addOption(holdfastNamespaceOption('--holdfast-namespace')),
    canaryFlagNames,
  ).addOption(outputOption());
}

/** Flags of commands that plan the steps for a tree of files. */
export interface MoveFlags extends ProgramFlags, ClusterFlags {
  readonly offline?: boolean;
  readonly output: 'text' | DataFormat;
}

/** Which Canaries are asked about, and as which controller; and what to say about that. Throws InputError, ApiError. */
export async function adoptionQuery(
  connection: Connection,
  given: CanaryFlags,
  more: readonly ControllerFlagName[] = [],
): Promise<{ readonly query: AdoptionQuery; readonly flags: ControllerFlags; readonly stderr: string }> {
  const { flags, note } = await controllerFlags(connection, {
    namespace: given.holdfastNamespace,
    names: [...canaryFlagNames, ...more],
    given,
  });
  const { tracksConfig, forbidsOtherNamespaces } = releaseLimitsIn(flags);
  const query = {
    watchNamespaces: flags.watchNamespaces,
    ownNamespace: given.holdfastNamespace,
    tracksConfig,
    options: {
      minIntervalMs: flags.minAnalysisInterval,
      defaultProvider: flags.meshProvider,
      selectorLabels: flags.selectorLabels,
      includeLabelPrefixes: flags.includeLabelPrefix,
      forbidsOtherNamespaces,
    },
  };
  return { query, flags, stderr: note };
}

/** Which steps are asked for. */
interface MoveQuery {
  readonly tool: 'flux' | 'argocd' | 'argo-rollouts';
  readonly path: string;
  readonly isBack: boolean;
}

/** Says what to commit and to run next. Writes neither to the tree nor to the cluster. Throws InputError and ApiError. */
export async function move(
  query: MoveQuery,
  flags: MoveFlags,
  { version }: Pick<CliContext, 'version'>,
): Promise<CommandResult> {
  const { offline: isOffline = false, output } = flags;
  const programs = programsIn(flags, process.env);
  const plan = (connection: Connection | undefined) => {
    const { tool, path, isBack } = query;
    if (tool === 'argo-rollouts') return planRollouts({ path, connection });
    if (!connection) return planMoves({ tool, path, isBack, cluster: undefined });
    return withGit(connection, { version, programs }, (reading) => {
      const compare = (source: Source, inventory: readonly ObjectReference[]) =>
        comparisonOf(connection, source, { ...reading, inventory });
      return planMoves({ tool, path, isBack, cluster: { connection, compare } });
    });
  };
  const moves = await (isOffline ? plan(undefined) : withConnection(flags, { version }, plan));
  const note = isOffline
    ? ['Offline: no cluster was contacted and nothing was verified. No step is known to be safe yet.', '']
    : [];
  const stdout =
    output === 'text'
      ? `${[...note, ...moveLines(moves, screenOf(process.stdout, process.env))].join('\n')}\n`
      : formatOutput('MoveSteps', { moves, readBack: !isOffline }, output);
  return { stdout, stderr: '', exitCode: movesExitCode(moves) };
}
