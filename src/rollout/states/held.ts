import { gitPart } from '../../api/commit.ts';
import type { RolloutReason } from '../../api/reasons.ts';
import { findings, verdictOf } from '../../health/check-results.ts';
import { diagnose, sentence } from '../../health/diagnosis.ts';
import { lostReadiness } from '../../health/readiness.ts';
import { canaryServes, servingPods } from '../../health/workload-view.ts';
import { check, primaryCheck, quietCheck } from '../checks.ts';
import { type Context, remainingMs, sinceProgressMs, withProgress, withProgressReset } from '../context.ts';
import {
  type Action,
  ALL,
  act,
  combine,
  type Effects,
  emit,
  note,
  type Preference,
  STAY,
  wake,
} from '../outcome.ts';
import { decideVerification, isWaitingPointless, SHARED_WINDOW_MS, sharedCause } from '../post-promotion.ts';
import {
  enter,
  type Outcome,
  promotionState,
  type State,
  type StateOf,
  stay,
  without,
  withRun,
} from '../state.ts';
import { isAllOn } from '../traffic/traffic.ts';
import { headBehindWindow } from '../windows.ts';
import {
  describeRelease,
  isLost,
  type RecordView,
  type ReleaseView,
  type Run,
  rejectionOf,
  revertTarget,
  soundRecord,
} from '../world.ts';
import { admit, newerRevision, type PlaceToTry, sideToTry } from './head.ts';
import {
  applyPrimary,
  isChanging,
  isComplete,
  recreatedCanary,
  restoreTemplate,
  whyIncomplete,
} from './restore.ts';
import { failDead, failVerification, revert, startRevert } from './transitions.ts';

type Held = StateOf<'Held'>;

/** Held for a reason that says nothing about the release, which the canary runs too: traffic stays where it is (ADR 5 and 14). */
function staysOnPrimary({ reason }: Held): boolean {
  return Object.hasOwn(RECHECK, reason);
}

/** A ready primary ends it: not if checks failed, nor if the release was rejected or taken back. */
function awaitsPrimary(context: Context, { reason, run }: Held): boolean {
  const isForPods = reason === 'PrimaryNotReady' || reason === 'PrimaryUnhealthy';
  return isForPods && rejectionOf(context, run.digest) === undefined;
}

/** Traffic while a release is held: to the canary if it can serve, or if no other pod can. */
export function heldPrefers(context: Context, state: Held): Preference {
  const { target, primary } = context.world;
  if (staysOnPrimary(state) && !newerRelease(context, state)) return STAY;
  return canaryServes(target) || servingPods(primary) === 0 ? ALL.canary : STAY;
}

/** The healthy canary carries the traffic; the promotion continues when the primary recovers. onFailure applies as it is in each step (issue 11, 7). */
export function held(context: Context, before: Held): Outcome {
  const newer = newerRelease(context, before);
  const good = newer && revertedFirst(context, before);
  if (good) {
    const finding = `a newer revision waits: ${describeRelease(newer)}`;
    return startRevert(context, before, good, {
      reason: 'Superseded',
      finding,
      reject: false,
      control: false,
    });
  }
  const place = newer && sideToTry(context, before);
  if (newer && place && !place.waits)
    return admit(context, newer, { before: place.state.run, side: place.side });
  // Where the hold has a deadline of its own, that ends it.
  const waiting = newer && place && staysHeld(context, before.run) ? { ...place, newer } : undefined;
  const state = waiting?.state ?? before;
  if (staysOnPrimary(state)) return recheck(context, state);
  if (awaitsPrimary(context, state) && isComplete(context))
    return enter(
      promotingAgain(context, state),
      emit('Normal', 'Resumed', `the primary runs ${describeRelease(state.run)} now; promotion continues`),
    );
  return byPolicy(context, state, waiting);
}

/** A newer revision in Git. Under halt no template is written, so that a change of config outside Git does not count. */
function newerRelease(context: Context, state: Held): ReleaseView | undefined {
  const head = newerRevision(context, state);
  if (!head) return undefined;
  const { digest } = state.run;
  const isOtherConfig = head.digest !== digest && gitPart(head.digest) === gitPart(digest);
  return isHalt(context) && isOtherConfig ? undefined : head;
}

/** Under onFailure halt no template is written. */
function isHalt({ plan }: Context): boolean {
  return plan.postPromotion.onFailure === 'halt';
}

/**
 * What the primary is reverted to before a newer revision is tried. Undefined: that must not or cannot be written, or is what a person wanted to
 * leave by a rollback.
 */
function revertedFirst(context: Context, { run }: Held): RecordView | undefined {
  const { good } = context;
  return !good || isLost(good) || isHalt(context) || run.rollback ? undefined : good;
}

/** Nothing but a person or a newer commit ends the hold. */
function staysHeld({ plan, good }: Context, run: Run): boolean {
  const { onFailure } = plan.postPromotion;
  return onFailure === 'hold' || onFailure === 'halt' || run.keepWaiting === true || !revertTarget(good, run);
}

/** What ends the hold automatically: nothing for hold and halt; revert reverts at once; auto at the deadline. */
function byPolicy(
  context: Context,
  before: Held,
  waiting?: PlaceToTry<Held> & { readonly newer: ReleaseView },
): Outcome {
  const { world, plan } = context;
  const { onFailure, progressDeadlineMs } = plan.postPromotion;
  const state = withRun(before, withProgress(context, before.run, world.primary));
  const { run } = state;
  const cause = state.post.cause ?? '';
  const message = `${describeRelease(run)} is held${whereTrafficIs(context)}: ${cause}`;
  const isWaiting = awaitsPrimary(context, state);
  const restored = act(...restoredCopies(context, run, isWaiting));
  const action = isWaiting ? 'promotion continues if the primary recovers' : withoutDeadline(context);
  if (waiting) {
    const what = `${describeRelease(waiting.newer)} is tried once the canary carries all traffic; ${message}`;
    return stay(before, note(state.reason, what, waiting.next), restored, waiting.waits ?? {});
  }
  if (staysHeld(context, run)) return stay(before, untilNewer(context, state, { message, action }), restored);
  const diagnosis = diagnose(world.primary, world.target);
  if (onFailure === 'revert' || !isWaiting)
    return revert(context, state, {
      reason: state.reason,
      finding: cause,
      control:
        state.reason === 'ChecksFailed' || state.reason === 'AnalysisFailed' || state.reason === 'NoData',
    });
  const leftMs = progressDeadlineMs - sinceProgressMs(context, run);
  const mayRecover = canaryServes(world.target) && !isWaitingPointless(diagnosis);
  if (!mayRecover || leftMs <= 0)
    return revert(context, state, {
      reason: state.reason,
      finding: whyIncomplete(context, sentence(diagnosis, world.primary)),
      control: false,
      cause: diagnosis.cause,
    });
  const next = { action: 'revert unless the primary recovers first', timeMs: world.nowMs + leftMs };
  return stay(state, note(state.reason, message, next), restored, wake(leftMs));
}

/**
 * A copy that was deleted is created again as it was, and a primary that is waited for is written again where others changed its template. A rejected
 * release stays out of the primary, which ran another one (S14).
 */
function restoredCopies(context: Context, { digest }: Run, isWaiting: boolean): Action[] {
  const { primary } = context.world;
  if (isHalt(context) || !soundRecord(context.world, digest)) return [];
  const changed = isWaiting ? (restoreTemplate(context, digest)?.actions ?? []) : [];
  const missing = rejectionOf(context, digest) ? [] : [applyPrimary(context, digest)];
  return [...(primary ? changed : missing), ...recreatedCanary(context, digest)];
}

/** What comes next where a person decides. */
function withoutDeadline(context: Context): string {
  return movesToCanary(context) ? 'traffic to the canary, then nothing automatic' : 'nothing automatic';
}

/** Reports a hold that a newer commit ends, and until when one waits for its window. */
function untilNewer(
  context: Context,
  { run, reason }: Held,
  { message, action }: { readonly message: string; readonly action: string },
): Effects {
  const { next, waits } = headBehindWindow(context, run) ?? { next: { action }, waits: {} };
  return combine(note(reason, message, next), waits);
}

/** For the message; nothing where no canary takes the traffic, as where both sides are one workload. */
function whereTrafficIs(context: Context): string {
  if (isAllOn(context, 'canary')) return ', the canary carries all traffic';
  return movesToCanary(context) ? ', traffic is moving to the canary' : '';
}

function movesToCanary(context: Context): boolean {
  const { target, sharesWorkload } = context.world;
  return !isAllOn(context, 'canary') && canaryServes(target) && !sharesWorkload;
}

/** Promotion continues from the state that the primary is in. */
function promotingAgain(context: Context, { run, failedChecks, iterations, post }: Held): State {
  const base = { run: without(withProgressReset(context, run), 'stepTime'), failedChecks, iterations };
  return promotionState(context, {
    ...base,
    post: { ...post, reason: 'Promoting', startTime: context.now },
  });
}

/**
 * Held because checks have no answer, or because other Canaries fail their checks too: the checks are repeated each interval. Any answer, or
 * with a shared cause a passed check, continues verification. If this Canary still fails when the others do not, or when the
 * wait for them is over, it is reverted, or held as onFailure says by then (design section 5, auto; ADR 14).
 */
function recheck(context: Context, state: Held): Outcome {
  const { run, post, reason } = state;
  const { intervalMs, onFailure } = context.plan.postPromotion;
  const isShared = reason === 'SharedCause';
  const { why, resumed, action } = RECHECK[reason as keyof typeof RECHECK];
  const timeMs = isShared ? sharedDeadlineMs(context, run) : undefined;
  const statusNote = note(reason, `${describeRelease(run)} is held: ${post.cause ?? why}`, {
    action: action(context, run),
    timeMs,
  });
  const before = notAsWritten(context, state, statusNote);
  if (before) return before;
  if (isShared && onFailure === 'revert' && !run.keepWaiting && revertTarget(context.good, run))
    return revert(context, state, { reason: 'ChecksFailed', finding: post.cause ?? '', control: true });
  const asked = askAgain(context, run, isShared);
  const checking = { ...state, run: asked.run };
  if (asked.waits) return stay(isShared ? checking : state, statusNote, asked.waits);
  const checked = { status: { checks: [...asked.results] } };
  const verdict = verdictOf(asked.results);
  if (!isShared || verdict === 'pass')
    return enter(
      verifiedAgain(context, checking, verdict === 'fail'),
      combine(checked, resumedEvent(run, resumed)),
    );
  if (verdict !== 'fail' || waitsForOthers(context, run))
    return stay(checking, statusNote, checked, wake(intervalMs));
  const finding = findings(asked.results);
  const failed = failVerification(context, checking, { reason: 'ChecksFailed', finding, control: true });
  return { ...failed, ...combine(checked, failed) };
}

/**
 * Held because others change the primary again and again: it is written again each time, and has to be left alone for the whole deadline. It would
 * be held and resumed by turns.
 */
function untilLeftAlone(context: Context, before: Held, statusNote: Effects): Outcome {
  const { run } = before;
  const { intervalMs, progressDeadlineMs } = context.plan.postPromotion;
  const isChanged = restoreTemplate(context, run.digest) !== undefined;
  // Not with each look, which would write the status again and again while the write is refused; but well within the deadline.
  const isOld = remainingMs(context, run.stepTime, Math.min(intervalMs, progressDeadlineMs / 2)) === 0;
  const state = isChanged && isOld ? withRun(before, { stepTime: context.now }) : before;
  const leftMs = remainingMs(context, state.run.stepTime, progressDeadlineMs);
  if (!isChanged && leftMs === 0)
    return enter(verifiedAgain(context, state), resumedEvent(run, RECHECK.ForeignChange.resumed));
  return stay(state, statusNote, act(...restoredTemplate(context, run)), leftMs > 0 ? wake(leftMs) : {});
}

function resumedEvent(run: Run, why: string): Effects {
  return emit('Normal', 'Resumed', `${why}; verification of ${describeRelease(run)} continues`);
}

/** What follows if it goes on failing when the wait for the others is over, as onFailure says now. */
function sharedAction({ plan }: Context, { keepWaiting }: Run): string {
  const again = 'checked again every interval';
  if (keepWaiting) return again;
  const { action } = decideVerification(plan.postPromotion.onFailure);
  const end = action === 'revert' ? 'revert' : 'traffic moves to the canary';
  return `${again}; ${end} unless the checks pass first`;
}

/** Without an answer nothing is asked of a primary that is changing: verification would be held again at its next deadline. */
function askAgain(context: Context, run: Run, isShared: boolean): ReturnType<typeof check> {
  if (!isShared && isChanging(context)) return { run, waits: {} };
  return (isShared ? check : quietCheck)(context, run, primaryCheck(context, run));
}

/** When a release no longer waits for others to recover that fail with it (ADR 14); undefined: a person asked it to wait. */
function sharedDeadlineMs(context: Context, run: Run): number | undefined {
  const waitMs = SHARED_WINDOW_MS + context.plan.postPromotion.progressDeadlineMs;
  return run.keepWaiting ? undefined : context.world.nowMs + waitMs - sinceProgressMs(context, run);
}

function waitsForOthers(context: Context, run: Run): boolean {
  const deadlineMs = sharedDeadlineMs(context, run);
  if (deadlineMs === undefined) return true;
  return context.world.nowMs < deadlineMs && sharedCause(context.world) !== undefined;
}

/**
 * A primary that was deleted or scaled to zero has to become ready again; one that fails, or that others change, is not a question of checks, and
 * is judged once it is written again.
 */
function notAsWritten(context: Context, state: Held, statusNote: Effects): Outcome | undefined {
  const { primary } = context.world;
  if (!primary || (servingPods(primary) === 0 && !lostReadiness(primary)))
    return enter(promotingAgain(context, state));
  const dead = failDead(context, state);
  if (dead) return dead;
  if (state.reason === 'ForeignChange') return untilLeftAlone(context, state, statusNote);
  const again = restoredTemplate(context, state.run);
  return again.length > 0 ? stay(state, statusNote, act(...again)) : undefined;
}

function restoredTemplate(context: Context, { digest }: Run): readonly Action[] {
  if (isHalt(context) || !soundRecord(context.world, digest)) return [];
  return restoreTemplate(context, digest)?.actions ?? [];
}

interface Recheck {
  readonly why: string;
  readonly resumed: string;
  readonly action: (context: Context, run: Run) => string;
}

/** Messages about a hold that ends by itself, once checks or the primary allow it. */
const RECHECK = {
  ChecksUnavailable: {
    why: 'checks have no answer',
    resumed: 'the checks answer again',
    action: () => 'verification continues once the checks answer again',
  },
  ForeignChange: {
    why: 'something else changes the primary again and again',
    resumed: 'nothing else changes the primary any more',
    action: () =>
      'verification continues once nothing else has changed the primary for progressDeadlineSeconds',
  },
  SharedCause: {
    why: 'other Canaries fail their checks, too',
    resumed: 'the checks pass again',
    action: sharedAction,
  },
} satisfies Partial<Record<RolloutReason, Recheck>>;

/**
 * Continues verification. After a shared cause checks are counted from zero: those that failed said nothing about this release. After a
 * failed check (`hasFailed`) passed ones are: they have to come in a row.
 */
export function verifiedAgain(context: Context, state: Held, hasFailed = false): StateOf<'Verifying'> {
  const { run, iterations, reason } = state;
  const { cause, ...post } = { ...state.post, reason: 'Verifying', startTime: context.now };
  const isShared = reason === 'SharedCause';
  const row = hasFailed ? { passedChecks: 0 } : {};
  const counted = isShared ? { ...post, failedChecks: 0, passedChecks: 0 } : { ...post, ...row, cause };
  return {
    kind: 'Verifying',
    run: { ...without(run, 'unknownSince'), stepTime: context.now },
    failedChecks: isShared ? 0 : state.failedChecks,
    iterations,
    post: counted,
  };
}
