import type { CanaryStatus } from '../../api/canary-status.ts';
import type { Source } from '../../api/source.ts';
import { keyOf } from '../canary/checks.ts';
import type { SourceParts, SourceState } from './source-parts.ts';

/**
 * Full ids of the commits that a Source's store must go on holding besides head: what is applied, and what its Canaries promoted last or
 * roll out now. Before the first read nobody knows whose a Canary is; then those of no Source count.
 */
export function commitsInUse(parts: SourceParts, source: Source, state: SourceState): string[] {
  const canaries = parts.canaries().filter((canary) => {
    const owner = parts.heads.sourceOf(keyOf(canary));
    return owner === undefined || owner === state.key;
  });
  const promoted = canaries.flatMap(({ status }) => {
    const { lastKnownGood, lastPromotedCommit, lastAppliedCommit } = (status ?? {}) as CanaryStatus;
    return [lastKnownGood?.commit, lastPromotedCommit, lastAppliedCommit];
  });
  const applied = [state.snapshot?.commit.commit, source.status?.appliedCommit];
  return [...new Set([...applied, ...promoted].filter(isCommitId))];
}

function isCommitId(commit: string | undefined): commit is string {
  return commit !== undefined && /^[0-9a-f]{40}$/.test(commit);
}
