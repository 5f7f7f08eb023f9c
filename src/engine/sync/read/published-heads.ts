/**
 * What each Canary gets as its head: what the commit says, and for Canaries without a proven release what the ledger says, the refs in Git that
 * name the commit that each Canary of a cluster promoted last.
 */
import type { CanaryStatus } from '../../../api/canary/status.ts';
import { namespacedName } from '../../../api/kubernetes.ts';
import { viewOf } from '../../../release/build.ts';
import { canaryOfLedger, ledgerPrefix } from '../../../writeback/names.ts';
import type { Head } from '../../canary/context/heads.ts';
import { isReverted } from '../../canary/context/reproduction.ts';
import type { SyncContext } from '../context/context.ts';
import type { ApplyFailure, Snapshot } from '../context/state.ts';
import { releaseAtCommit } from './older-commit.ts';
import { type SnapshotHeads, settledHeads } from './source-heads.ts';

/** Gives each Canary its head once everything else was applied, and wakes those that may have to do something. Throws Git's errors. */
export async function publishHeads(
  context: SyncContext,
  snapshot: Snapshot,
  built: SnapshotHeads['heads'],
  failures: readonly ApplyFailure[],
): Promise<void> {
  const { parts, state } = context;
  const settled = settledHeads(state, snapshot, built, failures);
  const heads = await withLedger(context, settled, snapshot.commit.commit);
  const changed = parts.heads.publish(state.key, heads);
  // A Canary that was reverted reports what else of the bad commit stays, which any commit may change.
  const reverted = parts
    .canaries()
    .filter(({ status }) => isReverted((status ?? {}) as CanaryStatus))
    .map(namespacedName)
    .filter((key) => heads.has(key));
  for (const key of new Set([...changed, ...reverted])) parts.wakeCanary(key);
}

/** Git said that this will not come back by itself; anything else may be better at the next poll. */
const lastingCodes = new Set([
  'NotFound',
  'RefNotFound',
  'PathNotFound',
  'TooLarge',
  'Refused',
  'NotVerified',
]);

/** Lists the ledger, where the Source keeps one: one request, only when Git has news. Throws Git's errors. */
export async function readLedger({ parts, source, state, signal }: SyncContext): Promise<void> {
  if (!source.spec.write?.ledger) return;
  const refs = await state.repository.listRefs(ledgerPrefix(parts.clusterName), signal);
  const entries = [...refs].map(([ref, commit]) => [canaryOfLedger(parts.clusterName, ref), commit] as const);
  state.ledger = { commits: new Map(entries.flatMap(([key, commit]) => (key ? [[key, commit]] : []))) };
}

/**
 * The heads with what the ledger says about Canaries that have no proven release in this cluster: they start from the ledger's commit, and
 * head comes after it as a canary (design section 5, flagger issues 1577 and 1207).
 */
async function withLedger(
  context: SyncContext,
  heads: ReadonlyMap<string, Head>,
  appliedCommit: string,
): Promise<ReadonlyMap<string, Head>> {
  const { parts, state } = context;
  const result = new Map(heads);
  for (const [canaryKey, commit] of state.ledger?.commits ?? []) {
    const head = heads.get(canaryKey);
    if (!head?.release || commit === appliedCommit) continue;
    const [namespace = '', name = ''] = canaryKey.split('/');
    if (((parts.canary({ namespace, name })?.status ?? {}) as CanaryStatus).lastKnownGood) continue;
    const next = await headWithLedger(context, head, canaryKey, commit);
    if (next.view.kind === 'unknown') state.dirty = true;
    result.set(canaryKey, next);
  }
  return result;
}

async function headWithLedger(
  context: SyncContext,
  head: Head,
  canaryKey: string,
  commit: string,
): Promise<Head> {
  const { view } = head;
  if (view.kind !== 'release') return head;
  const unusable = (why: string): Head => ({
    ...head,
    view: { ...view, ledgerProblem: `${commit.slice(0, 7)}: ${why}` },
  });
  try {
    const { ok, problem } = await releaseAtCommit(context, canaryKey, commit);
    if (problem !== undefined) return unusable(problem);
    if (ok.digest === view.release.digest) return head;
    return { ...head, view: { ...view, ledger: viewOf(ok) }, ledger: ok };
  } catch (error) {
    const { code, message } = error as { code?: string; message?: string };
    if (code !== undefined && lastingCodes.has(code)) return unusable(message ?? code);
    const why = `the ledger's commit ${commit.slice(0, 7)} cannot be read now: ${message ?? String(error)}`;
    return { view: { kind: 'unknown', reason: 'LedgerUnavailable', message: why } };
  }
}
