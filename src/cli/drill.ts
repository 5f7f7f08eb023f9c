import type { Canary } from '../api/canary.ts';
import { apiVersionOf } from '../api/kinds.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { parseCanary } from '../api/parse.ts';
import { readClusterKey } from '../app/cluster-key.ts';
import { createClusterPort, createDryRun } from '../app/cluster-port.ts';
import { InputError } from '../app/options.ts';
import { createWriteGate } from '../app/write-gate.ts';
import type { ClusterClient } from '../cluster/client.ts';
import { keyOf } from '../engine/canary/checks.ts';
import { type DrillParts, type DrillReport, drill } from '../engine/drill/drill.ts';
import { writeDrillCondition } from '../engine/drill/drill-condition.ts';
import { createRecords } from '../engine/records/records.ts';
import {
  type CommandResult,
  type DataFormat,
  formatData,
  paint,
  printable,
  type Screen,
  wrap,
} from './output.ts';
import { readOne } from './requests/request.ts';

/** What `holdfast drill` is told. */
export interface DrillOptions {
  /** Undefined: all Canaries. */
  readonly name: string | undefined;
  /** Undefined: all namespaces. */
  readonly namespace: string | undefined;
  /** Where Holdfast keeps its key. */
  readonly ownNamespace: string;
  readonly selectorLabels: readonly string[];
  readonly includeLabelPrefixes: readonly string[];
  readonly format: 'text' | DataFormat;
  readonly screen: Screen;
  readonly nowMs: number;
}

/** Drills one Canary or all; exit code 1 when a last-known-good would be refused. Throws ApiError and InputError. */
export async function drillAll(client: ClusterClient, options: DrillOptions): Promise<CommandResult> {
  const canaries = await canariesOf(client, options);
  const cluster = createClusterPort(
    client,
    createWriteGate(() => true),
  );
  const { selectorLabels, includeLabelPrefixes } = options;
  const parts: DrillParts = {
    cluster,
    dryRun: createDryRun(client),
    records: createRecords(cluster, await existingKey(client, options.ownNamespace)),
    options: { selectorLabels, includeLabelPrefixes },
  };
  const reports: DrillReport[] = [];
  const notes: string[] = [];
  for (const canary of canaries) {
    const report = await drill(parts, canary);
    reports.push(report);
    try {
      if (!canary.spec.suspend) await writeDrillCondition(cluster, canary, report, options.nowMs);
    } catch (error) {
      notes.push(`Canary ${keyOf(canary)}: the condition was not written: ${messageOf(error)}\n`);
    }
  }
  const stdout =
    options.format === 'text' ? textOf(reports, options.screen) : formatData(reports, options.format);
  return { stdout, stderr: notes.join(''), exitCode: reports.every(({ passed }) => passed) ? 0 : 1 };
}

async function canariesOf(
  client: ClusterClient,
  { name, namespace }: Pick<DrillOptions, 'name' | 'namespace'>,
): Promise<Canary[]> {
  const objects =
    name === undefined
      ? (await client.list(apiVersionOf('Canary'), 'Canary', namespace ? { namespace } : {})).items
      : [await readOne(client, 'Canary', { namespace: namespace ?? '', name })];
  return objects.map(valid);
}

function valid(object: KubernetesObject): Canary {
  const parsed = parseCanary(object);
  if (parsed.ok) return parsed.value;
  const [first] = parsed.problems;
  throw new InputError(`Canary ${keyOf(object)}: ${first?.path ?? ''}: ${first?.message ?? 'is not valid'}`);
}

/** A drill makes no key: without one there are no records either. */
async function existingKey(client: ClusterClient, namespace: string): Promise<Uint8Array> {
  const key = await readClusterKey({ get: (reference) => client.get(reference) }, namespace);
  if (key) return key;
  throw new InputError(
    `there is no Secret ${namespace}/holdfast-key; name the namespace Holdfast runs in by --holdfast-namespace`,
  );
}

function textOf(reports: readonly DrillReport[], screen: Screen): string {
  if (reports.length === 0) return 'There is no Canary here.\n';
  return `${reports.flatMap((report) => linesOf(report, screen)).join('\n')}\n`;
}

function linesOf(
  { canary, release, passed, findings, unseen, objects }: DrillReport,
  screen: Screen,
): string[] {
  if (!release) return [`${canary}: ${paint(screen, 'quiet', 'no release has proven itself yet')}`];
  const name = printable(`${release.commit.slice(0, 7)} ${release.subject}`.trim());
  const verdict = passed
    ? paint(screen, 'good', `would be taken (${objects} objects; images are not pulled)`)
    : paint(screen, 'bad', 'would be refused');
  const said = [
    ...findings.map(({ object, message }) => `${object}: ${message}`),
    ...unseen.map(({ object, why }) => `not looked at: ${object}: ${why}`),
  ];
  return [`${canary}: ${name} ${verdict}`, ...said.flatMap((line) => wrap(line, screen.columns, '  '))];
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
