/** What a plan reads from the cluster, the ledger and metric servers, depending on the flags. */
import { apiVersionOf } from '../../api/kinds/kinds.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { ApiError } from '../../cluster/errors.ts';
import type { ListSources } from '../../engine/sync/apply/apply-object.ts';
import type { LocalRepository } from '../../git/store/local-repository.ts';
import type { HttpClient } from '../../http/types.ts';
import type { Connection } from '../../server/connection.ts';
import { measure } from './metrics.ts';
import { promotedInCluster, promotedInLedger } from './promoted-lookup.ts';
import type { PromotedStates } from './promoted-state.ts';
import type { LookQuestion, PlanProbes } from './request.ts';
import { serverDryRun } from './server-dry-run.ts';

/** What the flags ask for. */
interface ProbeOptions {
  readonly repository: LocalRepository;
  readonly clusterName: string | undefined;
  readonly defaultProvider: string;
  /** Present: metrics are asked. */
  readonly metricsServer: string | undefined;
  readonly serverDryRun: boolean;
  readonly listSources?: ListSources | undefined;
}

/** The probes. Only what the flags ask for is read. */
export async function openProbes(
  options: ProbeOptions,
  { connection, http }: { connection: Connection | undefined; http: HttpClient | undefined },
): Promise<PlanProbes> {
  const { repository, clusterName, metricsServer, defaultProvider } = options;
  const ledger = await promotedInLedger(repository, clusterName);
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
    dryRun:
      client && options.serverDryRun
        ? (question) => serverDryRun(client, question, options.listSources)
        : undefined,
    notes: [...(ledger?.notes ?? []), ...found.notes],
  };
}

/** The cluster knows more than the ledger, which counts where the cluster has no such Canary. */
async function look(
  client: Connection['client'] | undefined,
  ledger: PromotedStates | undefined,
  question: LookQuestion,
): Promise<PromotedStates> {
  const inCluster = client && (await promotedInCluster(client, question));
  const states = new Map(ledger?.states);
  for (const [key, state] of inCluster?.states ?? [])
    if (state.promoted || !states.has(key)) states.set(key, state);
  return { states, notes: inCluster?.notes ?? [] };
}

async function templatesIn(
  client: Connection['client'],
): Promise<{ templates: readonly KubernetesObject[]; notes: readonly string[] }> {
  try {
    const { items } = await client.list(apiVersionOf('MetricTemplate'), 'MetricTemplate', {});
    return { templates: items, notes: [] };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { templates: [], notes: [`cannot read the MetricTemplates of the cluster: ${error.message}`] };
  }
}

// What the cluster says of Canaries and of a Source. Nothing is written.
