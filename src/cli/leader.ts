import { versionAnnotation } from '../api/annotations.ts';
import { describe } from '../api/kubernetes.ts';
import type { ClusterClient } from '../cluster/client/client.ts';
import { leaseKind, leaseRecordOf } from '../cluster/election/lease-record.ts';
import { formatAge } from '../terminal/output.ts';

/** The controller that leads, as its Lease names it; or why it is not known. `absent`: there is no Lease; `stopped`: nobody renews it. */
type Leader =
  | { readonly state: 'known'; readonly version: string; readonly holder: string }
  | { readonly state: 'unversioned' | 'stopped' | 'absent'; readonly reason: string };

/** How long a leader may be silent before it is said; clocks differ. */
const silentMs = 60_000;

/**
 * Reads the Lease, into which the leader writes its version: an image says what should run, and may be named by a digest. `serverNowMs`: the clock of
 * the API server, asked after its answer. Throws ApiError.
 */
export async function readLeader(
  client: Pick<ClusterClient, 'get'>,
  namespace: string,
  serverNowMs: () => number,
): Promise<Leader> {
  const reference = { ...leaseKind, namespace, name: 'holdfast' };
  const lease = await client.get(reference);
  const nowMs = serverNowMs();
  if (!lease) return { state: 'absent', reason: `there is no ${describe(reference)}` };
  const { holder, renewTime, durationSeconds } = leaseRecordOf(lease);
  if (!holder)
    return { state: 'stopped', reason: `nobody holds the ${describe(reference)}: no controller runs` };
  if (Date.parse(renewTime) + durationSeconds * 1000 + silentMs < nowMs) {
    const reason = `no controller runs: ${holder} last renewed the ${describe(reference)} ${formatAge(renewTime, nowMs)}`;
    return { state: 'stopped', reason };
  }
  const version = lease.metadata.annotations?.[versionAnnotation];
  return version === undefined
    ? { state: 'unversioned', reason: `${holder} does not say its version: it is older than 0.1.0` }
    : { state: 'known', version, holder };
}
