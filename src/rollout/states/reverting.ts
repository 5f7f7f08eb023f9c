import type { RolloutReason } from '../../api/reasons.ts';
import { findings, verdictOf } from '../../health/check-results.ts';
import { hasConverged, servingPods, whyNotReady } from '../../health/readiness.ts';
import { check } from '../checks.ts';
import { type Context, elapsedMs, later } from '../context.ts';
import {
  ALL,
  act,
  combine,
  type Effects,
  enter,
  note,
  type Outcome,
  type Preference,
  STAY,
  say,
  stay,
  wake,
} from '../outcome.ts';
import { sinceProgressMs, withProgress, withProgressReset } from '../progress.ts';
import { isLost, reportLost } from '../records.ts';
import type { RevertCause } from '../run.ts';
import { type StateOf, withRun } from '../state.ts';
import { canaryServes, fullSize } from '../traffic/capacity.ts';
import { hasArrived, isAllOn } from '../traffic/traffic.ts';
import { describeRelease, type RecordView } from '../world.ts';
import { admit } from './admit.ts';
import { end, rejectionFor, routeNote } from './ending.ts';
import { endedByGit, newerRevision } from './head.ts';
import { mustMoveTraffic } from './promoting.ts';
import { applyPrimary, recreatedCanary, recreatedPrimary } from './recreate.ts';

type Reverting = StateOf<'Reverting'>;
type RevertFailed = StateOf<'RevertFailed'>;

/** Whoever can stand in has the traffic until the primary is whole with the last-known-good. */
export function revertingPrefers(context: Context, state: Reverting): Preference {
  const { world, good, plan } = context;
  if (!good) return STAY;
  if (world.primary?.digest === good.digest)
    return hasConverged(world.primary, plan.primaryReadyPercent) ? ALL.primary : STAY;
  if (state.run.side === 'primary' && canaryServes(world.target))
    return { kind: 'all', side: 'canary', evacuate: true };
  const mayClear = !isLost(good) && mustMoveTraffic(context, state.run) && canaryServes(world.target);
  const overdue = elapsedMs(context, state.post.startTime) >= plan.postPromotion.progressDeadlineMs;
  return mayClear ? { kind: 'all', side: 'canary', overdue } : STAY;
}

/** The primary gets the last-known-good, then the traffic, then the canary rests. Repeats after a crash. */
export function reverting(context: Context, before: Reverting): Outcome {
  const { world, plan, good } = context;
  const { cause } = before;
  if (!good)
    return stay(before, note('RecordMissing', 'there is no record of a last-known-good to revert to'));
  const owed = { rejects: cause.reject ? rejectionFor(before.run, cause.reason) : [] };
  const words = combine(owed, note(cause.reason, `reverting to ${describeRelease(good)}: ${cause.finding}`));
  if (world.primary?.digest !== good.digest)
    return isLost(good)
      ? stay(before, words, reportLost(world, good))
      : applyGood(context, before, { good, words });
  const state = withRun(before, withProgress(context, before.run, world.primary));
  if (!hasConverged(world.primary, plan.primaryReadyPercent))
    return waitForGood(context, state, { good, owed });
  if (!hasArrived(context, state.run, 'primary'))
    return stay(state, words, isAllOn(context, 'primary') ? routeNote(context, state.run) : {});
  const next = withRun(state, { stepTime: state.run.stepTime ?? context.now });
  return cause.control ? control(context, next, good) : conclude(context, next, good);
}

/** The primary is cleared first where the write would take its last ready pod, if somebody else can serve (S2). */
function applyGood(
  context: Context,
  state: Reverting,
  { good, words }: { good: RecordView; words: Effects },
): Outcome {
  const { world, plan } = context;
  const { run } = state;
  const leftMs = plan.postPromotion.progressDeadlineMs - elapsedMs(context, state.post.startTime);
  const clears = mustMoveTraffic(context, run) && (canaryServes(world.target) || canBringUp(context, state));
  if (clears && leftMs > 0) {
    const isHere =
      canaryServes(world.target) ||
      (world.target?.digest === good.digest && world.target.desiredReplicas > 0);
    const up = isHere ? {} : act({ type: 'ApplyCanary', digest: good.digest, replicas: fullSize(world) });
    return stay(state, words, up, wake(leftMs));
  }
  // Overdue, all of it goes to whatever is ready there; a gateway that does not take that over is told.
  if (clears && !isWell(state) && canaryServes(world.target))
    return stay(state, words, routeNote(context, run));
  if (clears && isWell(state) && !isAllOn(context, 'canary')) {
    const why = whyNotReady(world.target);
    return failRevert(
      context,
      state,
      'LKGNotReady',
      `the last-known-good ${describeRelease(good)} does not become ready as the canary: ${why}`,
    );
  }
  return stay(
    withRun(state, withProgressReset(context, run)),
    words,
    act(applyPrimary(context, good.digest)),
  );
}

/** Where the primary is well and nothing presses, the canary is brought up with the last-known-good to stand in. */
function canBringUp({ world }: Context, state: Reverting): boolean {
  return isWell(state) && !world.foreignTarget;
}

/** The primary goes back for what it is, and not for a fault of it: what serves well is not given up for what does not come up. */
function isWell({ cause }: Reverting): boolean {
  return cause.isWell === true || cause.reason === 'NotLastKnownGood';
}

/** The last-known-good is written but not up: whoever is ready serves; without progress it is a matter for people (S15). */
function waitForGood(
  context: Context,
  state: Reverting,
  { good, owed }: { good: RecordView; owed: Effects },
): Outcome {
  const { world, plan } = context;
  const why = whyNotReady(world.primary);
  const leftMs = plan.postPromotion.progressDeadlineMs - sinceProgressMs(context, state.run);
  if (leftMs <= 0)
    return failRevert(
      context,
      state,
      'LKGNotReady',
      `the last-known-good ${describeRelease(good)} does not become ready: ${why}`,
    );
  const { stuckPods = [] } = world;
  const replaced = stuckPods.length > 0 ? act({ type: 'ReplacePods', pods: stuckPods }) : {};
  return stay(
    state,
    owed,
    replaced,
    note('Reverting', `reverting to ${describeRelease(good)}: ${why}`),
    wake(leftMs),
  );
}

/** The first time window may hold the last requests of the release that was left: its pods serve on while they end. */
const CONTROL_FAILURES_NEEDED = 2;

/** The failed check is asked again of the last-known-good: where that fails it, too, the cause is elsewhere (design section 5, control). */
function control(context: Context, state: Reverting, good: RecordView): Outcome {
  const { postPromotion } = context.plan;
  const { run, cause } = state;
  const { controlFailures = 0 } = cause;
  const again = controlFailures > 0 ? ' once more' : '';
  const line = note(
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
  if (asked.waits) return stay(next, line, asked.waits);
  const known = { status: { checks: [...asked.results] } };
  if (verdictOf(asked.results) !== 'fail') return withKnown(conclude(context, next, good), known);
  const failures = controlFailures + 1;
  const counted = withCause(next, { ...cause, controlFailures: failures });
  if (failures < CONTROL_FAILURES_NEEDED) return stay(counted, known, line, wake(postPromotion.intervalMs));
  const message = `the last-known-good fails the same check: ${findings(asked.results)}; the release is not the cause`;
  return withKnown(failRevert(context, counted, 'LKGFailsToo', message), known);
}

function withCause(state: Reverting, cause: RevertCause): Reverting {
  return { ...state, cause, run: { ...state.run, revert: cause } };
}

function withKnown(outcome: Outcome, known: Effects): Outcome {
  return { ...outcome, ...combine(known, outcome) };
}

/** Failed and Held: no further template write without a person or a newer revision. */
function failRevert(context: Context, state: Reverting, reason: RolloutReason, message: string): Outcome {
  const { failedChecks, iterations, cause } = state;
  const post = { ...state.post, reason, cause: message, startTime: context.now };
  const run = { ...withProgressReset(context, state.run), revert: cause };
  return enter(
    { kind: 'RevertFailed', run, failedChecks, iterations, reason, post },
    say('Warning', reason, message),
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

/** Whoever is ready; the canary, once a newer revision is to be tried on the primary. */
export function revertFailedPrefers(context: Context, state: RevertFailed): Preference {
  const { target } = context.world;
  if (state.reason === 'LKGFailsToo') return ALL.primary;
  const goesThrough =
    newerRevision(context, state) !== undefined && canaryServes(target) && !context.world.foreignTarget;
  return goesThrough ? ALL.canary : STAY;
}

/**
 * The last-known-good itself does not come up, or fails the same check. Nothing is written again by itself (S15); whoever is ready serves;
 * it heals when the primary comes up or Git goes back to the last-known-good, and a newer revision gets through (S5 g).
 */
export function revertFailed(context: Context, state: RevertFailed): Outcome {
  const { world, plan, good, head } = context;
  const { reason, post } = state;
  const words = note(reason, post.cause ?? 'the last-known-good does not become ready');
  const isFine = reason === 'LKGFailsToo';
  // Git asks for what the primary runs: nothing is left to decide, whatever the check says.
  if (isFine && head && head.digest === good?.digest)
    return endedByGit(context, state, head) ?? stay(state, words);
  const newer = newerRevision(context, state);
  if (newer && isFine) return admit(context, newer, { before: state.run });
  if (newer) return forNewer(context, state, words);
  const recreated = recreatedPrimary(context);
  if (recreated) return stay(state, words, recreated);
  // Deleted by somebody: what it ran was rejected, so that the last-known-good is all that may take its place (S14).
  const back = good && !isLost(good) && !isFine ? act(...recreatedCanary(context, good.digest)) : {};
  const isBack = good !== undefined && world.primary?.digest === good.digest;
  if (!isFine && isBack && hasConverged(world.primary, plan.primaryReadyPercent))
    return healed(context, state);
  return stay(state, words, back);
}

/** On the primary while the canary serves alone; else on the canary, while the primary serves as well as it can. */
function forNewer(context: Context, state: RevertFailed, words: Effects): Outcome {
  const { world } = context;
  const newer = newerRevision(context, state);
  if (!newer) return stay(state, words);
  const standsIn = canaryServes(world.target) && !world.foreignTarget;
  if (!standsIn && servingPods(world.primary) > 0 && !world.foreignTarget)
    return admit(context, newer, { before: state.run });
  if (!standsIn) return admit(context, newer, { side: 'primary', before: state.run });
  if (hasArrived(context, state.run, 'canary'))
    return admit(context, newer, { side: 'primary', before: state.run });
  return stay(state, words, routeNote(context, state.run));
}

/** The last-known-good is up after all: the release ends as was decided. */
function healed(context: Context, state: RevertFailed): Outcome {
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
