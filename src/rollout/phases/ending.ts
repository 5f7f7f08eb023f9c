import type { RolloutReason } from '../../api/reasons.ts';
import { act, type Draft, note, now, say } from '../draft.ts';
import { whyNotReady } from '../readiness.ts';
import { type Ending, isRejected, lastKnownGood, type Run } from '../run.ts';
import { restoreScalers } from '../scalers.ts';
import { isUnsettled } from '../standing.ts';
import { restCanary, returnToPrimary } from '../traffic.ts';
import { owedPostRollout } from './post-rollout.ts';
import { recreateMissing } from './recreate.ts';

/** Decides how a release ends; intent is written before the traffic moves. A rejection is written first of all (S14). */
export function end(draft: Draft, run: Run, how: Ending, reject?: RolloutReason): void {
  const ending = reject ? { ...how, reject } : how;
  run.ending = ending;
  draft.intentFirst = true;
  say(draft, ending.phase === 'Failed' ? 'Warning' : 'Normal', ending.reason, ending.message);
  windDown(draft, run, ending);
}

/** A gate stayed closed beyond its deadline: the release ends, before anything of it was written to the primary. */
export function failAtGate(draft: Draft, run: Run, { type, why }: { type: string; why: string }): void {
  const message = `${type} did not open before its deadline: ${why}`;
  end(draft, run, { phase: 'Failed', reason: 'GateDeadlineExceeded', message }, 'GateDeadlineExceeded');
}

/**
 * Winds a release down in the only safe order: traffic to the primary, read back, then the canary to zero, then the terminal phase
 * (S7, S8). Repeats from wherever a crash left it.
 */
export function windDown(draft: Draft, run: Run, ending: Ending): void {
  const { target, primary } = draft.world;
  if (ending.reject) ensureRejected(draft, run, ending.reject);
  note(draft, ending.reason, ending.message, { action: 'traffic to the primary, then the canary to zero' });
  if (recreateMissing(draft)) return;
  if (!returnToPrimary(draft)) {
    if (!draft.actions.some((action) => action.type === 'SetTraffic')) {
      note(
        draft,
        'WaitingForPrimary',
        `traffic stays with the canary until the primary is ready: ${whyNotReady(primary)}`,
      );
    }
    return;
  }
  if (target && target.desiredReplicas > 0) {
    if (isUnsettled(draft, run, 'route')) return;
    return restCanary(draft);
  }
  if (!restoreScalers(draft, run)) return;
  // The rejection is read back before the run that holds the reason for it is forgotten (S14).
  if (ending.reject && !isRejected(draft.world, run.digest)) return;
  finishRun(draft, run, ending);
}

/** Written before anything else of the way out, and again after a crash (S14). */
export function ensureRejected(draft: Draft, run: Run, reason: RolloutReason): void {
  if (isRejected(draft.world, run.digest)) return;
  act(draft, { type: 'Reject', digest: run.digest, commit: run.commit, reason });
}

function finishRun(draft: Draft, run: Run, ending: Ending): void {
  const { status } = draft;
  const entry = {
    digest: run.digest,
    commit: run.commit,
    subject: run.subject.slice(0, 160),
    result: ending.phase,
    reason: ending.reason,
    startTime: run.startTime,
    endTime: now(draft),
    ...owedPostRollout(draft),
  };
  const failed = ending.phase === 'Failed';
  draft.status = {
    ...status,
    phase: ending.phase,
    iterations: 0,
    failedChecks: failed ? (status.failedChecks ?? 0) : 0,
    history: [entry, ...(status.history ?? [])].slice(0, 10),
  };
  delete draft.status.postPromotion;
  draft.run = undefined;
  const good = lastKnownGood(draft.world);
  if (!failed && good) draft.status.lastAppliedSpec = good.digest;
  note(draft, ending.reason, ending.message);
  if (!failed) say(draft, 'Normal', 'Succeeded', ending.message);
}
