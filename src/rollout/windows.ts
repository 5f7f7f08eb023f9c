/** Windows of a Source gate the start of rollouts and nothing else: what began is finished, and ways back are never held up (design section 2.2). */

import { stamp } from '../api/units.ts';
import { type Context, rejectionOf } from './context.ts';
import { soundRecord } from './kept.ts';
import { type Effects, note } from './outcome.ts';
import type { Run } from './run.ts';
import { names } from './verbs/request.ts';
import type { ReleaseView } from './world.ts';

/** What a request can name: a run, or a release at head. */
interface Named {
  readonly digest: string;
  readonly commit: string;
}

/** Milliseconds for which a window still keeps this release from starting; 0 when none does. */
export function keptOutMs(context: Context, release: Named, run: Run | undefined): number {
  const { window, nowMs } = context.world;
  const leftMs = (window?.nextOpeningMs ?? nowMs) - nowMs;
  if (!window || window.open || leftMs <= 0 || isExempt(context, release, run)) return 0;
  return leftMs;
}

/** Head as far as the release under way is concerned: what may not start yet changes nothing for one that did. */
function startableHead(context: Context, run: Run): ReleaseView | undefined {
  const { head } = context;
  if (!head || head.digest === run.digest || run.awaitsWindow || run.awaitsConfirmation) return head;
  return keptOutMs(context, { digest: head.digest, commit: head.commit.commit }, run) > 0 ? undefined : head;
}

/** The same for what goes back on request, which head does not end. */
export function headFor(context: Context, run: Run): ReleaseView | undefined {
  return run.rollback ? undefined : startableHead(context, run);
}

/** Says since when it waits and until when, in words that stay the same as long as it does. */
export function noteWindow({ world }: Context, what: string): Effects {
  const timeMs = world.window?.nextOpeningMs ?? world.nowMs;
  const message = `${what} waits for its window, which opens at ${stamp(timeMs)}`;
  return note('WaitingForWindow', message, { action: 'the rollout starts', timeMs });
}

/** Proven or rejected releases start nothing, or go back; and a person may let one revision through. */
function isExempt(context: Context, release: Named, run: Run | undefined): boolean {
  const { world, good } = context;
  const { digest } = release;
  const isProven = soundRecord(world, digest)?.promotedTime !== undefined;
  return (
    isProven ||
    digest === good?.digest ||
    rejectionOf(context, digest) !== undefined ||
    isLetThrough(world.status, release, run)
  );
}

/** Read from what became of the request, so that it lasts as long as the revision; the same release may have had another commit first. */
function isLetThrough(status: Context['world']['status'], release: Named, run: Run | undefined): boolean {
  const value = status.handled?.['ignore-window'];
  if (value === undefined || status.answers?.['ignore-window']?.result !== 'Done') return false;
  const request = { verb: 'ignore-window', value, revision: value.split('@')[0] ?? '' };
  return names(request, release) || (run?.digest === release.digest && names(request, run));
}
