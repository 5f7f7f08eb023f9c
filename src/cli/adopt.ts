import { Option } from 'commander';
import { systemClock } from '../api/clock.ts';
import { limits } from '../api/limits.ts';
import { InputError } from '../api/problems.ts';
import { createHttpClient } from '../http/client.ts';
import { adoptionExitCode, adoptionLines, planOfAdoption } from '../migrate/flagger/adoption-plan.ts';
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
import { defaultSelectorLabels } from '../workload/shared/selector.ts';
import { clusterFindings } from './check/check.ts';
import { addressPolicy, type CliCommand, emit, withConnection } from './command.ts';
import {
  type ProgramFlags,
  programsIn,
  type ReleaseFlags,
  releaseLimitsIn,
  withProgramFlags,
  withReleaseFlags,
} from './flags.ts';
import { commaList, defaultNamespace, outputOption } from './install/install.ts';
import { duration, provider } from './run.ts';

interface AdoptFlags extends ReleaseFlags, ProgramFlags {
  readonly from: 'flagger' | 'flux' | 'argocd';
  readonly to?: 'flagger';
  readonly dryRun?: boolean;
  readonly back?: boolean;
  readonly offline?: boolean;
  readonly kubeconfig?: string;
  readonly holdfastNamespace: string;
  readonly watchNamespaces: string[];
  readonly as?: string;
  readonly meshProvider: string;
  readonly minAnalysisInterval: number;
  readonly selectorLabels: string[];
  readonly includeLabelPrefix: string[];
  readonly output: AdoptOptions['format'];
}

/** `holdfast adopt`: what becomes of what another tool left or applies, and the way back to it. */
export const adoptCommand: CliCommand = {
  register(program, context) {
    const command = program
      .command('adopt')
      .description(
        'say what Holdfast would do with the Canaries that Flagger left (--dry-run), or leave them as Flagger can go on (--to flagger); say step by step how objects come from Flux or Argo CD to a Source (--from flux PATH) and back (--back); exit code 1 if something would be rolled out or is refused, 2 if it cannot be said, 3 if there is a step to do',
      )
      .argument(
        '[path]',
        'with --from flux or argocd: the folder or file with its Kustomizations or Applications',
      )
      .addOption(
        new Option('--from <tool>', 'who acted before, or applies now')
          .choices(['flagger', 'flux', 'argocd'])
          .default('flagger'),
      )
      .option('--back', 'with --from flux or argocd: from Sources back to that tool')
      .option('--offline', 'with --from flux or argocd: ask no cluster; no step is read back then')
      .addOption(new Option('--to <tool>', 'the way back: who acts from now on').choices(['flagger']))
      .option('--dry-run', 'write nothing')
      .option(
        '--kubeconfig <file>',
        'kubeconfig; default: KUBECONFIG, the service account of the pod, ~/.kube/config',
      )
      .option('--holdfast-namespace <name>', 'namespace that Holdfast runs in', defaultNamespace)
      .option('--watch-namespaces <names>', 'only these namespaces (comma list)', commaList, [])
      .option(
        '--as <user>',
        'check the rights of this user, as system:serviceaccount:holdfast-system:holdfast',
      )
      .option('--mesh-provider <name>', "as the controller's", provider, 'kubernetes')
      .option(
        '--min-analysis-interval <duration>',
        "as the controller's",
        duration,
        limits.minAnalysisIntervalMs,
      )
      .option('--selector-labels <names>', "as the controller's (comma list)", commaList, [
        ...defaultSelectorLabels,
      ])
      .option('--include-label-prefix <prefixes>', "as the controller's (comma list)", commaList, [])
      .addOption(outputOption('text', ['text', 'json', 'yaml']));
    withProgramFlags(withReleaseFlags(command)).action(
      async (path: string | undefined, flags: AdoptFlags) => {
        const { kubeconfig, to, dryRun = false } = flags;
        refuseMixed(flags, path);
        if (flags.from !== 'flagger') {
          emit(await asInput(move(moveOptions(flags, flags.from, path ?? '', context.version))), context);
          return;
        }
        if (!to && !dryRun)
          throw new InputError(
            'Holdfast takes over by itself as soon as it runs and Flagger does not; --dry-run says what it would do',
          );
        const options = optionsOf(flags);
        const result = withConnection({ kubeconfig, version: context.version }, (connection) =>
          to
            ? handBackToFlagger(connection, { ...options, isDryRun: dryRun })
            : planAdoption(connection, options),
        );
        emit(await asInput(result), context);
      },
    );
  },
};

/** As with diff: 1 is an answer, so whatever kept us from one is 2. */
function asInput<T>(result: Promise<T>): Promise<T> {
  return result.catch((error: unknown) => {
    throw new InputError((error as Error).message);
  });
}

function refuseMixed({ from, to, dryRun, back, offline }: AdoptFlags, path: string | undefined): void {
  if (from === 'flagger') {
    if (path !== undefined || back || offline)
      throw new InputError('PATH, --back and --offline are for --from flux and --from argocd');
    return;
  }
  if (to || dryRun) throw new InputError(`--to and --dry-run are for Flagger; --from ${from} writes nothing`);
  if (path === undefined)
    throw new InputError(`--from ${from} needs the folder or file that its objects are in`);
}

function moveOptions(
  flags: AdoptFlags,
  tool: MoveOptions['tool'],
  path: string,
  version: string,
): MoveOptions {
  const { kubeconfig, back = false, offline = false, output: format } = flags;
  const screen = screenOf(process.stdout, process.env);
  const programs = programsIn(flags, process.env);
  return { tool, path, isBack: back, isOffline: offline, kubeconfig, version, programs, format, screen };
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
  const plan = planOfAdoption(seen, cluster);
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
  readonly version: string;
  readonly programs: ProgramPaths;
  readonly format: 'text' | DataFormat;
  readonly screen: Screen;
}

/** Says what to commit and to run next. Writes neither to the tree nor to the cluster. Throws InputError and ApiError. */
export async function move(options: MoveOptions): Promise<CommandResult> {
  const { tool, path, isBack, isOffline, kubeconfig, version, format, screen } = options;
  const query = { tool, path, isBack };
  const moves = isOffline
    ? await planMoves({ ...query, cluster: undefined })
    : await withConnection({ kubeconfig, version }, (connection) =>
        withGit(connection, options, (cluster) => planMoves({ ...query, cluster })),
      );
  const note = isOffline
    ? ['Nothing was read back: no cluster was asked. No step is known to be safe yet.', '']
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
    ...addressPolicy(connection.access.server),
    userAgent: `holdfast/${version}`,
  });
  try {
    return await work({ connection, http, programs });
  } finally {
    await http.close();
  }
}
