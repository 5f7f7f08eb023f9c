import type { ReleaseHistoryEntry } from '../../api/canary-status.ts';
import { type Draft, say } from '../draft.ts';
import { hasHooks, request, verdictOfHooks, whyClosed } from '../hooks.ts';

/** What the history says of webhooks that are told of the end of a release; absent when there are none. */
export function owedPostRollout(draft: Draft): Pick<ReleaseHistoryEntry, 'postRollout'> {
  return hasHooks(draft, 'post-rollout') ? { postRollout: 'Pending' } : {};
}

/**
 * Tells webhooks of type post-rollout how the last release ended, once: the answer has no effect, and is kept in the history so that a
 * restart tells them only if it was not read back. False while the answer is to come; the next release waits for that.
 */
export function isPostRolloutDone(draft: Draft): boolean {
  const [last, ...older] = draft.status.history ?? [];
  if (last?.postRollout !== 'Pending') return true;
  const key = `${last.digest}/${last.endTime}/post-rollout`;
  const outcome = draft.world.checks?.key === key ? draft.world.checks : undefined;
  if (!outcome && hasHooks(draft, 'post-rollout')) {
    request(draft, last, { key, role: 'primary', purpose: 'analysis', hooks: ['post-rollout'] });
    return false;
  }
  const passed = !outcome || verdictOfHooks(draft, outcome, 'post-rollout') === 'approved';
  draft.status.history = [{ ...last, postRollout: passed ? 'Passed' : 'Failed' }, ...older];
  if (outcome && passed) say(draft, 'Normal', 'PostRolloutPassed', 'post-rollout webhooks approved');
  if (outcome && !passed)
    say(draft, 'Warning', 'PostRolloutFailed', `post-rollout: ${whyClosed(outcome, 'post-rollout')}`);
  return true;
}
