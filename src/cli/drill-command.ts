import { InputError } from '../app/options.ts';
import { defaultSelectorLabels } from '../workload/selector.ts';
import type { CliCommand } from './command.ts';
import { connected } from './connected.ts';
import { type DrillOptions, drillAll } from './drill.ts';
import { emit } from './emit.ts';
import { defaultNamespace as ownNamespace } from './install.ts';
import { commaList, outputOption } from './install-command.ts';
import { screenOf } from './output.ts';
import { nameIn } from './requests/options.ts';

interface DrillFlags {
  readonly kubeconfig?: string;
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
  readonly holdfastNamespace: string;
  readonly selectorLabels: string[];
  readonly includeLabelPrefix: string[];
  readonly output: DrillOptions['format'];
}

/** `holdfast drill`: whether the cluster would take the last-known-good today. */
export const drillCommand: CliCommand = {
  register(program, context) {
    program
      .command('drill')
      .description(
        'try by dry-run whether the cluster would take the last known good; exit code 1 if not, 2 if it cannot be said',
      )
      .argument('[canary]', 'name, or canary/name; without it every Canary of the namespace')
      .option(
        '--kubeconfig <file>',
        'kubeconfig; default: KUBECONFIG, the service account of the pod, ~/.kube/config',
      )
      .option('-n, --namespace <name>', "namespace; default: the kubeconfig's")
      .option('-A, --all-namespaces', 'all namespaces')
      .option('--holdfast-namespace <name>', 'namespace that Holdfast runs in', ownNamespace)
      .option('--selector-labels <names>', 'as of holdfast run (comma list)', commaList, [
        ...defaultSelectorLabels,
      ])
      .option('--include-label-prefix <prefixes>', 'as of holdfast run (comma list)', commaList, [])
      .addOption(outputOption('text', ['text', 'json', 'yaml']))
      .action(async (subject: string | undefined, flags: DrillFlags) => {
        if (flags.allNamespaces && subject !== undefined)
          throw new InputError('one Canary is in one namespace: give -n NAMESPACE instead of -A');
        const { kubeconfig } = flags;
        const result = await connected({ kubeconfig, version: context.version }, ({ access, client }) =>
          drillAll(client, {
            name: subject === undefined ? undefined : nameIn(subject, 'Canary'),
            namespace: flags.allNamespaces ? undefined : (flags.namespace ?? access.namespace),
            ownNamespace: flags.holdfastNamespace,
            selectorLabels: flags.selectorLabels,
            includeLabelPrefixes: flags.includeLabelPrefix,
            format: flags.output,
            screen: screenOf(process.stdout, process.env),
            nowMs: Date.now(),
          }),
        );
        emit(result, context);
      });
  },
};
