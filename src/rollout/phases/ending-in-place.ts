import { act, type Draft, note, wakeIn } from '../draft.ts';
import { returnToPrimary } from '../traffic.ts';

/**
 * The Canary of a workload that is rolled out in place is deleted: the workload stays, and first goes back to what it ran before a release that is being
 * tried, with its own settings. It goes on with that by itself; after the deadline nobody waits for its pods any more (L10).
 */
export function endInPlace(draft: Draft, leftMs: number): void {
  if (leftMs > 0 && !returnToPrimary(draft)) {
    draft.status.phase = 'Terminating';
    note(draft, 'Terminating', 'the workload goes back to the release before the Canary goes');
    return wakeIn(draft, leftMs);
  }
  draft.status.phase = 'Terminated';
  note(draft, 'HandedBack', 'the workload is as Git says, without the Canary');
  draft.intentFirst = true;
  act(draft, { type: 'RemoveFinalizer' });
}
