import { limits } from '../api/limits.ts';
import { defaultSelectorLabels } from '../workload/selector.ts';
import type { CliCommand } from './command.ts';
import { connected } from './connected.ts';
import { emit } from './emit.ts';
import { explainWorld } from './explain/explain.ts';
import { parseHypothesis } from './explain/hypothesis.ts';
import { commaList, outputOption } from './install-command.ts';
import { type DataFormat, screenOf } from './output.ts';
import { readWorld } from './read-world.ts';
import { nameIn } from './requests/options.ts';
import { duration, provider } from './run.ts';

interface ExplainFlags {
  readonly kubeconfig?: string;
  readonly namespace?: string;
  readonly whatIf: string[];
  readonly meshProvider: string;
  readonly minAnalysisInterval: number;
  readonly selectorLabels: string[];
  readonly output: 'text' | DataFormat;
}

/** `holdfast explain`: what is expected, what is, why, and what would be done about it. Writes nothing. */
export const explainCommand: CliCommand = {
  register(program, context) {
    const { version } = context;
    program
      .command('explain')
      .description(
        'explain what Holdfast makes of a Canary, or what it would make of a fault; writes nothing',
      )
      .argument('<canary>', 'name, or canary/NAME')
      .option(
        '--kubeconfig <file>',
        'kubeconfig; default: KUBECONFIG, the service account of the pod, ~/.kube/config',
      )
      .option('-n, --namespace <name>', "namespace; default: the kubeconfig's")
      .option(
        '--what-if <assumption...>',
        'assume onFailure=..., cause=..., canary=healthy|sameFault|notReady, checks=fail or others=N failing Canaries',
        [],
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
      .addOption(outputOption('text', ['text', 'json', 'yaml']))
      .action(async (first: string, flags: ExplainFlags) => {
        const name = nameIn(first, 'Canary');
        const hypothesis = parseHypothesis(flags.whatIf);
        const options = {
          minIntervalMs: flags.minAnalysisInterval,
          defaultProvider: flags.meshProvider,
          selectorLabels: flags.selectorLabels,
          includeLabelPrefixes: [],
        };
        const world = await connected({ kubeconfig: flags.kubeconfig, version }, (connection) =>
          readWorld(connection, { namespace: flags.namespace ?? connection.access.namespace, name, options }),
        );
        const screen = screenOf(process.stdout, process.env);
        emit(
          explainWorld(world, hypothesis, { assumed: flags.whatIf, format: flags.output, screen }),
          context,
        );
      });
  },
};
