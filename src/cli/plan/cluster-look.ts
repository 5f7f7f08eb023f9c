/** What the cluster says of Canaries and of a Source. Nothing is written. */
import type { CanaryStatus } from '../../api/canary-status.ts';
import { apiVersionOf } from '../../api/kinds.ts';
import type { Source } from '../../api/source.ts';
import type { SourceStatus } from '../../api/source-status.ts';
import type { ClusterClient } from '../../cluster/client.ts';
import { ApiError } from '../../cluster/errors.ts';
import { inParallel } from '../../engine/source/in-parallel.ts';
import type { Looked } from './promoted.ts';
import { type Standing, standingOf } from './standing.ts';

type Client = Pick<ClusterClient, 'get'>;

/** How many Canaries are asked about. */
const mostCanaries = 500;

/** The standing of each Canary that is in the cluster, and whether the Source has base applied. What cannot be had is told in the notes. */
export async function lookInCluster(
  client: Client,
  { keys, source, baseCommit }: { keys: readonly string[]; source: Source; baseCommit: string },
): Promise<Looked> {
  const standings = new Map<string, Standing>();
  const failures: string[] = [];
  await inParallel(keys.slice(0, mostCanaries), async (key) => {
    const [namespace = '', name = ''] = key.split('/');
    const found = await asked(client, { kind: 'Canary', namespace, name });
    if (typeof found === 'string') failures.push(found);
    else if (found) standings.set(key, standingOf(found as CanaryStatus));
  });
  const { namespace = '', name } = source.metadata;
  const applied = await asked(client, { kind: 'Source', namespace, name });
  return {
    standings,
    notes: [
      ...(typeof applied === 'string'
        ? [`the cluster did not tell of Source ${namespace}/${name}: ${applied}`]
        : []),
      ...(typeof applied === 'object' ? sourceNotes(applied as SourceStatus, baseCommit) : []),
      ...(failures.length > 0
        ? [`the cluster did not tell of ${canaryCount(failures.length)}: ${failures[0]}`]
        : []),
      ...(keys.length > mostCanaries
        ? [
            `the cluster was asked about ${mostCanaries} of ${keys.length} Canaries: of the others nothing is known`,
          ]
        : []),
    ],
  };
}

function canaryCount(count: number): string {
  return count === 1 ? '1 Canary' : `${count} Canaries`;
}

/** The status; a text is why it cannot be had; undefined where there is no such object. */
async function asked(
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
    ...(isBase ? [] : [`the cluster has ${appliedCommit.slice(0, 7)} applied, which is not base`]),
    ...(ready && ready.status !== 'True'
      ? [`in the cluster the Source is not ready: ${ready.message ?? ready.reason}`]
      : []),
  ];
}
