import { check, primaryCheck } from '../checks.ts';
import { type Draft, enter, note, now, say, wakeIn } from '../draft.ts';
import { lostReadiness, servingPods, whyNotReady } from '../readiness.ts';
import type { Run } from '../run.ts';
import { sharedCause } from '../shared-cause.ts';
import { finding, verdictOf } from '../verdict.ts';
import { nameOf } from './admit.ts';
import { failVerification, revert } from './failure.ts';

/**
 * Held since other Canaries fail their checks, too (reason SharedCause): asked again each interval. A pass brings verification back; when
 * the others are well again and this one still fails, it was its own release, which is reverted (design section 5, auto).
 */
export function heldTogether(draft: Draft, run: Run): void {
  const { primary } = draft.world;
  const { postPromotion } = draft.plan;
  const cause = draft.status.postPromotion?.cause ?? 'other Canaries fail their checks, too';
  note(draft, 'SharedCause', `${nameOf(run)} is held: ${cause}`, { action: 'asked again each interval' });
  if ((primary && lostReadiness(primary)) || servingPods(primary) === 0) {
    const why = whyNotReady(primary);
    return failVerification(draft, run, { reason: 'PrimaryUnhealthy', finding: why, control: false });
  }
  const results = check(draft, run, primaryCheck(draft, run));
  if (!results) return;
  wakeIn(draft, postPromotion.intervalMs);
  const verdict = verdictOf(results);
  if (verdict === 'pass') return resume(draft, run);
  if (verdict === 'fail' && !run.keepWaiting && !sharedCause(draft.world)) {
    const findings = results.filter((result) => result.verdict === 'fail').map(finding);
    revert(draft, run, { reason: 'ChecksFailed', finding: findings.join(', '), control: true });
  }
}

function resume(draft: Draft, run: Run): void {
  draft.status.phase = 'Finalising';
  run.stepTime = now(draft);
  const post = enter(draft, 'Verifying', 'Verifying');
  post.failedChecks = 0;
  post.passedChecks = 0;
  delete post.cause;
  draft.status.failedChecks = 0;
  say(draft, 'Normal', 'Resumed', `the checks pass again; verification of ${nameOf(run)} goes on`);
}
