/** Windows of a Source delay only the start of rollouts: one that began is finished, and reverts are never delayed (design section 2.2). */
import { stamp } from '../api/time.ts';
import type { Context } from './context.ts';
import { type Effects, note } from './outcome.ts';
import { rejectionOf, soundRecord } from './records.ts';
import { namesRelease } from './requests.ts';
import type { Run } from './run.ts';
import type { ReleaseView } from './world.ts';

/** A run, or a release at head. */
interface ReleaseRef {
  readonly digest: string;
  readonly commit: string;
}

/** Milliseconds until the window lets this release start; 0: it may start. */
export function windowWaitMs(context: Context, release: ReleaseRef, run: Run | undefined): number {
  const { window, nowMs } = context.world;
  const leftMs = (window?.nextOpeningMs ?? nowMs) - nowMs;
  if (!window || window.open || leftMs <= 0 || isExempt(context, release, run)) return 0;
  return leftMs;
}

/** Head, if it may change the release under way: not while its window is closed and the release has started, nor during a rollback that a person asked for. */
export function headForRun(context: Context, run: Run): ReleaseView | undefined {
  const { head } = context;
  if (!head || run.rollback) return undefined;
  if (head.digest === run.digest || run.awaitsWindow || run.awaitsConfirmation) return head;
  return windowWaitMs(context, { digest: head.digest, commit: head.commit.commit }, run) > 0
    ? undefined
    : head;
}

/** Reports until when a release waits; the message stays the same while it waits. */
export function noteWindow({ world }: Context, what: string): Effects {
  const timeMs = world.window?.nextOpeningMs ?? world.nowMs;
  const message = `${what} waits for its window, which opens at ${stamp(timeMs)}`;
  return note('WaitingForWindow', message, { action: 'the rollout starts', timeMs });
}

/**
 * Windows do not apply to proven releases, which are a way back, nor to rejected ones, which are not started. A person may exempt one
 * revision: this is read from the answer to the request, so that it lasts as long as the revision. The same release may have had another
 * commit first.
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
