import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InvalidArgumentError } from 'commander';
import { openLocalRepository } from '../../git/store/local-repository.ts';
import { makePlan } from '../../review/plan/plan.ts';
import { openProbes } from '../../review/plan/probes.ts';
import { openSideParts } from '../../review/plan/rendered-source.ts';
import type { PlanReport } from '../../review/plan/report.ts';
import { planMarkdown } from '../../review/plan/report-markdown.ts';
import { hasChanges } from '../../review/plan/report-sentences.ts';
import { planText } from '../../review/plan/report-text.ts';
import type { PlanRequest } from '../../review/plan/request.ts';
import type { Connection } from '../../server/connection.ts';
import { readSourceFiles } from '../../server/source-files.ts';
import { type CommandResult, type DataFormat, formatOutput, screenOf } from '../../terminal/output.ts';
import { type CliCommand, emit, withConnection } from '../command.ts';
import {
  type ControllerFlags,
  defaultControllerFlags,
  sourcesOfCluster,
  withControllerFlags,
  withFlagsOfController,
} from '../controller-flags.ts';
import {
  type ClusterFlags,
  commaList,
  holdfastNamespaceOption,
  namespaceName,
  outputOption,
  type ProgramFlags,
  programsIn,
  withClusterFlags,
  withProgramFlags,
} from '../flags.ts';
import { outboundClient } from '../outbound.ts';

interface PlanFlags extends ProgramFlags, ClusterFlags, Partial<ControllerFlags> {
  readonly repo: string;
  readonly base: string;
  readonly head?: string;
  readonly source: string[];
  readonly path: string[];
  readonly namespace: string;
  readonly branch?: string;
  readonly clusterName?: string;
  readonly cluster?: boolean;
  readonly serverDryRun?: boolean;
  readonly holdfastNamespace: string;
  readonly failOn: FailOn[];
  readonly maxBytes: number;
  readonly output: 'text' | 'markdown' | DataFormat;
}

const controllerFlagNames = ['mesh-provider', 'min-analysis-interval', 'metrics-server'] as const;

/** `holdfast plan`: what a change of the repository would do, before it is merged. */
export const planCommand: CliCommand = {
  register(command, context) {
    withClusterFlags(
      command
        .description(
          'compare two commits as Sources would apply them: changed objects, the rollout of each Canary, and changes that a revert does not undo; exit code 1 as set by --fail-on, 2 on errors',
        )
        .requiredOption(
          '--base <revision>',
          'commit, branch or tag to compare with, for example HEAD^ or main~2',
        )
        .option('--head <revision>', 'commit, branch or tag of the change (default: the working tree)')
        .option('--repo <folder>', 'a folder of the Git repository', '.')
        .option('--source <file...>', 'files with Source objects that are not in the repository', [])
        .option('--path <folder...>', 'folders of the repository to treat as the path of a Source', [])
        .option(
          '-n, --namespace <name>',
          'namespace for objects in these folders without one',
          namespaceName,
          'default',
        )
        .option('--branch <name>', 'only Sources that follow this branch')
        .option('--cluster-name <name>', 'cluster name in the ledger refs; the value of holdfast run')
        .option('--cluster', 'read the promoted releases and metrics from the cluster (read-only)')
        .option('--server-dry-run', 'also dry-run the objects on the API server; implies --cluster'),
    )
      .addOption(holdfastNamespaceOption('--holdfast-namespace'))
      .option('--fail-on <kinds>', `exit with 1 for any of: ${failOnValues.join(', ')}`, failOn, ['problems'])
      .option(
        '--max-bytes <number>',
        'maximum size of the Markdown; the report says what was left out',
        wholeNumber,
        65_000,
      )
      .addOption(outputOption('text', ['text', 'markdown', 'json', 'yaml']));
    withControllerFlags(command, controllerFlagNames, "with --cluster the controller's");
    withProgramFlags(command).action(async (flags: PlanFlags) => {
      const { version } = context;
      const query = { namespace: flags.holdfastNamespace, names: controllerFlagNames, given: flags };
      const result = await (flags.cluster || flags.serverDryRun
        ? withConnection(flags, context, (connection) =>
            withFlagsOfController(connection, query, (found) => planned(flags, found, version, connection)),
          )
        : planned(flags, defaultControllerFlags(flags), version, undefined));
      emit(result, context);
    });
  },
};

async function planned(
  flags: PlanFlags,
  found: ControllerFlags,
  version: string,
  connection: Connection | undefined,
): Promise<CommandResult> {
  const repository = await openLocalRepository(flags.repo);
  const request: PlanRequest = {
    repository,
    base: flags.base,
    head: flags.head,
    paths: flags.path,
    branch: flags.branch,
    namespace: flags.namespace,
    sources: await readSourceFiles(flags.source),
    minIntervalMs: found.minAnalysisInterval,
    defaultProvider: found.meshProvider,
  };
  const metricsServer = connection ? found.metricsServer : flags.metricsServer;
  const http =
    metricsServer === undefined
      ? undefined
      : outboundClient(connection?.access.server, version, metricsServer);
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-plan-'));
  try {
    const { clusterName, serverDryRun = false } = flags;
    const { defaultProvider } = request;
    const listSources = connection && sourcesOfCluster(connection, flags.holdfastNamespace);
    const asked = { repository, clusterName, defaultProvider, metricsServer, serverDryRun, listSources };
    const probes = await openProbes(asked, { connection, http });
    const parts = openSideParts(folder, programsIn(flags, process.env), connection?.client);
    const report = await makePlan(request, parts, probes);
    const { output, maxBytes } = flags;
    const text: Readonly<Record<PlanFlags['output'], () => string>> = {
      json: () => formatOutput('Plan', report, 'json'),
      yaml: () => formatOutput('Plan', report, 'yaml'),
      markdown: () => planMarkdown(report, maxBytes),
      text: () => planText(report, screenOf(process.stdout, process.env)),
    };
    return { stdout: text[output](), stderr: '', exitCode: failures(report, flags.failOn) ? 1 : 0 };
  } finally {
    await repository.close();
    await http?.close();
    await rm(folder, { recursive: true, force: true });
  }
}

function failOn(text: string): FailOn[] {
  const names = commaList(text);
  const isKnown = (name: string): name is FailOn => (failOnValues as readonly string[]).includes(name);
  const wrong = names.find((name) => !isKnown(name));
  // An empty one, as of a variable that is not set, would let everything pass.
  if (wrong !== undefined || names.length === 0)
    throw new InvalidArgumentError(`${wrong ?? 'it'} must be one of ${failOnValues.join(', ')}`);
  return names.filter(isKnown);
}

function wholeNumber(text: string): number {
  const number = /^\d{4,9}$/.test(text) ? Number(text) : 0;
  if (number >= 2_000) return number;
  throw new InvalidArgumentError('must be a whole number of bytes, 2000 or more');
}

/** What may end the command with exit code 1. `none`: nothing does. */
const failOnValues = ['changes', 'one-way', 'refused', 'problems', 'none'] as const;

/** One of them. */
type FailOn = (typeof failOnValues)[number];

/** Whether the plan holds something that --fail-on names. Pure. */
function failures(report: PlanReport, wanted: readonly FailOn[]): boolean {
  const { oneWay, refused, problems } = report.summary;
  const found: Readonly<Record<FailOn, boolean>> = {
    changes: hasChanges(report),
    'one-way': oneWay > 0,
    refused: refused > 0,
    problems: problems > 0,
    none: false,
  };
  return wanted.some((kind) => found[kind]);
}
