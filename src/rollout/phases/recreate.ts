import { applyPrimary, type Draft, note, say } from '../draft.ts';
import type { RecordView } from '../world.ts';
import { describe } from './admit.ts';

/** The primary is gone: the last-known-good comes back from its record, whatever head says (design section 4, bootstrap). */
export function recreatePrimary(draft: Draft, good: RecordView): void {
  say(draft, 'Warning', 'PrimaryMissing', `the primary is gone; it is created again from ${describe(good)}`);
  note(draft, 'PrimaryMissing', 'the primary is gone; it is created again from the last-known-good');
  applyPrimary(draft, good.digest);
}
