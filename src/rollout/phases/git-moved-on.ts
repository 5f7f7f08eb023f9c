import type { Draft } from '../draft.ts';
import { isRejected, lastKnownGood, type Run } from '../run.ts';
import type { ReleaseView } from '../world.ts';
import { describe } from './admit.ts';
import { end } from './ending.ts';

/**
 * Before the first write to the primary, or after it was taken back: head went back to the last-known-good, or on to a release that was rejected, so this one ends
 * (design section 5). False when head is a release that is to be rolled out instead.
 */
export function endedByGit(draft: Draft, run: Run, head: ReleaseView): boolean {
  if (head.digest === lastKnownGood(draft.world)?.digest) {
    draft.status.lastAppliedCommit = head.commit.commit;
    draft.status.lastPromotedCommit = head.commit.commit;
    const message = `${describe(head)} is the last-known-good: the rollout is taken back`;
    end(draft, run, { phase: 'Succeeded', reason: 'RevertedInGit', message });
    return true;
  }
  if (!isRejected(draft.world, head.digest)) return false;
  const message = `Git went on to ${describe(head)}, which was rejected before`;
  end(draft, run, { phase: 'Failed', reason: 'Rejected', message });
  return true;
}
