import { knownReason } from '../../api/reasons.ts';
import { type Draft, enter, note, say, wakeIn } from '../draft.ts';
import { isLost } from '../kept.ts';
import { hasConverged, servingPods } from '../readiness.ts';
import { isRejected, lastKnownGood, type Run } from '../run.ts';
import { isAllOnCanary, moveToCanary, returnToPrimary } from '../traffic.ts';
import { startableHead } from '../windows.ts';
import type { ReleaseView } from '../world.ts';
import { admit, describe } from './admit.ts';
import { endedByGit } from './git-moved-on.ts';
import { promote } from './promoting.ts';
import { bringBackCanary, recreateMissing } from './recreate.ts';
import { reverting } from './reverting.ts';

/**
 * Phase Failed, state Held: the last-known-good itself does not come up, or fails the same check. Nothing is written again by itself
 * (S15); whoever is ready serves; it heals when the primary comes up or Git goes back to the last-known-good, and a newer revision gets
 * through (S5 g).
 */
export function fallen(draft: Draft, run: Run): void {
  const { world, plan } = draft;
  const reason = knownReason(draft.status.postPromotion?.reason, 'LKGNotReady');
  note(draft, reason, draft.status.postPromotion?.cause ?? 'the last-known-good does not come up', {
    action: 'nothing automatic',
  });
  const good = lastKnownGood(world);
  const head = startableHead(draft, run);
  const isNewer =
    head && head.digest !== run.digest && head.digest !== good?.digest && !isRejected(world, head.digest);
  // Git asks for what the primary runs: nothing is left to decide, whatever the check says.
  if (head && head.digest === good?.digest && reason === 'LKGFailsToo')
    return void endedByGit(draft, run, head);
  if (isNewer && reason === 'LKGNotReady') return void throughThePrimary(draft, head);
  if (isNewer) {
    const next = admit(draft, head);
    return void wakeIn(draft, next.checkNumber + 1);
  }
  if (recreateMissing(draft)) return;
  // Deleted by somebody: what it ran was rejected, so that the last-known-good is all that may take its place (S14).
  if (good && !isLost(good) && reason === 'LKGNotReady') bringBackCanary(draft, good.digest);
  if (reason === 'LKGFailsToo') return void returnToPrimary(draft);
  const isBack = good !== undefined && world.primary?.digest === good.digest;
  if (reason === 'LKGNotReady' && isBack && hasConverged(world.primary, plan.primaryReadyPercent)) {
    enter(draft, 'Reverting', run.revert?.reason ?? reason);
    return reverting(draft, run);
  }
}

/**
 * The canary keeps serving the old release; the newest revision goes straight to the primary, whose traffic is 0 (design section 5).
 * Undefined while the traffic is still on its way to the canary.
 */
export function throughThePrimary(
  draft: Draft,
  release: ReleaseView,
  rollback?: Run['rollback'],
): Run | undefined {
  const { world } = draft;
  if (!world.foreignTarget && servingPods(world.target) > 0 && !isAllOnCanary(draft)) {
    moveToCanary(draft);
    return undefined;
  }
  const run = admit(draft, release, rollback);
  if (run.awaitsConfirmation) {
    run.throughPrimary = true;
    wakeIn(draft, 1);
    return run;
  }
  say(
    draft,
    'Warning',
    'ThroughThePrimary',
    `${describe(release)} is written to the primary, whose last-known-good does not come up`,
  );
  promote(draft, run);
  return run;
}
