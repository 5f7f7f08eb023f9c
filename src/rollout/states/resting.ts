import type { CanaryStatus } from '../../api/canary/status.ts';
import { bareCommit } from '../../api/commit.ts';
import { knownReason, type RolloutReason } from '../../api/reasons.ts';
import { whyNotReady } from '../../health/readiness.ts';
import { servingPods } from '../../health/workload-view.ts';
import { type Context, elapsedMs, remainingMs } from '../context.ts';
import { act, combine, type Effects, emit, note, stall, wake } from '../outcome.ts';
import { enter, type Outcome, type StateOf, stay } from '../state.ts';
import { hasArrived, pauseCanary, resetScalers, stopCanary, syncScalers } from '../traffic/traffic.ts';
import {
  describeRelease,
  isAbandoned,
  isLost,
  type RecordView,
  type ReleaseView,
  rejectionOf,
  soundRecord,
  type World,
} from '../world.ts';
import { isWhole, liveNote, postRollout } from './ending.ts';
import { admit, begin, keptNote, withoutHead } from './head.ts';
import { finishSwitchToCopies } from './moving.ts';
import { applySettings, recreatedPrimary, reportLost } from './restore.ts';
import { startRevert } from './transitions.ts';

type Resting = StateOf<'Resting'>;

/** No release is under way: the last-known-good stays as it is, and a new release in Git is started. */
export function resting(context: Context, state: Resting): Outcome {
  const { world, good } = context;
  const { primary, status } = world;
  if (!good) return stay(state);
  if (isAbandoned(world)) return stay(state, withoutHead(context));
  const recreated = recreatedPrimary(context);
  if (recreated || !primary) return stay(state, recreated ?? {});
  const moved = finishSwitchToCopies(context);
  if (!moved.isDone)
    return { ...stay(state, moved.effects), ...(moved.prefers ? { prefers: moved.prefers } : {}) };
  const scaled = combine(moved.effects, scaleTargetDown(context));
  if (scaled.actions?.some((action) => action.type === 'ScaleCanary'))
    return stay(state, scaled, keptNote(status));
  const maintained = combine(scaled, applySettings(context));
  const atRest = staysAtRest(context, good);
  if (!atRest)
    return isLost(good)
      ? stay(state, maintained, reportLost(world, good))
      : repairPrimary(context, state, good);
  const decided = decide(context, state, { good, maintained });
  if (decided.next.kind !== 'Resting') return decided;
  const stopped = atRest.note ? {} : unacceptedRoute(context, decided);
  return { next: decided.next, ...combine(decided, stopped, atRest) };
}

/** A route that is only being taken over is accepted sooner. */
const ROUTE_PATIENCE_MS = 60_000;

/** Requests may fail although nothing was released: the controller of the route does not accept it any more. Ready says so at once; it is reported after a minute. */
function unacceptedRoute(context: Context, { next, note: rest }: Outcome): Effects {
  const { route, status } = context.world;
  if (!route || route.accepted || !isWhole(context)) return {};
  const known = (type: string) =>
    status.conditions?.find((one) => one.type === type && one.reason === 'RouteNotAccepted');
  const message = route.problem ?? 'the gateway has not accepted the route';
  const unaccepted = note('RouteNotAccepted', message);
  const stalled = stall('RouteNotAccepted', message);
  if (known('Stalled')?.status === 'True') return stalled;
  const leftMs = remainingMs(context, known('Ready')?.lastUpdateTime, ROUTE_PATIENCE_MS);
  if (leftMs === 0) return combine(stalled, emit('Warning', 'RouteNotAccepted', message));
  // Until then a rejected release is what a person is called for.
  const isFailed = next.kind === 'Resting' && next.phase === 'Failed';
  return combine(isFailed && rest ? { note: { ...rest, ready: unaccepted.note } } : unaccepted, wake(leftMs));
}

/**
 * The primary may stay as it is: it runs the last-known-good, or what Git asks for and was not rejected, or onFailure halt leaves it to people,
 * which is reported. Undefined: it has to be reverted.
 */
function staysAtRest(context: Context, good: RecordView): Effects | undefined {
  const { head, plan, world } = context;
  const digest = world.primary?.digest;
  if (digest === good.digest || (head?.digest === digest && !rejectionOf(context, digest ?? ''))) return {};
  if (plan.postPromotion.onFailure !== 'halt' || isLost(good) || head?.digest === good.digest)
    return undefined;
  const { reason, finding } = unproven(world);
  const way = `commit a newer release, or go back to ${describeRelease(good)} with git revert or holdfast rollback`;
  return stall(reason, `${finding}; onFailure keeps it: ${way}`);
}

/** The primary runs the last-known-good or what Git asks for: whether head is rolled out. */
function decide(
  context: Context,
  state: Resting,
  { good, maintained }: { good: RecordView; maintained: Effects },
): Outcome {
  const { world, head } = context;
  const hooks = postRollout(context);
  const before = combine(maintained, hooks.effects);
  if (!head) return stay(state, before, resetScalers(world), withoutHead(context));
  if (head.digest === good.digest) return settle(context, state, { head, before });
  if (rejectionOf(context, head.digest) !== undefined)
    return keepRejected(context, state, { good, head, before });
  // A last-known-good that cannot be restored is not replaced by something new, only by a proven release.
  if (isLost(good) && soundRecord(world, head.digest)?.promotedTime === undefined)
    return stay(state, before, reportLost(world, good));
  if (!hooks.isDone)
    return stay(
      state,
      before,
      note('NewRevision', `${describeRelease(head)} starts once the post-rollout webhooks have answered`),
    );
  const { status = {}, events = [] } = before;
  const admitted = admit(context, head);
  return enter(admitted.next, combine({ status, events }, admitted));
}

/** Head is the last-known-good: nothing is written; the status names its commit (design section 2.3). */
function settle(
  context: Context,
  state: Resting,
  { head, before }: { head: ReleaseView; before: Effects },
): Outcome {
  const { world } = context;
  const { status } = world;
  const isSettled = state.phase === 'Succeeded' || state.phase === 'Initialized';
  const named = isSettled && status.lastAppliedSpec === head.digest;
  const phase = isSettled && named ? state.phase : 'Succeeded';
  const news = named
    ? {}
    : combine(
        {
          status: {
            lastAppliedSpec: head.digest,
            lastAppliedCommit: head.commit.commit,
            lastPromotedCommit: head.commit.commit,
          },
        },
        emit('Normal', 'Succeeded', `the primary already runs ${describeRelease(head)}: nothing to roll out`),
      );
  const next: Resting = named ? state : { kind: 'Resting', phase: 'Succeeded', failedChecks: 0 };
  const statusNote = isWhole(context)
    ? liveNote(world, head, phase === 'Initialized' ? 'Initialized' : 'Succeeded')
    : note(
        'PrimaryNotReady',
        `${describeRelease(head)} is applied, but the primary is not ready: ${whyNotReady(world.primary)}`,
      );
  return stay(next, before, syncScalers(context), news, statusNote);
}

/** Head is a release that was rejected: the last-known-good stays and nothing is written (S14). */
function keepRejected(
  context: Context,
  state: Resting,
  { good, head, before }: { good: RecordView; head: ReleaseView; before: Effects },
): Outcome {
  const { world } = context;
  const rejection = rejectionOf(context, head.digest);
  const isKnown = state.phase === 'Failed' && world.status.lastAppliedSpec === head.digest;
  const news = isKnown
    ? {}
    : combine(
        { status: { lastAppliedSpec: head.digest, lastAppliedCommit: head.commit.commit } },
        emit('Warning', 'Rejected', `${describeRelease(head)} failed before and is not rolled out again`),
      );
  const next: Resting = isKnown ? state : { ...state, phase: 'Failed' };
  // The release is named by the commit that was rejected: head may have moved on without changing it (issue 11, 15).
  const commit = rejection?.commit || head.commit.commit;
  const subject =
    commit === head.commit.commit
      ? head.commit.subject
      : (world.status.history?.find((entry) => entry.commit === commit)?.subject ?? '');
  const name = describeRelease({ digest: head.digest, commit, subject });
  const serves = isWhole(context) ? 'serves' : `is not ready: ${whyNotReady(world.primary)}`;
  const line = `${name} was rejected (${rejection?.reason}); ${describeRelease(good)} ${serves}. Revert or fix it in Git, or retry`;
  return stay(
    next,
    before,
    syncScalers(context),
    news,
    note(knownReason(rejection?.reason, 'Rejected'), line),
  );
}

/** Without a release under way the target has no pods. */
function scaleTargetDown(context: Context): Effects {
  const { world, good, head } = context;
  const { primary, target, foreignTarget } = world;
  if (!primary?.digest) return {};
  if (!target) return foreignTarget ? {} : act({ type: 'ApplyCanary', digest: primary.digest, replicas: 0 });
  if (target.desiredReplicas === 0) return act(...pauseCanary(world, true));
  if (!hasArrived(context, undefined, 'primary') || servingPods(primary) === 0) return {};
  if (!foreignTarget) return act(...stopCanary(world));
  // A target that runs the next release keeps its pods.
  const isHeadNew = head && head.digest !== good?.digest && !rejectionOf(context, head.digest);
  return isHeadNew ? {} : scaleForeignDown(context, target.name);
}

/** Time before a target that another tool scales up is scaled down again: doubled each time, up to the longest. */
const FIRST_WAIT_MS = 30_000;
const LONGEST_WAIT_MS = 3_600_000;
/** The other tool is reported when the target was scaled down this often. */
const REPORTED_AT_COUNT = 2;

/** A target that another tool scales up each time it applies its manifest is scaled down less and less often, so that the tools do not fight (design section 2.5). */
function scaleForeignDown(context: Context, name: string): Effects {
  const { scaledDown: before } = context.world.status;
  const waitMs = before ? Math.min(FIRST_WAIT_MS * 2 ** (before.count - 1), LONGEST_WAIT_MS) : 0;
  const leftMs = before ? remainingMs(context, before.time, waitMs) : 0;
  if (leftMs > 0) return wake(leftMs);
  // Long after the last time the count restarts: a person may have scaled it by hand once.
  const isNew = before === undefined || elapsedMs(context, before.time) > LONGEST_WAIT_MS + 2 * waitMs;
  const count = isNew ? 1 : before.count + 1;
  const status: Partial<CanaryStatus> = { scaledDown: { time: context.now, count } };
  const message = `another tool scales ${name} up although no release is under way; leave replicas out of its manifest`;
  const event = count === REPORTED_AT_COUNT ? emit('Warning', 'TargetScaledUp', message) : {};
  return combine(act(...stopCanary(context.world)), { status }, event);
}

/** What is wrong with a release on the primary that is neither proven nor asked for. */
function unproven({ primary, records, status }: World) {
  const digest = primary?.digest ?? 'unknown';
  const commit = records.find((record) => record.digest === digest)?.commit ?? bareCommit();
  const wasOurs = status.history?.some((entry) => entry.digest === digest && entry.result === 'Superseded');
  const why = wasOurs ? 'which was superseded before it was verified' : 'which was never verified';
  const reason = wasOurs ? ('Superseded' as const) : ('NotLastKnownGood' as const);
  return {
    digest,
    commit,
    reason,
    finding: `the primary runs ${describeRelease({ digest, commit })}, ${why}`,
  };
}

/** It is reverted to the last-known-good; `requested`: a person asked for that, and it is rejected. */
export function repairPrimary(
  context: Context,
  state: Resting,
  good: RecordView,
  requested?: RolloutReason,
): Outcome {
  const { digest, commit, reason: found, finding } = unproven(context.world);
  const reason = requested ?? found;
  // An unknown digest cannot be rejected.
  const reject = requested !== undefined && context.world.primary?.digest !== undefined;
  // Whether its pods mount config is unknown: moving traffic off the primary first is right either way.
  const run = begin(context, { digest, commit, settingsKey: '', replicas: undefined, mountsConfig: true });
  const { failedChecks } = state;
  const promoting = { kind: 'Promoting', run, failedChecks, iterations: 0, post: {} } as const;
  const cause = { reason, finding, reject, control: false, isWell: true };
  return startRevert(context, promoting, good, cause);
}
