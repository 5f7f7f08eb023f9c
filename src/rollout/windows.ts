/** Windows of a Source gate the start of rollouts and nothing else: what began is finished, and ways back are never held up (design section 2.2). */
import { stamp } from '../api/time.ts';
import type { Context } from './context.ts';
import { type Effects, note } from './outcome.ts';
import { soundRecord } from './records.ts';
import { namesRelease } from './requests.ts';
import { type Run, rejectionOf } from './run.ts';
import type { ReleaseView } from './world.ts';

/** What a request can name: a run, or a release at head. */
interface ReleaseRef {
  readonly digest: string;
  readonly commit: string;
}

/** Milliseconds for which a window still keeps this release from starting; 0 when none does. */
export function windowWaitMs(context: Context, release: ReleaseRef, run: Run | undefined): number {
  const { window, nowMs } = context.world;
  const leftMs = (window?.nextOpeningMs ?? nowMs) - nowMs;
  if (!window || window.open || leftMs <= 0 || isExempt(context, release, run)) return 0;
  return leftMs;
}

/** Head as far as the release under way is concerned: what may not start yet changes nothing for one that did, and what goes back on request is not ended by it. */
export function headForRun(context: Context, run: Run): ReleaseView | undefined {
  const { head } = context;
  if (!head || run.rollback) return undefined;
  if (head.digest === run.digest || run.awaitsWindow || run.awaitsConfirmation) return head;
  return windowWaitMs(context, { digest: head.digest, commit: head.commit.commit }, run) > 0
    ? undefined
    : head;
}

/** Says since when it waits and until when, in words that stay the same as long as it does. */
export function noteWindow({ world }: Context, what: string): Effects {
  const timeMs = world.window?.nextOpeningMs ?? world.nowMs;
  const message = `${what} waits for its window, which opens at ${stamp(timeMs)}`;
  return note('WaitingForWindow', message, { action: 'the rollout starts', timeMs });
}

/**
 * Proven or rejected releases start nothing, or go back; and a person may let one revision through, which is read from what became of the request,
 * so that it lasts as long as the revision; the same release may have had another commit first.
 */
function isExempt(context: Context, release: ReleaseRef, run: Run | undefined): boolean {
  const { good } = context;
  const { handled, answers } = context.world.status;
  const { digest } = release;
  const isProven = soundRecord(context.world, digest)?.promotedTime !== undefined;
  if (isProven || digest === good?.digest || rejectionOf(context, digest)) return true;
  const value = handled?.['ignore-window'];
  if (value === undefined || answers?.['ignore-window']?.result !== 'Done') return false;
  const request = { verb: 'ignore-window', value, revision: value.split('@')[0] ?? '' };
  return namesRelease(request, release) || (run?.digest === digest && namesRelease(request, run));
}
