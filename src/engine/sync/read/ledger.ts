import type { CanaryStatus } from '../../../api/canary/status.ts';
import type { Source } from '../../../api/source/source.ts';
import { viewOf } from '../../../release/build.ts';
import { canaryOfLedger, ledgerPrefix } from '../../../writeback/names.ts';
import type { Head } from '../../canary/context/head.ts';
import type { Snapshot, SourceParts, SourceState } from '../context/context.ts';
import { infoOf, releaseAtCommit } from './reproduce.ts';

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
export async function readLedger(
  parts: SourceParts,
  source: Source,
  state: SourceState,
  signal: AbortSignal,
): Promise<void> {
  if (!source.spec.write?.ledger) return;
  const refs = await state.repository.listRefs(ledgerPrefix(parts.clusterName), signal);
  const entries = [...refs].map(([ref, commit]) => [canaryOfLedger(parts.clusterName, ref), commit] as const);
  state.ledger = { commits: new Map(entries.flatMap(([key, commit]) => (key ? [[key, commit]] : []))) };
}

/**
 * The heads with what the ledger says about Canaries that have no proven release in this cluster: they start from the ledger's commit, and
 * head comes after it as a canary (design section 5, flagger issues 1577 and 1207).
 */
export async function withLedger(
  parts: SourceParts,
  source: Source,
  state: SourceState,
  { heads, snapshot, signal }: { heads: ReadonlyMap<string, Head>; snapshot: Snapshot; signal: AbortSignal },
): Promise<ReadonlyMap<string, Head>> {
  const result = new Map(heads);
  for (const [canaryKey, commit] of state.ledger?.commits ?? []) {
    const head = heads.get(canaryKey);
    if (!head?.release || commit === snapshot.commit.commit) continue;
    const [namespace = '', name = ''] = canaryKey.split('/');
    if (((parts.canary({ namespace, name })?.status ?? {}) as CanaryStatus).lastKnownGood) continue;
    const next = await headWithLedger(parts, source, state, { canaryKey, commit, head, signal });
    if (next.view.kind === 'unknown') state.dirty = true;
    result.set(canaryKey, next);
  }
  return result;
}

async function headWithLedger(
  parts: SourceParts,
  source: Source,
  state: SourceState,
  { canaryKey, commit, head, signal }: { canaryKey: string; commit: string; head: Head; signal: AbortSignal },
): Promise<Head> {
  if (head.view.kind !== 'release') return head;
  try {
    const wanted = { canaryKey, commit: infoOf(commit), signal };
    const { ok, problem } = await releaseAtCommit(parts, source, state, wanted);
    if (problem !== undefined) return unusable(head, commit, problem);
    if (ok.digest === head.view.release.digest) return head;
    return { ...head, view: { ...head.view, ledger: viewOf(ok) }, ledger: ok };
  } catch (error) {
    const { code, message } = error as { code?: string; message?: string };
    if (code !== undefined && lastingCodes.has(code)) return unusable(head, commit, message ?? code);
    const why = `the ledger's commit ${commit.slice(0, 7)} cannot be read now: ${message ?? String(error)}`;
    return { view: { kind: 'unknown', reason: 'LedgerUnavailable', message: why } };
  }
}

function unusable(head: Head, commit: string, why: string): Head {
  if (head.view.kind !== 'release') return head;
  return { ...head, view: { ...head.view, ledgerProblem: `${commit.slice(0, 7)}: ${why}` } };
}
