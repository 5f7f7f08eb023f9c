/** Dry-runs the last known good releases of Canaries, and writes the condition Drilled. */
import type { Canary } from '../../api/canary/canary.ts';
import { parseCanary } from '../../api/kinds/parse.ts';
import { namespacedName } from '../../api/kubernetes.ts';
import { InputError } from '../../api/problems.ts';
import type { ClusterClient } from '../../cluster/client/client.ts';
import { isApiError } from '../../cluster/errors.ts';
import { type DrillReport, drill } from '../../engine/canary/drill/drill.ts';
import { writeDrillCondition } from '../../engine/canary/drill/drill-schedule.ts';
import { inForce } from '../../engine/canary/status/spec-in-force.ts';
import { createRecords } from '../../engine/records/records.ts';
import { createClusterPort, createDryRun } from '../../server/cluster.ts';
import { readClusterKey } from '../../server/cluster-key.ts';
import { createWriteGate } from '../../server/write-gate.ts';
import { readAll, readOne } from '../objects.ts';

/** Which Canaries are drilled, and how the controller writes their objects. */
export interface DrillQuery {
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
  readonly nowMs: number;
}

/** What came of it. `invalid`: why some Canaries cannot be drilled; `unwritten`: lines about conditions that could not be written. */
interface Drilled {
  readonly reports: readonly DrillReport[];
  readonly invalid: readonly string[];
  readonly unwritten: readonly string[];
}

/** Drills one Canary after the other. Throws ApiError, and InputError for one that is named and not valid. */
export async function drillCanaries(client: ClusterClient, query: DrillQuery): Promise<Drilled> {
  const { canaries, ...found } = await canariesOf(client, query);
  const invalid = [...found.invalid];
  const { selectorLabels, includeLabelPrefixes, ownNamespace, nowMs } = query;
  // A drill makes no key: without one there are no records either.
  const key = await readClusterKey({ get: (reference) => client.get(reference) }, ownNamespace);
  if (!key)
    throw new InputError(
      `Secret ${ownNamespace}/holdfast-key not found; set --holdfast-namespace to the namespace where Holdfast runs`,
    );
  const gate = createWriteGate(() => true);
  const cluster = createClusterPort(client, gate);
  const records = createRecords(cluster, key);
  const options = { selectorLabels, includeLabelPrefixes };
  const reports: DrillReport[] = [];
  const unwritten: string[] = [];
  const parts = { cluster, dryRun: createDryRun(client), records, options };
  for (const canary of canaries) {
    const report = await drill(parts, canary).catch((error: unknown) => {
      // One whose record may not be read keeps no other one from its drill.
      if (query.name !== undefined || !isApiError(error, 'forbidden')) throw error;
      invalid.push(`Canary ${namespacedName(canary)}: ${error.message}`);
    });
    if (!report) continue;
    reports.push(report);
    try {
      if (!canary.spec.suspend) await writeDrillCondition(cluster, canary, report, nowMs);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      unwritten.push(`Canary ${namespacedName(canary)}: cannot write the condition: ${message}\n`);
    }
  }
  return { reports, invalid, unwritten };
}

async function canariesOf(
  client: ClusterClient,
  { name, namespace, labelSelector }: DrillQuery,
): Promise<{ readonly canaries: readonly Canary[]; readonly invalid: readonly string[] }> {
  const objects =
    name === undefined
      ? await readAll(client, 'Canary', { namespace, labelSelector })
      : [await readOne(client, 'Canary', { namespace: namespace ?? '', name })];
  const canaries: Canary[] = [];
  const invalid: string[] = [];
  for (const object of objects) {
    const parsed = parseCanary(inForce(object));
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
