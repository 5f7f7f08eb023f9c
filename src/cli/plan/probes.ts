/** Whom a plan asks, by what was wished on the command line. */

import { apiVersionOf } from '../../api/kinds.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { Connection } from '../../app/connection.ts';
import { ApiError } from '../../cluster/errors.ts';
import type { LocalRepository } from '../../git/local-repository.ts';
import type { HttpClient } from '../../http/types.ts';
import { lookInCluster } from './cluster-look.ts';
import { measure } from './measure.ts';
import type { LookQuestion, PlanProbes } from './plan-types.ts';
import { type Looked, lookInLedger } from './promoted.ts';
import { serverDryRun } from './server-dry-run.ts';

/** What was wished. */
export interface ProbeOptions {
  readonly repository: LocalRepository;
  readonly clusterName: string | undefined;
  readonly defaultProvider: string;
  /** Present: metrics are asked. */
  readonly metricsServer: string | undefined;
  readonly serverDryRun: boolean;
}

/** The probes. Only what was wished is asked. */
export async function openProbes(
  options: ProbeOptions,
  { connection, http }: { connection: Connection | undefined; http: HttpClient | undefined },
): Promise<PlanProbes> {
  const { repository, clusterName, metricsServer, defaultProvider } = options;
  const ledger = await lookInLedger(repository, clusterName);
  const client = connection?.client;
  const found =
    client && metricsServer !== undefined ? await templatesIn(client) : { templates: [], notes: [] };
  const parts = http && metricsServer !== undefined ? { http, metricsServer, defaultProvider } : undefined;
  return {
    look: ledger || client ? (question) => look(client, ledger, question) : undefined,
    measure:
      parts &&
      (({ templates, ...asked }) =>
        measure(parts, { ...asked, templates: [...templates, ...found.templates] })),
    dryRun: client && options.serverDryRun ? (question) => serverDryRun(client, question) : undefined,
    notes: [...(ledger?.notes ?? []), ...found.notes],
  };
}

/** The cluster knows more than the ledger, which counts where the cluster has no such Canary. */
async function look(
  client: Connection['client'] | undefined,
  ledger: Looked | undefined,
  question: LookQuestion,
): Promise<Looked> {
  const inCluster = client && (await lookInCluster(client, question));
  const standings = new Map(ledger?.standings);
  for (const [key, standing] of inCluster?.standings ?? [])
    if (standing.promoted || !standings.has(key)) standings.set(key, standing);
  return { standings, notes: inCluster?.notes ?? [] };
}

async function templatesIn(
  client: Connection['client'],
): Promise<{ templates: readonly KubernetesObject[]; notes: readonly string[] }> {
  try {
    const { items } = await client.list(apiVersionOf('MetricTemplate'), 'MetricTemplate', {});
    return { templates: items, notes: [] };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { templates: [], notes: [`MetricTemplates of the cluster cannot be read: ${error.message}`] };
  }
}
