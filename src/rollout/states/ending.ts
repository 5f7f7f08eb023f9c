import type { ReleaseHistoryEntry } from '../../api/canary/status.ts';
import { beginningOf, limits } from '../../api/limits.ts';
import type { RolloutReason } from '../../api/reasons.ts';
import { verdictOfHooks, whyClosed } from '../../health/check-results.ts';
import { driftComparisons } from '../../health/drift.ts';
import { hasConverged, whyNotReady } from '../../health/readiness.ts';
import { servingPods } from '../../health/workload-view.ts';
import { hasHooks, request } from '../checks.ts';
import { type Context, elapsedMs, withProgress } from '../context.ts';
import { act, combine, type Effects, emit, note, type Preference, rejectionFor, wake } from '../outcome.ts';
import { enter, type Outcome, type StateOf, stay, without } from '../state.ts';
import {
  areScalersReset,
  hasArrived,
  isAllOn,
  isScaledToZero,
  primaryShortage,
  restoreScalers,
  routeNote,
  scalerWaitMs,
  stopCanary,
} from '../traffic/traffic.ts';
import { describeRelease, type Run, type World } from '../world.ts';
import { recreatedPrimary } from './restore.ts';

/** Traffic while a release ends: a failed canary loses at once what the primary can carry, and everything at the deadline (issue 11, 1). */
export function endingPrefers(context: Context, { ending, run }: StateOf<'Ending'>): Preference {
  const overdue = isOverdue(context, run);
  return { kind: 'all', side: 'primary', evacuate: ending.phase === 'Failed', overdue };
}

/** The primary did not become ready for the traffic in time. */
function isOverdue(context: Context, run: Run): boolean {
  return elapsedMs(context, run.lastProgressTime) >= context.plan.progressDeadlineMs;
}

/**
 * Ends a release in the only safe order: all traffic to the primary, read back, then the canary to zero, then the terminal phase (S7, S8).
 * A crash at any point continues from there.
 */
export function ending(context: Context, before: StateOf<'Ending'>): Outcome {
  const { world, plan } = context;
  const run = withProgress(context, before.run, world.primary);
  const state = { ...before, run };
  const { reason, message, reject, cause } = before.ending;
  const rejection = { rejects: reject ? rejectionFor(run, reject, cause) : [] };
  const statusNote = note(reason, message);
  const recreated = recreatedPrimary(context);
  if (recreated) return stay(state, rejection, statusNote, recreated);
  const isOnlyReady = servesAlone(world);
  if (isOnlyReady || !hasArrived(context, run, 'primary')) {
    const isLeft = (isOnlyReady || !isAllOn(context, 'primary')) && servingPods(world.primary) === 0;
    if (isLeft && isOverdue(context, run) && !world.sharesWorkload) return primaryNotReady(context, state);
    const leftMs = plan.progressDeadlineMs - elapsedMs(context, run.lastProgressTime);
    return stay(state, rejection, statusNote, waitingNote(context, run, leftMs), wake(leftMs));
  }
  if (world.target && world.target.desiredReplicas > 0)
    return stay(state, rejection, statusNote, act(...stopCanary(world)));
  if (areScalersReset(world) || isRestoreOverdue(context, run)) return ended(context, state);
  const waitMs = scalerWaitMs(context, run);
  const action = "minReplicas of the primary's scaler is restored";
  const scalerNote =
    waitMs > 0 ? note(reason, message, { action, timeMs: world.nowMs + waitMs }) : statusNote;
  return stay(state, rejection, restoreScalers(context, run), scalerNote);
}

/** No pod but the canary's is ready, if also of a release before it: as when somebody deleted the primary (S2). */
function servesAlone({ primary, sharesWorkload, target }: World): boolean {
  return !sharesWorkload && servingPods(primary) === 0 && servingPods(target) > 0;
}

/** minReplicas could not be restored in time: that is tried again at rest, and keeps no newer release waiting. */
function isRestoreOverdue(context: Context, run: Run): boolean {
  const { plan, world } = context;
  const deadlineMs = (world.scaler?.settleMs ?? 0) + plan.progressDeadlineMs;
  return elapsedMs(context, run.standing?.route?.since) >= deadlineMs;
}

/** Why the primary does not have all traffic yet. */
function waitingNote(context: Context, run: Run, leftMs: number): Effects {
  const { world, plan } = context;
  if (isAllOn(context, 'primary')) {
    const why = `the canary keeps its pods until the primary is ready: ${whyNotReady(world.primary)}`;
    return servesAlone(world) ? note('WaitingForPrimary', why) : routeNote(context, run);
  }
  const waits = 'traffic stays on the canary until the primary';
  if (!hasConverged(world.primary, plan.primaryReadyPercent))
    return note('WaitingForPrimary', `${waits} is ready: ${whyNotReady(world.primary)}`);
  const shortage = primaryShortage(context, leftMs);
  return shortage ? note('WaitingForPrimary', `${waits} can carry it: ${shortage.why}`, shortage.next) : {};
}

/** The last-known-good does not become ready to take the traffic back: the canary keeps it, and a newer revision is tried (issue 11, 2). */
function primaryNotReady(context: Context, state: StateOf<'Ending'>): Outcome {
  const { ending: deferred, failedChecks, iterations } = state;
  const message = `the last-known-good does not become ready to take the traffic back: ${whyNotReady(context.world.primary)}`;
  const run = { ...without(state.run, 'ending', 'progressKey'), lastProgressTime: context.now, deferred };
  return enter(
    {
      kind: 'RevertFailed',
      run,
      failedChecks,
      iterations,
      reason: 'LKGNotReady',
      post: { startTime: context.now, reason: 'LKGNotReady', cause: message },
    },
    {
      ...emit('Warning', 'LKGNotReady', message),
      rejects: deferred.reject ? rejectionFor(run, deferred.reject, deferred.cause) : [],
    },
  );
}

/** The history with how this release ended. */
export function historyWith(
  { world, now }: Context,
  { digest, commit, subject, startTime }: Run,
  ended: Pick<ReleaseHistoryEntry, 'result' | 'reason' | 'postRollout'> & { readonly message: string },
): ReleaseHistoryEntry[] {
  const entry = {
    digest,
    commit,
    subject: beginningOf(subject, limits.subjectCharacters),
    startTime,
    endTime: now,
    ...ended,
    message: beginningOf(ended.message, 512),
  };
  return [entry, ...(world.status.history ?? [])].slice(0, limits.historyEntries);
}

/** The primary has its pods, or none by its scaler. */
export function isWhole({ world, plan }: Context): boolean {
  return hasConverged(world.primary, plan.primaryReadyPercent) || isScaledToZero(world);
}

/** The status line of a release that was promoted, from its end on: the status is not written once more for other words. */
export function liveNote(
  { primary }: World,
  release: Parameters<typeof describeRelease>[0],
  reason: RolloutReason,
): Effects {
  // What another writer changed of the primary runs instead of what was released.
  const changed = primary && driftComparisons(primary).find(({ met }) => !met);
  const how = changed ? `was promoted, but ${changed.detail}` : 'is live';
  return note(reason, `${describeRelease(release)} ${how}`);
}

/** Traffic, canary and scalers are back: the terminal phase, and an entry in the history. */
function ended(context: Context, { run, ending, failedChecks }: StateOf<'Ending'>): Outcome {
  const { phase: result, reason, message } = ending;
  const postRollout = hasHooks(context, 'post-rollout') ? { postRollout: 'Pending' as const } : {};
  const history = historyWith(context, run, { result, reason, message, ...postRollout });
  const isFailed = ending.phase === 'Failed';
  const isLive = reason === 'Succeeded' && isWhole(context);
  const applied = !isFailed && context.good ? { lastAppliedSpec: context.good.digest } : {};
  return enter(
    { kind: 'Resting', phase: ending.phase, failedChecks: isFailed ? failedChecks : 0 },
    {
      ...(isLive ? liveNote(context.world, run, reason) : note(reason, message)),
      status: { ...applied, history },
    },
  );
}

/**
 * Calls webhooks of type post-rollout once, with how the last release ended. The answer has no effect; it is recorded in the history, so that
 * after a restart they are called again only if it was not read back. `isDone`: they have answered; the next release waits for that.
 */
export function postRollout(context: Context): { readonly isDone: boolean; readonly effects: Effects } {
  const { status, checks } = context.world;
  const [last, ...older] = status.history ?? [];
  if (last?.postRollout !== 'Pending') return { isDone: true, effects: {} };
  const key = `${last.digest}/${last.endTime}/post-rollout`;
  const outcome = checks?.key === key ? checks : undefined;
  if (!outcome && hasHooks(context, 'post-rollout')) {
    const asked = { key, role: 'primary', purpose: 'analysis', hooks: ['post-rollout'] } as const;
    return { isDone: false, effects: { check: request(context, last, asked) } };
  }
  const passed = !outcome || verdictOfHooks(context.world.canary, outcome, 'post-rollout') === 'approved';
  const history = {
    status: {
      history: [{ ...last, postRollout: passed ? ('Passed' as const) : ('Failed' as const) }, ...older],
    },
  };
  if (!outcome) return { isDone: true, effects: history };
  const event = passed
    ? emit('Normal', 'PostRolloutPassed', 'post-rollout webhooks approved')
    : emit('Warning', 'PostRolloutFailed', `post-rollout: ${whyClosed(outcome, 'post-rollout')}`);
  return { isDone: true, effects: combine(history, event) };
}
