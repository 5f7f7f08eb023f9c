import { Option } from 'commander';
import { systemClock } from '../api/clock.ts';
import { InputError } from '../api/problems.ts';
import { createHttpClient } from '../http/client.ts';
import { adoptionExitCode, adoptionLines, adoptionRow } from '../migrate/flagger/adoption-plan.ts';
import { handBackCanaries, handBackLines, refuseWhileActive } from '../migrate/flagger/hand-back.ts';
import { type AdoptionQuery, readCanaries } from '../migrate/flagger/read-canaries.ts';
import { planMoves } from '../migrate/moves.ts';
import { moveLines } from '../migrate/moves-text.ts';
import { movesExitCode } from '../migrate/steps.ts';
import type { ProgramPaths } from '../render/build/programs.ts';
import type { Connection } from '../server/connection.ts';
import {
  type CommandResult,
  type DataFormat,
  formatData,
  type Screen,
  screenOf,
} from '../terminal/output.ts';
import { clusterFindings } from './check/check.ts';
import { type CliCommand, emit, outboundPolicy, withConnection } from './command.ts';
import {
  asUserOption,
  type ClusterFlags,
  contextOption,
  holdfastNamespaceOption,
  includeLabelPrefixOption,
  kubeconfigOption,
  meshProviderOption,
  minAnalysisIntervalOption,
  outputOption,
  type ProgramFlags,
  programsIn,
  type ReleaseFlags,
  releaseLimitsIn,
  selectorLabelsOption,
  watchNamespacesOption,
  withProgramFlags,
  withReleaseFlags,
} from './flags.ts';

interface AdoptFlags extends ReleaseFlags, ProgramFlags, ClusterFlags {
  readonly from: 'flagger' | 'flux' | 'argocd';
  readonly to?: 'flagger';
  readonly dryRun?: boolean;
  readonly back?: boolean;
  readonly offline?: boolean;
  readonly holdfastNamespace: string;
  readonly watchNamespaces: string[];
  readonly as?: string;
  readonly meshProvider: string;
  readonly minAnalysisInterval: number;
  readonly selectorLabels: string[];
  readonly includeLabelPrefix: string[];
  readonly output: AdoptOptions['format'];
}

/** `holdfast adopt`: the migration from another tool, and the way back to it. */
export const adoptCommand: CliCommand = {
  register(program, context) {
    const command = program
      .command('adopt')
      .summary('plan the migration from Flagger, Flux or Argo CD, and the way back')
      .description(
        [
          'Plan the migration from Flagger, Flux or Argo CD to Holdfast, and the way back.',
          '',
          '  Flagger: --dry-run shows what Holdfast would do with the Canaries; --to flagger hands them back.',
          '  Flux, Argo CD: --from flux PATH lists the steps from their objects to a Source; --back lists the steps back.',
          '',
          'Exit codes: 0 nothing to do, 1 a rollout would start or something is refused, 2 error, 3 steps remain.',
        ].join('\n'),
      )
      .argument(
        '[path]',
        'file or folder with the Kustomizations or Applications (with --from flux or argocd)',
      )
      .addOption(
        new Option('--from <tool>', 'the tool to migrate from')
          .choices(['flagger', 'flux', 'argocd'])
          .default('flagger'),
      )
      .option('--back', 'migrate from Sources back to the tool of --from (flux or argocd)')
      .option(
        '--offline',
        'do not contact a cluster, so that no step is verified (with --from flux or argocd)',
      )
      .addOption(new Option('--to <tool>', 'hand the Canaries back to this tool').choices(['flagger']))
      .option('--dry-run', 'only print what would be done')
      .addOption(kubeconfigOption())
      .addOption(contextOption())
      .addOption(holdfastNamespaceOption('--holdfast-namespace'))
      .addOption(watchNamespacesOption())
      .addOption(asUserOption())
      .addOption(meshProviderOption())
      .addOption(minAnalysisIntervalOption())
      .addOption(selectorLabelsOption())
      .addOption(includeLabelPrefixOption())
      .addOption(outputOption('text', ['text', 'json', 'yaml']));
    withProgramFlags(withReleaseFlags(command)).action(
      async (path: string | undefined, flags: AdoptFlags) => {
        const { to, dryRun = false } = flags;
        refuseMixed(flags, path);
        if (flags.from === 'flagger' && !to && !dryRun)
          throw new InputError(
            '--from flagger needs --dry-run or --to flagger: Holdfast takes over by itself once it runs and Flagger does not; --dry-run shows what it would do',
          );
        const options = optionsOf(flags);
        const work =
          flags.from === 'flagger'
            ? withConnection(flags, context, (connection) =>
                to
                  ? handBackToFlagger(connection, { ...options, isDryRun: dryRun })
                  : planAdoption(connection, options),
              )
            : move(moveOptions(flags, flags.from, path ?? '', context.version));
        const result = await work.catch((error: unknown) => {
          // As with diff: 1 is an answer, so whatever kept us from one is 2.
          throw new InputError((error as Error).message);
        });
        emit(result, context);
      },
    );
  },
};

function refuseMixed({ from, to, dryRun, back, offline }: AdoptFlags, path: string | undefined): void {
  if (from === 'flagger') {
    if (path !== undefined || back || offline)
      throw new InputError('PATH, --back and --offline need --from flux or --from argocd');
    return;
  }
  if (to || dryRun)
    throw new InputError(`--to and --dry-run need --from flagger; --from ${from} never writes`);
  if (path === undefined)
    throw new InputError(`--from ${from} needs PATH, the file or folder with its objects`);
}

function moveOptions(
  flags: AdoptFlags,
  tool: MoveOptions['tool'],
  path: string,
  version: string,
): MoveOptions {
  const { kubeconfig, context, back = false, offline = false, output: format } = flags;
  const screen = screenOf(process.stdout, process.env);
  const programs = programsIn(flags, process.env);
  return {
    tool,
    path,
    isBack: back,
    isOffline: offline,
    kubeconfig,
    context,
    version,
    programs,
    format,
    screen,
  };
}

function optionsOf(flags: AdoptFlags): AdoptOptions {
  const { tracksConfig, forbidsOtherNamespaces } = releaseLimitsIn(flags);
  return {
    watchNamespaces: flags.watchNamespaces,
    ownNamespace: flags.holdfastNamespace,
    tracksConfig,
    options: {
      minIntervalMs: flags.minAnalysisInterval,
      defaultProvider: flags.meshProvider,
      selectorLabels: flags.selectorLabels,
      includeLabelPrefixes: flags.includeLabelPrefix,
      forbidsOtherNamespaces,
    },
    asUser: flags.as,
    format: flags.output,
    screen: screenOf(process.stdout, process.env),
  };
}

/** What `holdfast adopt` is asked. */
interface AdoptOptions extends AdoptionQuery {
  /** Check the rights of this user instead of one's own. */
  readonly asUser: string | undefined;
  readonly format: 'text' | DataFormat;
  readonly screen: Screen;
}

/** What Holdfast would do when it is started on what Flagger left. Writes nothing. Throws ApiError, EngineError. */
async function planAdoption(connection: Connection, options: AdoptOptions): Promise<CommandResult> {
  const { ownNamespace, watchNamespaces, asUser, format, screen } = options;
  const defaultProvider = options.options.defaultProvider;
  const cluster = await clusterFindings(
    { connection },
    {
      ownNamespace,
      watchNamespaces,
      asUser,
      defaultProvider,
    },
  );
  const seen = await readCanaries(connection, options);
  const plan = { canaries: seen.map(adoptionRow), cluster };
  const stdout = format === 'text' ? `${adoptionLines(plan, screen).join('\n')}\n` : formatData(plan, format);
  return { stdout, stderr: '', exitCode: adoptionExitCode(plan) };
}

/** Leaves each Canary as Flagger can go on with it; exit code 1 when one is refused. Throws ApiError, EngineError, InputError. */
async function handBackToFlagger(
  connection: Connection,
  options: AdoptOptions & { readonly isDryRun: boolean },
): Promise<CommandResult> {
  const { ownNamespace, isDryRun, format, screen } = options;
  const seen = await readCanaries(connection, options);
  if (!isDryRun) await refuseWhileActive(connection, ownNamespace, seen, systemClock.nowMs());
  const rows = await handBackCanaries(connection, seen, isDryRun);
  const stdout =
    format === 'text'
      ? `${handBackLines(rows, isDryRun, screen).join('\n')}\n`
      : formatData({ canaries: rows }, format);
  return { stdout, stderr: '', exitCode: rows.some(({ outcome }) => outcome === 'refused') ? 1 : 0 };
}

/** What `holdfast adopt --from flux|argocd PATH` is asked. */
interface MoveOptions {
  readonly tool: 'flux' | 'argocd';
  readonly path: string;
  readonly isBack: boolean;
  /** No cluster is asked. */
  readonly isOffline: boolean;
  readonly kubeconfig: string | undefined;
  readonly context?: string | undefined;
  readonly version: string;
  readonly programs: ProgramPaths;
  readonly format: 'text' | DataFormat;
  readonly screen: Screen;
}

/** Says what to commit and to run next. Writes neither to the tree nor to the cluster. Throws InputError and ApiError. */
export async function move(options: MoveOptions): Promise<CommandResult> {
  const { tool, path, isBack, isOffline, format, screen } = options;
  const query = { tool, path, isBack };
  const moves = isOffline
    ? await planMoves({ ...query, cluster: undefined })
    : await withConnection(options, options, (connection) =>
        withGit(connection, options, (cluster) => planMoves({ ...query, cluster })),
      );
  const note = isOffline
    ? ['Offline: no cluster was contacted and nothing was verified. No step is known to be safe yet.', '']
    : [];
  const stdout =
    format === 'text'
      ? `${[...note, ...moveLines(moves, screen)].join('\n')}\n`
      : formatData({ moves, readBack: !isOffline }, format);
  return { stdout, stderr: '', exitCode: movesExitCode(moves) };
}

async function withGit<T>(
  connection: Connection,
  { version, programs }: MoveOptions,
  work: (cluster: {
    connection: Connection;
    http: ReturnType<typeof createHttpClient>;
    programs: ProgramPaths;
  }) => Promise<T>,
): Promise<T> {
  const http = createHttpClient({
    ...outboundPolicy(connection.access.server),
    userAgent: `holdfast/${version}`,
  });
  try {
    return await work({ connection, http, programs });
  } finally {
    await http.close();
  }
}
