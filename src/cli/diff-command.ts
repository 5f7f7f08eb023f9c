import type { Connection } from '../app/connection.ts';
import { InputError } from '../app/options.ts';
import { createHttpClient } from '../http/client.ts';
import { defaultSelectorLabels } from '../workload/selector.ts';
import { addressPolicy } from './address-policy.ts';
import type { CliCommand } from './command.ts';
import { connected } from './connected.ts';
import { type DiffOptions, diffCanary } from './diff/diff.ts';
import { diffSource } from './diff/diff-source.ts';
import { emit } from './emit.ts';
import { commaList, outputOption } from './install-command.ts';
import { type CommandResult, screenOf } from './output.ts';
import { type ProgramFlags, programsIn, withProgramFlags } from './program-flags.ts';
import { provider } from './run.ts';
import { subjectOf } from './status-command.ts';

interface DiffFlags extends ProgramFlags {
  readonly kubeconfig?: string;
  readonly namespace?: string;
  readonly meshProvider: string;
  readonly selectorLabels: string[];
  readonly includeLabelPrefix: string[];
  readonly output: DiffOptions['format'];
}

/** `holdfast diff`: what is not as the release, or the Source, says. Writes nothing. */
export const diffCommand: CliCommand = {
  register(program, context) {
    const command = program
      .command('diff')
      .description(
        'compare a Canary in the cluster with the release its primary must run, or a Source with what it keeps applied; exit code 1 if something differs, 2 if it cannot be said',
      )
      .argument('<subject>', 'NAME or canary/NAME; source/NAME')
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
      .addOption(outputOption('table', ['table', 'json', 'yaml']));
    withProgramFlags(command).action(async (text: string, flags: DiffFlags) => {
      const { kind, name } = text.includes('/') ? subjectOf(text, undefined) : { kind: 'Canary', name: text };
      if (!name) throw new InputError(`${JSON.stringify(text)} names no object`);
      const work = kind === 'Source' ? ofSource : ofCanary;
      const { kubeconfig } = flags;
      const { version } = context;
      const result = await connected({ kubeconfig, version }, (connection) =>
        work(connection, {
          name,
          namespace: flags.namespace ?? connection.access.namespace,
          flags,
          version,
        }),
      ).catch((error: unknown) => {
        // As diff and kubectl diff: 1 is an answer, so whatever kept us from one is 2.
        throw new InputError((error as Error).message);
      });
      emit(result, context);
    });
  },
};

interface Asked {
  readonly name: string;
  readonly namespace: string;
  readonly flags: DiffFlags;
  readonly version: string;
}

function ofCanary(connection: Connection, { name, namespace, flags }: Asked): Promise<CommandResult> {
  const options = {
    minIntervalMs: 0,
    defaultProvider: flags.meshProvider,
    selectorLabels: flags.selectorLabels,
    includeLabelPrefixes: flags.includeLabelPrefix,
  };
  return diffCanary(connection, { namespace, name, options }, shownAs(flags));
}

async function ofSource(
  connection: Connection,
  { name, namespace, flags, version }: Asked,
): Promise<CommandResult> {
  const userAgent = `holdfast/${version}`;
  const programs = programsIn(flags, process.env);
  const http = createHttpClient({ ...addressPolicy(connection.access.server), userAgent });
  try {
    return await diffSource(connection, { namespace, name, http, programs }, shownAs(flags));
  } finally {
    await http.close();
  }
}

function shownAs({ output }: DiffFlags): DiffOptions {
  return { format: output, screen: screenOf(process.stdout, process.env) };
}
