import { conditionOf } from '../../api/kubernetes.ts';
import type { RolloutReason } from '../../api/reasons.ts';
import { findings, verdictOf } from '../../health/check-results.ts';
import { causeOf } from '../../health/diagnosis.ts';
import { hasConverged, whyNotReady } from '../../health/readiness.ts';
import { canaryServes } from '../../health/workload-view.ts';
import { check } from '../checks.ts';
import {
  type Context,
  later,
  sinceProgressMs,
  untilWritten,
  withProgress,
  withProgressReset,
} from '../context.ts';
import {
  ALL,
  act,
  combine,
  type Effects,
  emit,
  note,
  type Preference,
  rejectionFor,
  STAY,
  wake,
} from '../outcome.ts';
import { enter, type Outcome, type State, type StateOf, stay, withRun } from '../state.ts';
import {
  fullSize,
  hasArrived,
  isAllOn,
  mustMoveTraffic,
  primaryShortage,
  readySharePercent,
  routeNote,
  stopCanary,
} from '../traffic/traffic.ts';
import { headBehindWindow } from '../windows.ts';
import {
  describeDamage,
  describeRelease,
  isLost,
  type RecordView,
  type ReleaseView,
  type RevertCause,
  type Run,
} from '../world.ts';
import { admit, endedByGit, newerRevision, sideToTry } from './head.ts';
import { applyPrimary, recreatedCanary, recreatedPrimary } from './restore.ts';
import { end, hold } from './transitions.ts';

type Reverting = StateOf<'Reverting'>;
type RevertFailed = StateOf<'RevertFailed'>;

/** The progress of a failed revert whose write was refused: once that is seen, the revert goes on. */
const UNWRITTEN = 'unwritten';

/** Traffic during a revert: the canary serves in the primary's place if it can, until the primary is ready with the last-known-good. */
export function revertingPrefers(context: Context, state: Reverting): Preference {
  const { world, good, plan } = context;
  if (!good) return STAY;
  if (world.primary?.digest === good.digest) {
    if (hasConverged(world.primary, plan.primaryReadyPercent))
      return { kind: 'all', side: 'primary', overdue: revertLeftMs(context, state) <= 0 };
    return canGiveWay(context) ? ALL.primary : STAY;
  }
  if (state.run.side === 'primary' && canaryServes(world.target))
    return { kind: 'all', side: 'canary', evacuate: true };
  const mayClear = !isLost(good) && mustMoveTraffic(context, state.run) && canaryServes(world.target);
  const overdue = revertLeftMs(context, state) <= 0;
  return mayClear ? { kind: 'all', side: 'canary', overdue } : STAY;
}

/** The primary gets the last-known-good, then the traffic, then the canary is scaled down. A crash at any point continues from there. */
export function reverting(context: Context, before: Reverting): Outcome {
  const { world, plan, good } = context;
  const { cause } = before;
  if (!good)
    return stay(before, note('RecordMissing', 'there is no record of a last-known-good to revert to'));
  const rejection = { rejects: cause.reject ? rejectionFor(before.run, cause.reason) : [] };
  const known = combine(
    rejection,
    note(cause.reason, `reverting to ${describeRelease(good)}: ${cause.finding}`),
  );
  if (world.primary?.digest !== good.digest)
    return isLost(good) ? giveUp(context, before, good) : applyGood(context, before, { good, known });
  const state = withRun(before, withProgress(context, before.run, world.primary));
  if (!hasConverged(world.primary, plan.primaryReadyPercent))
    return waitForGood(context, state, { good, rejection });
  if (!hasArrived(context, state.run, 'primary')) {
    const leftMs = revertLeftMs(context, state);
    return stay(state, known, waitingNote(context, state, { good, leftMs }), wake(leftMs));
  }
  const next = withRun(state, { stepTime: state.run.stepTime ?? context.now });
  return cause.control ? control(context, next, good) : conclude(context, next, good);
}

/** Why the ready last-known-good does not have all traffic yet. */
function waitingNote(
  context: Context,
  { run, cause }: Reverting,
  { good, leftMs }: { readonly good: RecordView; readonly leftMs: number },
): Effects {
  if (isAllOn(context, 'primary')) return routeNote(context, run);
  const shortage = primaryShortage(context, leftMs);
  if (!shortage) return {};
  const message = `reverting to ${describeRelease(good)}: ${cause.finding}; ${shortage.why}`;
  return note(cause.reason, message, shortage.next);
}

/** The record was lost meanwhile: the release is held, so that a newer commit and an older release still get through. */
function giveUp(context: Context, state: Reverting, good: RecordView): Outcome {
  const { cause, failedChecks } = state;
  // A primary without a fault is looked at again at rest.
  if (cause.isWell) return enter({ kind: 'Resting', phase: 'Failed', failedChecks });
  const finding = `${cause.finding}; ${describeDamage(context.world, good)}`;
  return hold(context, state, { reason: cause.reason, finding, control: false });
}

/** Moves traffic off the primary first if the write would take its last ready pod and the canary can serve (S2). */
function applyGood(
  context: Context,
  before: Reverting,
  { good, known }: { good: RecordView; known: Effects },
): Outcome {
  const { world } = context;
  const { cause } = before;
  // The primary has no fault, only the wrong release: it keeps serving until the canary runs the last-known-good.
  const isHealthy = isPrimaryWell(cause);
  const serves = canaryServes(world.target);
  const clears = mustMoveTraffic(context, before.run) && (serves || (isHealthy && !world.foreignTarget));
  const run = (clears ? clearing : untilWritten)(context, before.run);
  const state = { ...before, run };
  const leftMs = revertLeftMs(context, state);
  if (clears && leftMs > 0) {
    const isStarted = world.target?.digest === good.digest && world.target.desiredReplicas > 0;
    const write =
      serves || isStarted ? {} : act({ type: 'ApplyCanary', digest: good.digest, replicas: fullSize(world) });
    return stay(state, known, write, wake(leftMs));
  }
  // After the deadline all traffic goes to the ready pods there; a route that the gateway does not accept is reported.
  if (clears && !isHealthy && serves) return stay(state, known, routeNote(context, run));
  const why = leftMs > 0 ? undefined : whyUnwritten(context, { clears, isHealthy });
  if (why !== undefined) {
    const message = `the last-known-good ${describeRelease(good)} ${why}`;
    return failRevert(context, state, { reason: 'LKGNotReady', message, progressKey: UNWRITTEN });
  }
  return stay(state, known, act(applyPrimary(context, good.digest)));
}

/** Why the last-known-good was not written to the primary until the deadline, if only a person can end that. */
function whyUnwritten(
  context: Context,
  { clears, isHealthy }: { readonly clears: boolean; readonly isHealthy: boolean },
): string | undefined {
  const { target, status } = context.world;
  if (isHealthy)
    return clears && !isAllOn(context, 'canary')
      ? `does not become ready as the canary: ${whyNotReady(target)}`
      : undefined;
  // Not said of a write that was not tried yet, as after a restart, nor of one that may succeed by itself.
  const stalled = conditionOf(status, 'Stalled');
  return stalled?.status === 'True' ? `cannot be written to the primary: ${stalled.message}` : undefined;
}

/** The primary has no fault, only the wrong release. */
function isPrimaryWell({ isWell, reason }: RevertCause): boolean {
  return isWell === true || reason === 'NotLastKnownGood';
}

/** The run while traffic leaves the primary: the deadline of that begins once, and anew after a suspension. */
function clearing({ now }: Context, run: Run): Run {
  const progressKey = 'clearing';
  return run.progressKey === progressKey ? run : { ...run, progressKey, lastProgressTime: now };
}

/** What traffic that leaves the primary has left, or the last-known-good to make progress; a ready one gets all traffic then, also with fewer pods than carried it (S1). */
function revertLeftMs(context: Context, { run }: Reverting): number {
  return context.plan.postPromotion.progressDeadlineMs - sinceProgressMs(context, run);
}

/** The primary was written but is not ready: a ready side serves; without progress a person must act (S15). */
function waitForGood(
  context: Context,
  state: Reverting,
  { good, rejection }: { good: RecordView; rejection: Effects },
): Outcome {
  const { world } = context;
  const why = whyNotReady(world.primary);
  const leftMs = revertLeftMs(context, state);
  if (leftMs <= 0)
    return failRevert(context, state, {
      reason: 'LKGNotReady',
      message: `the last-known-good ${describeRelease(good)} does not become ready: ${why}`,
    });
  const { stuckPods = [] } = world;
  const replaced = stuckPods.length > 0 ? act({ type: 'ReplacePods', pods: stuckPods }) : {};
  return stay(
    state,
    rejection,
    replaced,
    makeRoom(context, state),
    note('Reverting', `reverting to ${describeRelease(good)}: ${why}`),
    wake(leftMs),
  );
}

/**
 * Only room keeps the last-known-good from becoming ready, and the canary, whose release is given up, takes some: a quota or the nodes hold
 * the pods of both and not one more. The primary can carry all traffic without it, if also with pods of the release before.
 */
function canGiveWay(context: Context): boolean {
  const { world, good } = context;
  const { primary, target } = world;
  if (world.sharesWorkload || !target || target.desiredReplicas === 0 || target.digest === good?.digest)
    return false;
  if (primary?.digest !== good?.digest || readySharePercent(context, 'primary') < 100) return false;
  const [worst] = primary?.faults ?? [];
  const cause = worst && causeOf(worst, []);
  return cause === 'QuotaExceeded' || cause === 'Unschedulable';
}

/** That canary goes to zero, once no request goes to it (S7). */
function makeRoom(context: Context, state: Reverting | RevertFailed): Effects {
  return canGiveWay(context) && hasArrived(context, state.run, 'primary')
    ? act(...stopCanary(context.world))
    : {};
}

/** The first failed check may still count the last requests of the reverted release, whose pods serve until they have ended. */
const CONTROL_FAILURES_NEEDED = 2;

/** The failed check is repeated on the last-known-good: if that fails it too, the release is not the cause (design section 5, control). */
function control(context: Context, state: Reverting, good: RecordView): Outcome {
  const { postPromotion } = context.plan;
  const { run, cause } = state;
  const { controlFailures = 0 } = cause;
  const again = controlFailures > 0 ? ' once more' : '';
  const statusNote = note(
    'Control',
    `${describeRelease(good)} serves again; the failed check is repeated on it${again}`,
  );
  const asked = check(context, run, {
    role: 'primary',
    purpose: 'control',
    metrics: postPromotion.metrics,
    hooks: 'post-promotion',
    about: { digest: good.digest, commit: good.commit.commit },
    since: later(run.stepTime, run.lastCheckTime),
    afterMs: Math.max(postPromotion.intervalMs, postPromotion.settleMs),
  });
  const next = withRun(state, asked.run);
  if (asked.waits) return stay(next, statusNote, asked.waits);
  const checked = { status: { checks: [...asked.results] } };
  const failures = controlFailures + 1;
  const counted = { ...cause, controlFailures: failures };
  const failed = { ...withRun(next, { revert: counted }), cause: counted };
  const hasFailed = verdictOf(asked.results) === 'fail';
  if (hasFailed && failures < CONTROL_FAILURES_NEEDED)
    return stay(failed, checked, statusNote, wake(postPromotion.intervalMs));
  const message = `the last-known-good fails the same check: ${findings(asked.results)}; the release is not the cause`;
  const outcome = hasFailed
    ? failRevert(context, failed, { reason: 'LKGFailsToo', message })
    : conclude(context, next, good);
  return { ...outcome, ...combine(checked, outcome) };
}

/** Failed and Held: no template is written any more without a person or a newer revision. */
function failRevert(
  context: Context,
  state: Reverting,
  {
    reason,
    message,
    ...key
  }: { readonly reason: RolloutReason; readonly message: string; readonly progressKey?: string },
): Outcome {
  const { failedChecks, iterations, cause } = state;
  const post = { ...state.post, reason, cause: message, startTime: context.now };
  const run = { ...withProgressReset(context, state.run), ...key, revert: cause };
  return enter(
    { kind: 'RevertFailed', run, failedChecks, iterations, reason, post },
    emit('Warning', reason, message),
  );
}

function conclude(context: Context, state: Reverting, good: RecordView): Outcome {
  const { cause } = state;
  const message = `${describeRelease(state.run)} was reverted to ${describeRelease(good)}: ${cause.finding}`;
  const reverted = { ...state, run: { ...state.run, revert: cause } };
  if (cause.reason !== 'RevertedInGit')
    return end(context, reverted, {
      phase: 'Failed',
      reason: cause.reason,
      message,
      ...(cause.reject ? { reject: cause.reason } : {}),
    });
  const commit = cause.headCommit ?? good.commit.commit;
  const status = { lastAppliedCommit: commit, lastPromotedCommit: commit };
  return end(context, reverted, { phase: 'Succeeded', reason: 'RevertedInGit', message }, { status });
}

/** Traffic after a failed revert: unchanged, or to the canary if a newer revision is to be tried on the primary. */
export function revertFailedPrefers(context: Context, state: RevertFailed): Preference {
  const { target, foreignTarget } = context.world;
  if (state.reason === 'LKGFailsToo') return ALL.primary;
  const isNewerTried = newerRevision(context, state) !== undefined && canaryServes(target) && !foreignTarget;
  if (isNewerTried) return ALL.canary;
  return canGiveWay(context) ? ALL.primary : STAY;
}

/**
 * The last-known-good itself does not become ready, or fails the same check. Nothing is written again automatically (S15); a ready side
 * serves. It ends when the primary becomes ready or Git goes back to the last-known-good; a newer revision is still tried (S5 g).
 */
export function revertFailed(context: Context, state: RevertFailed): Outcome {
  const { good, head } = context;
  const { reason, post } = state;
  const behind = headBehindWindow(context, state.run);
  const statusNote = combine(
    note(reason, post.cause ?? 'the last-known-good does not become ready', behind?.next),
    behind?.waits ?? {},
  );
  const isReady = reason === 'LKGFailsToo';
  // Git asks for what the primary runs: nothing is left to decide, whatever the check says.
  if (isReady && head && head.digest === good?.digest)
    return endedByGit(context, state, head) ?? stay(state, statusNote);
  const isWritten = state.run.progressKey === UNWRITTEN && context.world.primary?.digest === good?.digest;
  if (isWritten || isGoodBack(context, state)) return recovered(context, state);
  const newer = newerRevision(context, state);
  if (newer && isReady) return admit(context, newer, { before: state.run });
  if (newer) return tryNewer(context, state, { newer, statusNote });
  const written = recreatedPrimary(context) ?? writtenAfterAll(context, state);
  if (written) return stay(state, statusNote, written);
  // Somebody deleted the canary: the release it ran was rejected, so that only the last-known-good may replace it (S14).
  const canary = good && !isLost(good) && !isReady ? act(...recreatedCanary(context, good.digest)) : {};
  return stay(state, statusNote, canary, makeRoom(context, state));
}

/** The API server refused the last-known-good until the deadline: the write that was decided is tried on, as safely as before (S2). */
function writtenAfterAll(context: Context, { run }: RevertFailed): Effects | undefined {
  const { world, good } = context;
  if (!good || isLost(good) || world.primary?.digest === good.digest) return undefined;
  if (!run.revert || isPrimaryWell(run.revert) || mustMoveTraffic(context, run)) return undefined;
  return act(applyPrimary(context, good.digest));
}

/** The last-known-good came up after all: the release ends first, and what else was to be tried follows at rest. */
export function isGoodBack({ world, good, plan }: Context, state: State): boolean {
  const isAwaited = state.kind === 'RevertFailed' && state.reason !== 'LKGFailsToo';
  const isBack = good !== undefined && world.primary?.digest === good.digest;
  return isAwaited && isBack && hasConverged(world.primary, plan.primaryReadyPercent);
}

/** A newer revision is tried at once, or once it is clear where. */
function tryNewer(
  context: Context,
  before: RevertFailed,
  { newer, statusNote }: { newer: ReleaseView; statusNote: Effects },
): Outcome {
  const { state, side, waits } = sideToTry(context, before);
  if (waits) return stay(state, statusNote, waits);
  return admit(context, newer, { side, before: state.run });
}

/** The last-known-good became ready: the release ends as was decided. */
function recovered(context: Context, state: RevertFailed): Outcome {
  const { run, failedChecks, iterations, post } = state;
  const { deferred } = run;
  if (deferred) return end(context, { kind: 'Starting', run, failedChecks, iterations }, deferred);
  const cause = run.revert ?? {
    reason: state.reason,
    finding: post.cause ?? '',
    reject: false,
    control: false,
  };
  return enter({
    kind: 'Reverting',
    run,
    failedChecks,
    iterations,
    cause,
    phase: 'Failed',
    post: { ...post, reason: cause.reason, startTime: context.now },
  });
}
