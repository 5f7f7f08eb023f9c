import { InputError } from '../app/options.ts';
import { defaultSelectorLabels } from '../workload/selector.ts';
import type { CliCommand } from './command.ts';
import { connected } from './connected.ts';
import { type DiffOptions, diffCanary } from './diff/diff.ts';
import { emit } from './emit.ts';
import { commaList, outputOption } from './install-command.ts';
import { screenOf } from './output.ts';
import { nameIn } from './requests/options.ts';
import { provider } from './run.ts';

interface DiffFlags {
  readonly kubeconfig?: string;
  readonly namespace?: string;
  readonly meshProvider: string;
  readonly selectorLabels: string[];
  readonly includeLabelPrefix: string[];
  readonly output: DiffOptions['format'];
}

/** `holdfast diff`: what is not as the release says. Writes nothing. */
export const diffCommand: CliCommand = {
  register(program, context) {
    program
      .command('diff')
      .description(
        'compare a Canary in the cluster with the release its primary must run; exit code 1 if something differs, 2 if it cannot be said',
      )
      .argument('<canary>', 'name, or canary/NAME')
      .option(
        '--kubeconfig <file>',
        'kubeconfig; default: KUBECONFIG, the service account of the pod, ~/.kube/config',
      )
      .option('-n, --namespace <name>', "namespace; default: the kubeconfig's")
      .option('--mesh-provider <name>', "as the controller's", provider, 'kubernetes')
      .option('--selector-labels <names>', "as the controller's (comma list)", commaList, [
        ...defaultSelectorLabels,
      ])
      .option('--include-label-prefix <prefixes>', "as the controller's (comma list)", commaList, [])
      .addOption(outputOption('table', ['table', 'json', 'yaml']))
      .action(async (subject: string, flags: DiffFlags) => {
        const name = nameIn(subject, 'Canary');
        const options = {
          minIntervalMs: 0,
          defaultProvider: flags.meshProvider,
          selectorLabels: flags.selectorLabels,
          includeLabelPrefixes: flags.includeLabelPrefix,
        };
        const { kubeconfig } = flags;
        const result = await connected({ kubeconfig, version: context.version }, (connection) =>
          diffCanary(
            connection,
            { namespace: flags.namespace ?? connection.access.namespace, name, options },
            { format: flags.output, screen: screenOf(process.stdout, process.env) },
          ),
        ).catch((error: unknown) => {
          // As diff and kubectl diff: 1 is an answer, so whatever kept us from one is 2.
          throw new InputError((error as Error).message);
        });
        emit(result, context);
      });
  },
};
