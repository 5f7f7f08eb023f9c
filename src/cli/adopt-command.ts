import { Option } from 'commander';
import { limits } from '../api/limits.ts';
import { InputError } from '../app/options.ts';
import { defaultSelectorLabels } from '../workload/selector.ts';
import { type AdoptOptions, foretellAdoption, handBackToFlagger } from './adopt/adopt.ts';
import type { CliCommand } from './command.ts';
import { connected } from './connected.ts';
import { emit } from './emit.ts';
import { defaultNamespace } from './install.ts';
import { commaList, outputOption } from './install-command.ts';
import { type MoveOptions, move } from './move/move.ts';
import { screenOf } from './output.ts';
import { type ProgramFlags, programsIn, withProgramFlags } from './program-flags.ts';
import { duration, provider } from './run.ts';
import { type ReleaseFlags, releaseLimitsIn, withReleaseFlags } from './run-limits.ts';

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
        const result = connected({ kubeconfig, version: context.version }, (connection) =>
          to
            ? handBackToFlagger(connection, { ...options, isDryRun: dryRun })
            : foretellAdoption(connection, options),
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
