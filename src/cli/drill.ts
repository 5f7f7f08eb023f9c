import type { Canary } from '../api/canary/canary.ts';
import { apiVersionOf } from '../api/kinds/kinds.ts';
import { parseCanary } from '../api/kinds/parse.ts';
import { namespacedName } from '../api/kubernetes.ts';
import { InputError } from '../api/problems.ts';
import type { ClusterClient } from '../cluster/client/client.ts';
import { type DrillParts, type DrillReport, drill } from '../engine/canary/drill/drill.ts';
import { writeDrillCondition } from '../engine/canary/drill/drill-schedule.ts';
import { createRecords } from '../engine/records/records.ts';
import { createClusterPort, createDryRun } from '../server/cluster.ts';
import { readClusterKey } from '../server/cluster-key.ts';
import { createWriteGate } from '../server/write-gate.ts';
import {
  type CommandResult,
  type DataFormat,
  paint,
  printable,
  type Screen,
  screenOf,
  wrap,
} from '../terminal/output.ts';
import { formatOutput } from '../terminal/schemas/output-kinds.ts';
import { type CliCommand, emit, withConnection } from './command.ts';
import { type ControllerFlags, withControllerFlags, withFlagsOfController } from './controller-flags.ts';
import { exitCodes } from './failure.ts';
import {
  allNamespacesOption,
  contextOption,
  holdfastNamespaceOption,
  kubeconfigOption,
  namespaceOption,
  outputOption,
  refuseNameBeside,
  type SubjectFlags,
  selectorOption,
} from './flags.ts';
import { nameIn, readOne } from './requests/request.ts';

/** What `holdfast drill` is asked for. */
interface DrillOptions {
  /** Undefined: all Canaries. */
  readonly name: string | undefined;
  /** Undefined: all namespaces. */
  readonly namespace: string | undefined;
  /** Undefined: with any labels. */
  readonly labelSelector?: string | undefined;
  /** Where Holdfast keeps its key. */
  readonly ownNamespace: string;
  readonly selectorLabels: readonly string[];
  readonly includeLabelPrefixes: readonly string[];
  readonly format: 'text' | DataFormat;
  readonly screen: Screen;
  readonly nowMs: number;
}

/**
 * Drills one Canary or all; exit code 1 when a last-known-good would be refused, 2 when a Canary of several is not valid, which keeps no other one
 * from its drill. Throws ApiError and InputError.
 */
export async function drillAll(client: ClusterClient, options: DrillOptions): Promise<CommandResult> {
  const { canaries, invalid } = await canariesOf(client, options);
  const cluster = createClusterPort(
    client,
    createWriteGate(() => true),
  );
  const { selectorLabels, includeLabelPrefixes, ownNamespace, format, screen } = options;
  // A drill makes no key: without one there are no records either.
  const key = await readClusterKey({ get: (reference) => client.get(reference) }, ownNamespace);
  if (!key)
    throw new InputError(
      `Secret ${ownNamespace}/holdfast-key not found; set --holdfast-namespace to the namespace where Holdfast runs`,
    );
  const parts: DrillParts = {
    cluster,
    dryRun: createDryRun(client),
    records: createRecords(cluster, key),
    options: { selectorLabels, includeLabelPrefixes },
  };
  const reports: DrillReport[] = [];
  const notes = invalid.map((problem) => `error: ${problem}\n`);
  for (const canary of canaries) {
    const report = await drill(parts, canary);
    reports.push(report);
    try {
      if (!canary.spec.suspend) await writeDrillCondition(cluster, canary, report, options.nowMs);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      notes.push(`Canary ${namespacedName(canary)}: cannot write the condition: ${message}\n`);
    }
  }
  const lines =
    reports.length === 0 && invalid.length === 0
      ? ['No Canaries found.']
      : reports.flatMap((report) => reportLines(report, screen));
  const stdout =
    format === 'text' ? `${lines.join('\n')}\n` : formatOutput('Drill', { canaries: reports }, format);
  const answer = reports.every(({ passed }) => passed) ? exitCodes.good : exitCodes.bad;
  return { stdout, stderr: notes.join(''), exitCode: invalid.length > 0 ? exitCodes.noAnswer : answer };
}

async function canariesOf(
  client: ClusterClient,
  { name, namespace, labelSelector }: Pick<DrillOptions, 'name' | 'namespace' | 'labelSelector'>,
): Promise<{ readonly canaries: readonly Canary[]; readonly invalid: readonly string[] }> {
  const objects =
    name === undefined
      ? (
          await client.list(apiVersionOf('Canary'), 'Canary', {
            ...(namespace ? { namespace } : {}),
            ...(labelSelector ? { labelSelector } : {}),
          })
        ).items
      : [await readOne(client, 'Canary', { namespace: namespace ?? '', name })];
  const canaries: Canary[] = [];
  const invalid: string[] = [];
  for (const object of objects) {
    const parsed = parseCanary(object);
    if (parsed.ok) canaries.push(parsed.value);
    else {
      const [first] = parsed.problems;
      invalid.push(
        `Canary ${namespacedName(object)}: ${first?.path ?? ''}: ${first?.message ?? 'is not valid'}`,
      );
    }
  }
  if (name !== undefined && invalid[0] !== undefined) throw new InputError(invalid[0]);
  return { canaries, invalid };
}

function reportLines(
  { canary, release, passed, findings, unseen, objects }: DrillReport,
  screen: Screen,
): string[] {
  if (!release) return [`${canary}: ${paint(screen, 'quiet', 'no release has been promoted yet')}`];
  const name = printable(`${release.commit.slice(0, 7)} ${release.subject}`.trim());
  const verdict = passed
    ? paint(screen, 'good', `would be accepted (${objects} objects; images are not pulled)`)
    : paint(screen, 'bad', 'would be rejected');
  const details = [
    ...findings.map(({ object, message }) => `${object}: ${message}`),
    ...unseen.map(({ object, why }) => `not checked: ${object}: ${why}`),
  ];
  return [`${canary}: ${name} ${verdict}`, ...details.flatMap((line) => wrap(line, screen.columns, '  '))];
}

interface DrillFlags extends SubjectFlags, Partial<ControllerFlags> {
  readonly holdfastNamespace: string;
  readonly output: DrillOptions['format'];
}

const controllerFlagNames = ['selector-labels', 'include-label-prefix'] as const;

/** `holdfast drill`: whether the cluster would take the last-known-good today. */
export const drillCommand: CliCommand = {
  register(program, context) {
    const command = program
      .command('drill')
      .summary('dry-run the last known good release against the cluster')
      .description(
        'dry-run the last known good release to see whether the cluster would still accept it; exit code 1 if not, 2 on errors',
      )
      .argument('[canary]', 'NAME or canary/NAME (default: every Canary of the namespace)')
      .addOption(kubeconfigOption())
      .addOption(contextOption())
      .addOption(namespaceOption())
      .addOption(allNamespacesOption())
      .addOption(selectorOption())
      .addOption(holdfastNamespaceOption('--holdfast-namespace'));
    withControllerFlags(command, controllerFlagNames)
      .addOption(outputOption('text', ['text', 'json', 'yaml']))
      .action(async (subject: string | undefined, flags: DrillFlags) => {
        refuseNameBeside(subject, flags);
        const result = await withConnection(flags, context, async ({ access, client }) => {
          const namespace = flags.holdfastNamespace;
          const query = { namespace, names: controllerFlagNames, given: flags };
          return withFlagsOfController({ client }, query, (found) =>
            drillAll(client, {
              name: subject === undefined ? undefined : nameIn(subject, 'Canary'),
              namespace: flags.allNamespaces ? undefined : (flags.namespace ?? access.namespace),
              labelSelector: flags.selector,
              ownNamespace: namespace,
              selectorLabels: found.selectorLabels,
              includeLabelPrefixes: found.includeLabelPrefix,
              format: flags.output,
              screen: screenOf(process.stdout, process.env),
              nowMs: Date.now(),
            }),
          );
        });
        emit(result, context);
      });
  },
};
