/** What a plan reads from the cluster, the ledger and metric servers, depending on the flags. */
import type { CanaryStatus } from '../../api/canary/status.ts';
import { apiVersionOf } from '../../api/kinds/kinds.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { Source, SourceStatus } from '../../api/source/source.ts';
import type { ClusterClient } from '../../cluster/client/client.ts';
import { ApiError } from '../../cluster/errors.ts';
import { inParallel } from '../../engine/sync/apply/apply-order.ts';
import type { ListSources } from '../../engine/sync/apply/dry-apply.ts';
import type { LocalRepository } from '../../git/store/local-repository.ts';
import type { HttpClient } from '../../http/types.ts';
import type { Connection } from '../../server/connection.ts';
import { counted } from '../../terminal/output.ts';
import { measure } from './metrics.ts';
import { promotedInLedger } from './promoted-releases.ts';
import { type PromotedState, type PromotedStates, promotedStateOf } from './promoted-state.ts';
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
  const standings = new Map(ledger?.states);
  for (const [key, standing] of inCluster?.states ?? [])
    if (standing.promoted || !standings.has(key)) standings.set(key, standing);
  return { states: standings, notes: inCluster?.notes ?? [] };
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

type Client = Pick<ClusterClient, 'get'>;

/** How many Canaries are asked about. */
const mostCanaries = 500;

/** The state of each Canary that is in the cluster, and whether the Source has base applied. The notes say what cannot be read. */
export async function promotedInCluster(
  client: Client,
  { keys, source, baseCommit }: { keys: readonly string[]; source: Source; baseCommit: string },
): Promise<PromotedStates> {
  const standings = new Map<string, PromotedState>();
  const failures: string[] = [];
  await inParallel(keys.slice(0, mostCanaries), async (key) => {
    const [namespace = '', name = ''] = key.split('/');
    const found = await readStatus(client, { kind: 'Canary', namespace, name });
    if (typeof found === 'string') failures.push(found);
    else if (found) standings.set(key, promotedStateOf(found as CanaryStatus));
  });
  const { namespace = '', name } = source.metadata;
  const applied = await readStatus(client, { kind: 'Source', namespace, name });
  return {
    states: standings,
    notes: [
      ...(typeof applied === 'string'
        ? [`cannot read Source ${namespace}/${name} from the cluster: ${applied}`]
        : []),
      ...(typeof applied === 'object' ? sourceNotes(applied as SourceStatus, baseCommit) : []),
      ...(failures.length > 0
        ? [`cannot read ${counted(failures.length, 'Canary', 'Canaries')} from the cluster: ${failures[0]}`]
        : []),
      ...(keys.length > mostCanaries
        ? [`only ${mostCanaries} of ${keys.length} Canaries were looked up in the cluster`]
        : []),
    ],
  };
}

/** The status; a text is why it cannot be had; undefined where there is no such object. */
async function readStatus(
  client: Client,
  { kind, namespace, name }: { kind: 'Canary' | 'Source'; namespace: string; name: string },
): Promise<object | string | undefined> {
  try {
    const found = await client.get({ apiVersion: apiVersionOf(kind), kind, namespace, name });
    return found && ((found.status ?? {}) as object);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return error.message;
  }
}

/** Where the Source stands, if that is not at base. */
function sourceNotes({ appliedCommit, conditions = [] }: SourceStatus, baseCommit: string): string[] {
  const ready = conditions.find(({ type }) => type === 'Ready');
  const isBase = !appliedCommit || baseCommit === '' || appliedCommit === baseCommit;
  return [
    ...(isBase ? [] : [`the cluster has applied ${appliedCommit.slice(0, 7)}, which is not base`]),
    ...(ready && ready.status !== 'True'
      ? [`the Source is not ready in the cluster: ${ready.message ?? ready.reason}`]
      : []),
  ];
}
