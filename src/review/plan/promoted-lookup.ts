/** What is promoted of Canaries, by the ledger in the repository and by the cluster. Nothing is written. */

import type { CanaryStatus } from '../../api/canary/status.ts';
import { apiVersionOf } from '../../api/kinds/kinds.ts';
import { conditionOf, nameOfKey } from '../../api/kubernetes.ts';
import type { Source, SourceStatus } from '../../api/source/source.ts';
import type { ClusterClient } from '../../cluster/client/client.ts';
import { ApiError } from '../../cluster/errors.ts';
import { inParallel } from '../../engine/sync/apply/apply-order.ts';
import type { LocalRepository } from '../../git/store/local-repository.ts';
import { counted } from '../../terminal/output.ts';
import { canaryOfLedger, ledgerPrefix } from '../../writeback/names.ts';
import { type PromotedState, type PromotedStates, promotedStateOf } from './promoted-state.ts';

type Client = Pick<ClusterClient, 'get'>;

/** How many Canaries are asked about. */
const mostCanaries = 500;

/** The state of each Canary that is in the cluster, and whether the Source has base applied. The notes say what cannot be read. */
export async function promotedInCluster(
  client: Client,
  { keys, source, baseCommit }: { keys: readonly string[]; source: Source; baseCommit: string },
): Promise<PromotedStates> {
  const states = new Map<string, PromotedState>();
  const failures: string[] = [];
  await inParallel(keys.slice(0, mostCanaries), async (key) => {
    const found = await readStatus(client, { kind: 'Canary', ...nameOfKey(key) });
    if (typeof found === 'string') failures.push(found);
    else if (found) states.set(key, promotedStateOf(found as CanaryStatus));
  });
  const { namespace = '', name } = source.metadata;
  const applied = await readStatus(client, { kind: 'Source', namespace, name });
  return {
    states,
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
function sourceNotes(status: SourceStatus, baseCommit: string): string[] {
  const { appliedCommit } = status;
  const ready = conditionOf(status, 'Ready');
  const isBase = !appliedCommit || baseCommit === '' || appliedCommit === baseCommit;
  return [
    ...(isBase ? [] : [`the cluster has applied ${appliedCommit.slice(0, 7)}, which is not base`]),
    ...(ready && ready.status !== 'True'
      ? [`the Source is not ready in the cluster: ${ready.message ?? ready.reason}`]
      : []),
  ];
}

/** What the ledger refs in the clone say; undefined: there are none. */
export async function promotedInLedger(
  repository: LocalRepository,
  clusterName: string | undefined,
): Promise<PromotedStates | undefined> {
  const refs = await repository.refsBelow('refs/holdfast/');
  const clusters = new Set([...refs.keys()].flatMap((ref) => ref.split('/')[2] ?? []));
  const cluster = clusterName ?? (clusters.size === 1 ? [...clusters][0] : undefined);
  if (cluster === undefined) {
    if (clusters.size === 0) return undefined;
    const names = [...clusters].sort().join(', ');
    return {
      states: new Map(),
      notes: [`the ledger has several clusters (${names}): choose one with --cluster-name`],
    };
  }
  const states = new Map<string, PromotedState>();
  for (const [ref, commit] of refs) {
    const key = canaryOfLedger(cluster, ref);
    if (key === undefined) continue;
    const subject = await repository.commitAt(commit).then(
      ({ info }) => info.subject,
      () => '',
    );
    states.set(key, { from: 'ledger', promoted: { commit, subject }, serving: [], rejected: [] });
  }
  if (states.size > 0) return { states, notes: [] };
  return { states, notes: [`found no ledger ref below ${ledgerPrefix(cluster)} in this clone`] };
}
