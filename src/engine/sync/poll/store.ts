import type { CanaryStatus } from '../../../api/canary/status.ts';
import { namespacedName } from '../../../api/kubernetes.ts';
import type { Log } from '../../../contracts/cluster.ts';
import type { Repositories } from '../../../contracts/git.ts';
import type { SourceContext } from '../context/context.ts';

/** Frees the disk of what no Source uses: what an earlier run left, and what a Source leaves. */
interface StoreSweep {
  /** All Sources are known, so that it is known what is in use. */
  listed(): void;
  /** A Source ended, or uses another repository now. */
  ended(): void;
}

/** What is left on the disk after a failure is tried again when the next Source ends. */
export function createStoreSweep(options: {
  readonly repositories: Pick<Repositories, 'sweep'>;
  readonly log: Log;
}): StoreSweep {
  let hasListed = false;
  const sweep = () => {
    options.repositories.sweep().catch((err: unknown) => {
      options.log.warn({ err }, 'could not remove Git stores that no Source uses');
    });
  };
  return {
    listed() {
      if (hasListed) return;
      hasListed = true;
      sweep();
    },
    ended() {
      if (hasListed) sweep();
    },
  };
}

/**
 * Full ids of the commits that a Source's store must go on holding besides head: what is applied, and what its Canaries promoted last or
 * roll out now. Before the first read it is not known which Source holds a Canary; then those of no Source count.
 */
export function commitsInUse({ parts, source, state }: SourceContext): string[] {
  const canaries = parts.canaries().filter((canary) => {
    const owner = parts.heads.sourceOf(namespacedName(canary));
    return owner === undefined || owner === state.key;
  });
  const promoted = canaries.flatMap(({ status }) => {
    const { lastKnownGood, lastPromotedCommit, lastAppliedCommit } = (status ?? {}) as CanaryStatus;
    return [lastKnownGood?.commit, lastPromotedCommit, lastAppliedCommit];
  });
  const { attemptedCommit, appliedCommit } = source.status ?? {};
  const applied = [state.snapshot?.commit.commit, attemptedCommit, appliedCommit];
  const ids = [...applied, ...promoted].filter((commit) => commit !== undefined);
  return [...new Set(ids.filter((commit) => /^[0-9a-f]{40}$/.test(commit)))];
}
