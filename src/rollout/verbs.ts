import { act, type Draft, say } from './draft.ts';
import { headRelease, isRejected } from './run.ts';
import type { ReleaseView } from './world.ts';

/** Requests are annotations with a token: handled once, copied to status.handled (design section 2.3). */
const RETRY = 'holdfast.dev/retry';
const PAUSE = 'holdfast.dev/pause';

/** No step and no promotion while the annotation says so; a revert under way finishes. */
export function isPaused(draft: Draft): boolean {
  return draft.world.canary.metadata.annotations?.[PAUSE] === 'true';
}

/** Handles requests that have not been handled yet. True when the cluster must be observed again first. */
export function handleVerbs(draft: Draft): boolean {
  const token = draft.world.canary.metadata.annotations?.[RETRY];
  if (!token || draft.status.handled?.retry === token) return false;
  draft.status.handled = { ...draft.status.handled, retry: token };
  const head = headRelease(draft.world);
  if (!head || !names(token, head)) {
    say(
      draft,
      'Warning',
      'Stale',
      `${RETRY}: ${token} names another revision than head; nothing was retried`,
    );
    return false;
  }
  if (!isRejected(draft.world, head.digest)) return false;
  act(draft, { type: 'Unreject', digest: head.digest });
  say(draft, 'Normal', 'Retry', `${head.commit.commit.slice(0, 7)} is tried again on request`);
  return true;
}

/** `<commit or digest>[@anything]`; a commit may be shortened to seven characters or more. */
function names(token: string, head: ReleaseView): boolean {
  const wanted = token.split('@')[0] ?? '';
  return wanted === head.digest || (wanted.length >= 7 && head.commit.commit.startsWith(wanted));
}
