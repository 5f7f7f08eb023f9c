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
import { screenOf } from './output.ts';
import { duration, provider } from './run.ts';
import { type ReleaseFlags, releaseLimitsIn, withReleaseFlags } from './run-limits.ts';

interface AdoptFlags extends ReleaseFlags {
  readonly from: 'flagger';
  readonly to?: 'flagger';
  readonly dryRun?: boolean;
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

/** `holdfast adopt`: what becomes of Canaries that another tool left, and the way back to it. */
export const adoptCommand: CliCommand = {
  register(program, context) {
    const command = program
      .command('adopt')
      .description(
        'say what Holdfast would do with the Canaries that Flagger left (--dry-run), or leave them as Flagger can go on (--to flagger); exit code 1 if one would be rolled out or is refused, 2 if it cannot be said',
      )
      .addOption(new Option('--from <tool>', 'who acted before').choices(['flagger']).default('flagger'))
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
    withReleaseFlags(command).action(async (flags: AdoptFlags) => {
      const { kubeconfig, to, dryRun = false } = flags;
      if (!to && !dryRun)
        throw new InputError(
          'Holdfast takes over by itself as soon as it runs and Flagger does not; --dry-run says what it would do',
        );
      const options = optionsOf(flags);
      const result = await connected({ kubeconfig, version: context.version }, (connection) =>
        to
          ? handBackToFlagger(connection, { ...options, isDryRun: dryRun })
          : foretellAdoption(connection, options),
      ).catch((error: unknown) => {
        // As with diff: 1 is an answer, so whatever kept us from one is 2.
        throw new InputError((error as Error).message);
      });
      emit(result, context);
    });
  },
};

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
