import { carriedBy } from '../capacity.ts';
import { act, applyPrimary, type Draft, note, say } from '../draft.ts';
import { isLost } from '../kept.ts';
import { lastKnownGood } from '../run.ts';
import type { RecordView } from '../world.ts';
import { describe } from './admit.ts';

/** The primary is gone: the last-known-good comes back from its record, whatever head says (design section 4, bootstrap). */
export function recreatePrimary(draft: Draft, good: RecordView): void {
  if (draft.status.move)
    note(draft, 'Moving', `the primary is made from ${describe(good)}; the target serves`);
  else {
    say(
      draft,
      'Warning',
      'PrimaryMissing',
      `the primary is gone; it is created again from ${describe(good)}`,
    );
    note(draft, 'PrimaryMissing', 'the primary is gone; it is created again from the last-known-good');
  }
  applyPrimary(draft, good.digest);
}

/** Creates a primary that is gone again, where the last-known-good can be had. True when it acted: nothing else goes on without it. */
export function recreateMissing(draft: Draft): boolean {
  const good = lastKnownGood(draft.world);
  if (draft.world.primary || !good || isLost(good)) return false;
  recreatePrimary(draft, good);
  return true;
}

/** Creates a canary that is gone again, with this release; a target of another tool is that one's to create. */
export function bringBackCanary(draft: Draft, digest: string): void {
  const { world } = draft;
  if (!world.target && !world.foreignTarget && !world.sharesWorkload)
    act(draft, { type: 'ApplyCanary', digest, replicas: carriedBy(world) });
}
