import { sourceTimeoutMs } from '../../api/effective.ts';
import type { CommitInfo } from '../../api/observed.ts';
import type { Source } from '../../api/source.ts';
import { canaryKey as keyOfPlan } from '../../release/candidates.ts';
import type { Release } from '../../release/release.ts';
import { formatProblem } from '../../render/types.ts';
import type { Reproduced } from '../canary/after-revert.ts';
import { otherChanges } from './other-changes.ts';
import { releaseAt } from './source-heads.ts';
import type { Snapshot, SourceParts, SourceState } from './source-parts.ts';
import { readSnapshot } from './source-read.ts';

/** Reads and renders a Canary's release at an older commit, as if it were head. Touches neither the cluster nor the plan. */
export async function reproduce(
  parts: SourceParts,
  source: Source,
  state: SourceState,
  { canaryKey, commit }: { canaryKey: string; commit: string },
): Promise<Reproduced> {
  const signal = AbortSignal.timeout(sourceTimeoutMs(source));
  try {
    const at = { commit: infoOf(commit), signal };
    const snapshot = await readSnapshot(parts, source, { ...state, previous: new Map() }, at);
    const built = releaseIn(parts, snapshot, canaryKey);
    if (!built.ok) return built;
    const release = built.ok;
    const others = state.snapshot && otherChanges(snapshot.rest, state.snapshot.rest, release);
    return { digest: release.digest, release, others };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

/** A release, or why the commit holds none. */
export type BuiltRelease =
  | { readonly ok: Release; readonly problem?: never }
  | { readonly ok?: never; readonly problem: string };

/** A Canary's release at any commit. Throws Git's errors. */
export async function releaseAtCommit(
  parts: SourceParts,
  source: Source,
  state: SourceState,
  { canaryKey, commit, signal }: { canaryKey: string; commit: CommitInfo; signal: AbortSignal },
): Promise<BuiltRelease> {
  const snapshot = await readSnapshot(parts, source, { ...state, previous: new Map() }, { commit, signal });
  return releaseIn(parts, snapshot, canaryKey);
}

/** A Canary's release in a snapshot. */
export function releaseIn(parts: SourceParts, snapshot: Snapshot, canaryKey: string): BuiltRelease {
  const plan = snapshot.plans.find(({ canary }) => keyOfPlan(canary) === canaryKey);
  if (plan?.state !== 'release') return { problem: plan?.message ?? 'it does not hold the Canary' };
  const built = releaseAt(parts, plan, snapshot);
  if (built?.ok) return { ok: built.ok };
  return { problem: built ? formatProblem(built.problem) : 'the Canary is in neither Git nor the cluster' };
}

/** A commit of which only the id matters. */
export function infoOf(commit: string): CommitInfo {
  return { commit, subject: '', author: '', time: '' };
}
