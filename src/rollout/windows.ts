/** Windows of a Source gate the start of rollouts and nothing else: what began is finished, and ways back are never held up (design section 2.2). */
import { type Draft, note, wakeIn } from './draft.ts';
import { soundRecord } from './kept.ts';
import { headRelease, isRejected, lastKnownGood, type Run } from './run.ts';
import { stamp } from './units.ts';
import { names } from './verbs.ts';
import type { ReleaseView } from './world.ts';

/** What a request can name: a run, or a release at head. */
interface Named {
  readonly digest: string;
  readonly commit: string;
}

/** A window keeps this release from starting. Schedules the look at its opening. */
export function isKeptOut(draft: Draft, release: Named): boolean {
  const { window, nowMs } = draft.world;
  const leftMs = (window?.nextOpeningMs ?? nowMs) - nowMs;
  if (!window || window.open || leftMs <= 0 || isExempt(draft, release)) return false;
  wakeIn(draft, leftMs);
  return true;
}

/** Head as far as the release under way is concerned: what may not start yet changes nothing for one that did. */
export function startableHead(draft: Draft, run: Run): ReleaseView | undefined {
  const head = headRelease(draft.world);
  if (!head || head.digest === run.digest || run.awaitsWindow || run.awaitsConfirmation) return head;
  return isKeptOut(draft, { digest: head.digest, commit: head.commit.commit }) ? undefined : head;
}

/** The same for what goes back on request, which head does not end. */
export function headFor(draft: Draft, run: Run): ReleaseView | undefined {
  return run.rollback ? undefined : startableHead(draft, run);
}

/** Says since when it waits and until when, in words that stay the same as long as it does. */
export function noteWindow(draft: Draft, what: string): void {
  const timeMs = draft.world.window?.nextOpeningMs ?? draft.world.nowMs;
  const message = `${what} waits for its window, which opens at ${stamp(timeMs)}`;
  note(draft, 'WaitingForWindow', message, { action: 'the rollout starts', timeMs });
}

/** Proven or rejected releases start nothing, or go back; and a person may let one revision through. */
function isExempt(draft: Draft, release: Named): boolean {
  const { world } = draft;
  const { digest } = release;
  const isProven = soundRecord(world, digest)?.promotedTime !== undefined;
  if (isProven || digest === lastKnownGood(world)?.digest || isRejected(world, digest)) return true;
  return isLetThrough(draft, release);
}

/** Read from what became of the request, so that it lasts as long as the revision; the same release may have had another commit first. */
function isLetThrough({ status, run }: Draft, release: Named): boolean {
  const value = status.handled?.['ignore-window'];
  if (value === undefined || status.answers?.['ignore-window']?.result !== 'Done') return false;
  const request = { verb: 'ignore-window', value, revision: value.split('@')[0] ?? '' };
  return names(request, release) || (run?.digest === release.digest && names(request, run));
}
