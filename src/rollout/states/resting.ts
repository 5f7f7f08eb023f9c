import type { CanaryStatus } from '../../api/canary/status.ts';
import { knownReason } from '../../api/reasons.ts';
import { hasConverged, servingPods, whyNotReady } from '../../health/readiness.ts';
import { type Context, elapsedMs, remainingMs } from '../context.ts';
import {
  act,
  combine,
  type Effects,
  note,
  type Outcome,
  type Preference,
  STAY,
  say,
  stall,
  stay,
  wake,
} from '../outcome.ts';
import { isLost, reportLost, soundRecord } from '../records.ts';
import { rejectionOf } from '../run.ts';
import type { StateOf } from '../state.ts';
import { isScaledToZero, pauseCanary, resetScalers, stopCanary, syncScalers } from '../traffic/scalers.ts';
import { hasArrived } from '../traffic/traffic.ts';
import { describeRelease, type RecordView, type ReleaseView } from '../world.ts';
import { admit, begin } from './admit.ts';
import { postRollout } from './ending.ts';
import { startRevert } from './hold-or-revert.ts';
import { finishSwitchToCopies } from './moving.ts';
import { recreatedPrimary } from './recreate.ts';

type Resting = StateOf<'Resting'>;

/** The primary serves, if it has what it takes; while traffic moves here from a target that served alone, that decides (see moving.ts). */
export function restingPrefers({ world }: Context): Preference {
  return world.status.move || !world.primary?.digest ? STAY : { kind: 'all', side: 'primary', reapply: true };
}

/** No release is under way: keep what is good as it is, and look whether Git wants something new. */
export function resting(context: Context, state: Resting): Outcome {
  const { world, good, head } = context;
  const { primary, target } = world;
  if (!good) return stay(state);
  if (!primary && !target && world.head.kind === 'missing') return stay(state, withoutHead(context));
  const recreated = recreatedPrimary(context);
  if (recreated || !primary) return stay(state, recreated ?? {});
  const moved = finishSwitchToCopies(context);
  if (!moved.isOver)
    return { ...stay(state, moved.effects), ...(moved.prefers ? { prefers: moved.prefers } : {}) };
  const steady = combine(moved.effects, scaleTargetDown(context));
  if (steady.actions?.some((action) => action.type === 'ScaleCanary'))
    return stay(state, steady, noteOf(context));
  const kept = combine(steady, applySettings(context));
  if (primary.digest !== good.digest && head?.digest !== primary.digest)
    return isLost(good) ? stay(state, kept, reportLost(world, good)) : repairPrimary(context, state, good);
  return decide(context, state, { good, kept });
}

/** What was said last, as long as the canary is being put to rest. */
function noteOf({ world }: Context): Effects {
  const before = world.status.conditions?.find((condition) => condition.type === 'Ready');
  return before && world.status.message !== undefined
    ? note(knownReason(before.reason, 'Unknown'), world.status.message)
    : {};
}

/** Replicas, strategy and deadlines of head; and what somebody changed of the number of pods. */
function applySettings(context: Context): Effects {
  const { world, head } = context;
  const isNew = head && world.primary && world.primary.settingsKey !== head.settingsKey;
  if (isNew) return act({ type: 'ApplySettings', digest: head.digest, settingsKey: head.settingsKey });
  return {};
}

function decide(
  context: Context,
  state: Resting,
  { good, kept }: { good: RecordView; kept: Effects },
): Outcome {
  const { world, head } = context;
  const told = postRollout(context);
  const before = combine(kept, told.effects);
  if (!head) return stay(state, before, resetScalers(world), withoutHead(context));
  if (head.digest === good.digest) return settle(context, state, { head, before });
  if (rejectionOf(context, head.digest) !== undefined)
    return keepRejected(context, state, { good, head, before });
  // What could not be returned to is not given up for something new; a proven release is the way out.
  if (isLost(good) && soundRecord(world, head.digest)?.promotedTime === undefined)
    return stay(state, before, reportLost(world, good));
  if (!told.isDone)
    return stay(
      state,
      before,
      note('NewRevision', `${describeRelease(head)} starts once the post-rollout webhooks have answered`),
    );
  const { status: settled, events = [] } = before;
  const admitted = admit(context, head);
  return {
    ...admitted,
    status: { ...settled, ...admitted.status },
    events: [...events, ...(admitted.events ?? [])],
  };
}

/** Git says what the last-known-good is: nothing is written, only named (design section 2.3). */
function settle(
  context: Context,
  state: Resting,
  { head, before }: { head: ReleaseView; before: Effects },
): Outcome {
  const { world, plan } = context;
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
        say('Normal', 'Succeeded', `the primary already runs ${describeRelease(head)}: nothing to roll out`),
      );
  const next: Resting = named ? state : { kind: 'Resting', phase: 'Succeeded', failedChecks: 0 };
  const isWhole = hasConverged(world.primary, plan.primaryReadyPercent) || isScaledToZero(world);
  const words = isWhole
    ? note(phase === 'Initialized' ? 'Initialized' : 'Succeeded', `${describeRelease(head)} is live`)
    : note(
        'PrimaryNotReady',
        `${describeRelease(head)} is applied, but the primary is not ready: ${whyNotReady(world.primary)}`,
      );
  return stay(next, before, syncScalers(context), news, words);
}

/** Head is a release that failed before: stay with the last-known-good and write nothing (S14). */
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
        say('Warning', 'Rejected', `${describeRelease(head)} failed before and is not rolled out again`),
      );
  const next: Resting = isKnown ? state : { ...state, phase: 'Failed' };
  const what = describeRelease(rejectedOf(context, head));
  const line = `${what} was rejected (${rejection?.reason}); ${describeRelease(good)} serves. Revert or fix it in Git, or retry`;
  return stay(
    next,
    before,
    syncScalers(context),
    news,
    note(knownReason(rejection?.reason, 'Rejected'), line),
  );
}

/** The release as it was when it was rejected: head may have moved on without changing it (issue 11, 15). */
function rejectedOf(context: Context, head: ReleaseView): ReleaseView {
  const commit = rejectionOf(context, head.digest)?.commit;
  if (!commit || commit === head.commit.commit) return head;
  const known = context.world.status.history?.find((entry) => entry.commit === commit);
  return { ...head, commit: { ...head.commit, commit, subject: known?.subject ?? '' } };
}

/** Without a release the target has no pods. */
function scaleTargetDown(context: Context): Effects {
  const { world } = context;
  const { primary, target, foreignTarget } = world;
  if (!primary?.digest) return {};
  if (!target) return foreignTarget ? {} : act({ type: 'ApplyCanary', digest: primary.digest, replicas: 0 });
  if (target.desiredReplicas === 0) return act(...pauseCanary(world, true));
  if (!hasArrived(context, undefined, 'primary') || servingPods(primary) === 0) return {};
  if (!foreignTarget) return act(...stopCanary(world));
  return isHeadNew(context) ? {} : restForeign(context, target.name);
}

/** A target that Git may want to be rolled out next keeps its pods. */
function isHeadNew(context: Context): boolean {
  const { good, head } = context;
  return head !== undefined && head.digest !== good?.digest && !rejectionOf(context, head.digest);
}

/** Waits between two times that a target is scaled down which another tool scales up: doubled each time, up to the longest. */
const FIRST_WAIT_MS = 30_000;
const LONGEST_WAIT_MS = 3_600_000;
/** The count from which on the other tool is reported. */
const TOLD_AT_COUNT = 2;

/** A target that another tool scales up each time it applies its manifest is scaled down less and less often, so that the two never fight (design section 2.5). */
function restForeign(context: Context, name: string): Effects {
  const { scaledDown: before } = context.world.status;
  const waitMs = before ? Math.min(FIRST_WAIT_MS * 2 ** (before.count - 1), LONGEST_WAIT_MS) : 0;
  const leftMs = before ? remainingMs(context, before.time, waitMs) : 0;
  if (leftMs > 0) return wake(leftMs);
  // Quiet for much longer than the wait: somebody scaled it by hand once.
  const isNew = before === undefined || elapsedMs(context, before.time) > LONGEST_WAIT_MS + 2 * waitMs;
  const count = isNew ? 1 : before.count + 1;
  const status: Partial<CanaryStatus> = { scaledDown: { time: context.now, count } };
  const message = `another tool scales ${name} up although no release is under way; leave replicas out of its manifest`;
  const told = count === TOLD_AT_COUNT ? say('Warning', 'TargetScaledUp', message) : {};
  return combine(act(...stopCanary(context.world)), { status }, told);
}

/** The primary runs something that never proved itself and that Git does not want: back to the last-known-good, safely. */
function repairPrimary(context: Context, state: Resting, good: RecordView): Outcome {
  const { primary, records, status } = context.world;
  const digest = primary?.digest ?? 'unknown';
  const nobody = { commit: '', subject: '', author: '', time: '' };
  const commit = records.find((record) => record.digest === digest)?.commit ?? nobody;
  // Nobody knows what its pods mount: clearing the primary first is right either way.
  const run = begin(context, { digest, commit, settingsKey: '', replicas: undefined, mountsConfig: true });
  const wasOurs = status.history?.some((entry) => entry.digest === digest && entry.result === 'Superseded');
  const finding = `the primary runs ${describeRelease({ digest, commit })}, ${wasOurs ? 'which was superseded before it was verified' : 'which was never verified'}`;
  const reason = wasOurs ? 'Superseded' : 'NotLastKnownGood';
  const promoting = {
    kind: 'Promoting',
    run,
    failedChecks: state.failedChecks,
    iterations: 0,
    post: {},
  } as const;
  return startRevert(context, promoting, good, {
    reason,
    finding,
    reject: false,
    control: false,
    isWell: true,
  });
}

/** Why head cannot be rolled out at all. */
const REFUSED: ReadonlySet<string> = new Set(['RecordTooLarge', 'InvalidManifests']);

/** Git holds no such workload, or is silent: until it was read once after a start, what was said before still holds. */
export function withoutHead({ world: { head, status } }: Context): Effects {
  if (head.kind === 'release') return {};
  if (head.kind === 'missing') return stall('TargetMissing', head.message);
  const before = status.conditions?.find((condition) => condition.type === 'Ready');
  if (head.reason === 'SourceNotRead' && before && status.message !== undefined)
    return note(
      knownReason(before.reason, 'Unknown'),
      status.message,
      status.next && { action: status.next.action },
    );
  const reason = knownReason(head.reason, 'Unknown');
  // Refused before anything was started: only another commit helps.
  return REFUSED.has(reason) ? stall(reason, head.message) : note(reason, head.message);
}
