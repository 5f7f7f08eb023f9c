import { sourceTimeoutMs } from '../api/effective.ts';
import type { Source } from '../api/source.ts';
import { canaryKey as keyOfPlan } from '../release/candidates.ts';
import { formatProblem } from '../render/types.ts';
import type { Reproduced } from './after-revert.ts';
import { releaseAt } from './source-heads.ts';
import type { SourceParts, SourceState } from './source-parts.ts';
import { readSnapshot } from './source-read.ts';

/** Reads and renders a Canary's release at an older commit, as if it were head. Touches neither the cluster nor the plan. */
export async function reproduce(
  parts: SourceParts,
  source: Source,
  state: SourceState,
  { canaryKey, commit }: { canaryKey: string; commit: string },
): Promise<Reproduced> {
  const signal = AbortSignal.timeout(sourceTimeoutMs(source));
  const info = { commit, subject: '', author: '', time: '' };
  try {
    const snapshot = await readSnapshot(
      parts,
      source,
      { ...state, previous: new Map() },
      { commit: info, signal },
    );
    const plan = snapshot.plans.find(({ canary }) => keyOfPlan(canary) === canaryKey);
    if (plan?.state !== 'release') return { problem: plan?.message ?? 'it does not hold the Canary' };
    const built = releaseAt(parts, plan, snapshot);
    if (built?.ok) return { digest: built.ok.digest, release: built.ok };
    return { problem: built ? formatProblem(built.problem) : 'the Canary is in neither Git nor the cluster' };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}
