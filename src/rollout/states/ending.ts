import type { ReleaseHistoryEntry } from '../../api/canary/status.ts';
import { limits } from '../../api/limits.ts';
import type { RolloutReason } from '../../api/reasons.ts';
import { verdictOfHooks, whyClosed } from '../../health/check-results.ts';
import { hasConverged, servingPods, whyNotReady } from '../../health/readiness.ts';
import { type Context, elapsedMs } from '../context.ts';
import { hasHooks, request } from '../hooks.ts';
import {
  act,
  combine,
  type Effects,
  enter,
  type NewRejection,
  note,
  type Outcome,
  type Preference,
  say,
  stay,
  wake,
} from '../outcome.ts';
import { withProgress } from '../progress.ts';
import type { Ending, Run } from '../run.ts';
import { type RunState, type StateOf, without } from '../state.ts';
import { areScalersReset, restoreScalers, scalerWaitMs, stopCanary } from '../traffic/scalers.ts';
import { hasArrived, isAllOn } from '../traffic/traffic.ts';
import { recreatedPrimary } from './recreate.ts';

/** Decides how a release ends. What it is rejected for counts from then on, wherever else that can be written (S14). */
export function end(
  context: Context,
  state: RunState,
  ending: Ending,
  more: Pick<Effects, 'status' | 'events'> = {},
): Outcome {
  const { failedChecks, iterations } = state;
  const phase = endingPhase(state);
  const isOver = state.kind === 'Verifying' || state.kind === 'Reverting';
  const post = isOver ? { post: { ...state.post, state: state.kind } as const } : {};
  const run = { ...without(state.run, 'progressKey'), lastProgressTime: context.now, ending };
  const next: StateOf<'Ending'> = { kind: 'Ending', run, failedChecks, iterations, ending, phase, ...post };
  const told = say(ending.phase === 'Failed' ? 'Warning' : 'Normal', ending.reason, ending.message);
  return enter(next, {
    status: more.status ?? {},
    events: [...(more.events ?? []), ...(told.events ?? [])],
    rejects: ending.reject ? rejectionFor(run, ending.reject, ending.cause) : [],
  });
}

/** Flagger's word for the phase in which it was decided. */
function endingPhase(state: RunState): StateOf<'Ending'>['phase'] {
  if (state.kind === 'Verifying') return 'Finalising';
  if (state.kind === 'Reverting' || state.kind === 'Ending') return state.phase;
  return state.kind === 'Analysing' && state.isGateClosed ? 'WaitingPromotion' : 'Progressing';
}

/** The release is barred from now on. */
export function rejectionFor({ digest, commit }: Run, reason: RolloutReason, cause?: string): NewRejection[] {
  return [{ digest, commit, reason, cause }];
}

/** Where traffic goes while a release ends: a bad canary loses what the primary carries at once, and everything at the deadline (issue 11, 1). */
export function endingPrefers(context: Context, { ending, run }: StateOf<'Ending'>): Preference {
  const overdue = isOverdue(context, run);
  return { kind: 'all', side: 'primary', evacuate: ending.phase === 'Failed', overdue };
}

function isOverdue(context: Context, run: Run): boolean {
  return elapsedMs(context, run.lastProgressTime) >= context.plan.progressDeadlineMs;
}

/**
 * Winds a release down in the only safe order: traffic to the primary, arrived there, then the canary to zero, then the terminal phase
 * (S7, S8). Goes on from wherever a crash left it.
 */
export function ending(context: Context, before: StateOf<'Ending'>): Outcome {
  const { world, plan } = context;
  const run = withProgress(context, before.run, world.primary);
  const state = { ...before, run };
  const owed = {
    rejects: before.ending.reject ? rejectionFor(run, before.ending.reject, before.ending.cause) : [],
  };
  const words = note(before.ending.reason, before.ending.message);
  const recreated = recreatedPrimary(context);
  if (recreated) return stay(state, owed, words, recreated);
  if (!hasArrived(context, run, 'primary')) {
    if (
      isOverdue(context, run) &&
      !isAllOn(context, 'primary') &&
      servingPods(world.primary) === 0 &&
      !world.sharesWorkload
    )
      return neverCameBack(context, state);
    const leftMs = plan.progressDeadlineMs - elapsedMs(context, run.lastProgressTime);
    return stay(state, owed, words, waiting(context, run), wake(leftMs));
  }
  if (world.target && world.target.desiredReplicas > 0)
    return stay(state, owed, words, act(...stopCanary(world)));
  const restored = restoreScalers(context, run);
  if (!areScalersReset(world))
    return stay(state, owed, words, restored, scalerNote(context, run, before.ending));
  return finished(context, state);
}

function scalerNote(context: Context, run: Run, { reason, message }: Ending): Effects {
  const waitMs = scalerWaitMs(context, run);
  if (waitMs === 0) return {};
  return note(reason, message, {
    action: "minReplicas of the primary's scaler is restored",
    timeMs: context.world.nowMs + waitMs,
  });
}

/** Why traffic is not where it is to be yet. */
function waiting(context: Context, run: Run): Effects {
  const { world, plan } = context;
  if (isAllOn(context, 'primary')) return routeNote(context, run);
  if (hasConverged(world.primary, plan.primaryReadyPercent)) return {};
  const what = `traffic stays on the canary until the primary is ready: ${whyNotReady(world.primary)}`;
  return note('WaitingForPrimary', what);
}

/** A route that the gateway does not accept is reported, and after the deadline a person is asked to look (issue 11, 17). */
export function routeNote(context: Context, run: Run): Effects {
  const { route } = context.world;
  if (!route || route.accepted) return {};
  const message = route.problem ?? 'the gateway has not accepted the route yet';
  const isLong = elapsedMs(context, run.standing?.route?.since) >= context.plan.progressDeadlineMs;
  return { note: { reason: 'RouteNotAccepted', message, stalled: isLong } };
}

/** The last-known-good did not come up to take the traffic back: the canary serves on, and a newer revision gets through (issue 11, 2). */
function neverCameBack(context: Context, state: StateOf<'Ending'>): Outcome {
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
      ...say('Warning', 'LKGNotReady', message),
      rejects: deferred.reject ? rejectionFor(run, deferred.reject, deferred.cause) : [],
    },
  );
}

function finished(context: Context, { run, ending, failedChecks }: StateOf<'Ending'>): Outcome {
  const { status } = context.world;
  const entry: ReleaseHistoryEntry = {
    digest: run.digest,
    commit: run.commit,
    subject: run.subject.slice(0, limits.subjectCharacters),
    result: ending.phase,
    reason: ending.reason,
    message: ending.message.slice(0, 512),
    startTime: run.startTime,
    endTime: context.now,
    ...(hasHooks(context, 'post-rollout') ? { postRollout: 'Pending' as const } : {}),
  };
  const isFailed = ending.phase === 'Failed';
  const applied = !isFailed && context.good ? { lastAppliedSpec: context.good.digest } : {};
  const told = isFailed ? {} : say('Normal', 'Succeeded', ending.message);
  return enter(
    { kind: 'Resting', phase: ending.phase, failedChecks: isFailed ? failedChecks : 0 },
    {
      ...told,
      ...note(ending.reason, ending.message),
      status: { ...applied, history: [entry, ...(status.history ?? [])].slice(0, limits.historyEntries) },
    },
  );
}

/**
 * Tells webhooks of type post-rollout how the last release ended, once: the answer has no effect, and is kept in the history so that a
 * restart tells them only if it was not read back. `isDone` false while the answer is to come; the next release waits for that.
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
  const told = passed
    ? say('Normal', 'PostRolloutPassed', 'post-rollout webhooks approved')
    : say('Warning', 'PostRolloutFailed', `post-rollout: ${whyClosed(outcome, 'post-rollout')}`);
  return { isDone: true, effects: combine(history, told) };
}

/** A gate stayed closed beyond its deadline: the release ends, before anything of it was written to the primary. */
export function failAtGate(
  context: Context,
  state: RunState,
  { type, why }: { type: string; why: string },
): Outcome {
  const message = `${type} did not open before its deadline: ${why}`;
  return end(context, state, {
    phase: 'Failed',
    reason: 'GateDeadlineExceeded',
    message,
    reject: 'GateDeadlineExceeded',
  });
}

/** A release that a person, or a webhook, takes back before the primary was written with it. */
export function withdraw(context: Context, state: RunState, reason: RolloutReason, message: string): Outcome {
  const { run, failedChecks, iterations } = state;
  const trying = { kind: 'Starting', run, failedChecks, iterations } as const;
  return end(context, trying, { phase: 'Failed', reason, message, reject: reason });
}
