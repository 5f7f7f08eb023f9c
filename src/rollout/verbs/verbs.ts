/** Requests by annotation: one function per verb, whose answer depends on the state (design section 2.3; the table is in docs). */

import type { CanaryVerb } from '../../api/annotations.ts';
import { commandOn, nameOf } from '../../api/kubernetes.ts';
import type { RolloutReason } from '../../api/reasons.ts';
import { servingPods } from '../../health/workload-view.ts';
import { hasHooks } from '../checks.ts';
import type { Context } from '../context.ts';
import { ALL, combine, note } from '../outcome.ts';
import { namesRelease, type Request } from '../requests.ts';
import { type Outcome, type RunState, type State, type StateKind, type StateOf, stay } from '../state.ts';
import { positionOf, promote as promoteNow } from '../states/analysing.ts';
import { admit, type PlaceToTry, sideToTry } from '../states/head.ts';
import { verifiedAgain } from '../states/held.ts';
import { repairPrimary } from '../states/resting.ts';
import { isGoodBack } from '../states/reverting.ts';
import { isOnPrimary, startRevert, withdraw } from '../states/transitions.ts';
import { isStepFrozen, untilResumed, windowWaitMs } from '../windows.ts';
import {
  describeRelease,
  headRelease,
  isLost,
  type RecordView,
  rejectionOf,
  soundRecord,
  type World,
} from '../world.ts';

/** The answer to a request. */
export type Answer =
  /** It was taken, and this follows; the cluster is observed again. */
  | { readonly result: 'Done'; readonly message: string; readonly outcome: Outcome }
  /** Nothing is done, for this reason. */
  | { readonly result: 'Refused'; readonly reason: RolloutReason; readonly message: string }
  /** Something else must end first: the request stays. `outcome`: a step towards that. */
  | { readonly result: 'Later'; readonly outcome?: Outcome };

/** One verb: what it does in this state. */
type Verb = (context: Context, state: State, request: Request) => Answer;

/** Groups of states with the same answers to requests. */
export type Stage = 'first' | 'idle' | 'trying' | 'written' | 'ending' | 'revertFailed';

/** The stage of each state. */
export const STAGES: Readonly<Record<StateKind, Stage>> = {
  Initializing: 'first',
  Resting: 'idle',
  Waiting: 'trying',
  Starting: 'trying',
  Analysing: 'trying',
  Promoting: 'trying',
  Converging: 'written',
  Verifying: 'written',
  Held: 'written',
  Reverting: 'ending',
  RevertFailed: 'revertFailed',
  Ending: 'ending',
};

type Placed =
  | { readonly stage: 'first' }
  | { readonly stage: 'idle' }
  | { readonly stage: 'trying' | 'written' | 'ending' | 'revertFailed'; readonly state: RunState };

/** The stage of a state. A release that was written and is proven is ending. */
function placeOf({ good }: Context, state: State): Placed {
  if (state.kind === 'Initializing') return { stage: 'first' };
  if (state.kind === 'Resting') return { stage: 'idle' };
  const stage = STAGES[state.kind];
  const isProven = stage === 'written' && good?.digest === state.run.digest;
  return { stage: isProven ? 'ending' : (stage as 'trying'), state };
}

function done(message: string, outcome: Outcome): Answer {
  return { result: 'Done', message, outcome };
}

/** It was taken, and only the bookkeeping changes. */
function noted(message: string, next: State): Answer {
  return done(message, stay(next, note('Requested', message)));
}

function stale(request: Request, what: string): Answer {
  const named = request.revision.slice(0, 16) || 'nothing';
  return { result: 'Refused', reason: 'Stale', message: `the request names ${named}, but ${what}` };
}

function notApplicable(why: string): Answer {
  return { result: 'Refused', reason: 'NotApplicable', message: why };
}

function alreadyEnding({ good }: Context, state: RunState): Answer {
  const name = describeRelease(state.run);
  const isFailed = state.kind === 'Ending' && state.ending.phase === 'Failed';
  return notApplicable(
    good?.digest === state.run.digest && !isFailed
      ? `${name} is promoted and counts as good already; an earlier release comes back by a rollback`
      : `${name} is already ending`,
  );
}

function headUnknown({ head }: World): Answer {
  const why = head.kind === 'release' ? '' : `: ${head.message}`;
  return notApplicable(`what is at head is not known, so that nothing is tried again${why}`);
}

function recordDamaged(record: RecordView): Answer {
  const message = `the record of release ${describeRelease(record)} cannot be used; to see what to do: holdfast runbook RecordDamaged. ${record.damaged ?? ''}`;
  return { result: 'Refused', reason: 'RecordDamaged', message };
}

/** Ends the release under way and rejects it: before the first write to the primary it fails, after it the primary is reverted. */
const abort: Verb = (context, current, request) => {
  const { good } = context;
  const where = placeOf(context, current);
  if (where.stage === 'first' || !good) return notApplicable('there is no release to revert to yet');
  if (where.stage === 'idle') return notApplicable('no release is under way');
  const { state } = where;
  const name = describeRelease(state.run);
  if (!namesRelease(request, state.run)) return stale(request, `${name} is under way`);
  if (where.stage === 'ending') return alreadyEnding(context, state);
  if (where.stage === 'revertFailed') return notApplicable(`${name} was already reverted`);
  const message = `${name} was aborted on request`;
  const outcome = withdrawOrRevert(context, state, good, {
    reason: 'Aborted',
    finding: 'aborted on request',
    message,
  });
  return outcome ? done(message, outcome) : recordDamaged(good);
};

/** Ends a release on request; undefined if the primary would have to be reverted to a release that is lost. */
function withdrawOrRevert(
  context: Context,
  state: RunState,
  good: RecordView,
  { reason, finding, message = finding }: { reason: RolloutReason; finding: string; message?: string },
): Outcome | undefined {
  // What a person gives up for the last-known-good is reverted under onFailure halt, too.
  const isReverted = reason === 'RolledBack' && isOnPrimary(context, state.run) && !isLost(good);
  if (STAGES[state.kind] === 'trying' && !isReverted)
    return withdraw(context, state, { reason, finding, message });
  return isLost(good)
    ? undefined
    : startRevert(context, state, good, { reason, finding, reject: true, control: false });
}

/**
 * Progressing and Waiting promote as soon as the canary is ready, without further checks; Verifying counts as good, also if it is held for want
 * of answers, or while others change the primary; Held keeps waiting for the primary and is no longer reverted automatically. Capacity and readiness are never skipped (S1, S4).
 */
const promote: Verb = (context, current, request) => {
  const where = placeOf(context, current);
  if (where.stage === 'first') return notApplicable('the first release is promoted automatically');
  if (where.stage === 'idle') return notApplicable('no release is under way; use retry for a rejected one');
  const { state } = where;
  const name = describeRelease(state.run);
  if (!namesRelease(request, state.run)) return stale(request, `${name} is under way`);
  if (where.stage === 'ending' || where.stage === 'revertFailed') return alreadyEnding(context, state);
  if (state.kind === 'Promoting' || state.kind === 'Converging')
    return notApplicable(`${name} is already being promoted`);
  const isUnjudged =
    state.kind === 'Held' && (state.reason === 'ChecksUnavailable' || state.reason === 'ForeignChange');
  const verified = isUnjudged ? verifiedAgain(context, state) : state;
  if (verified.kind === 'Verifying')
    return noted(`${name} is accepted as good on request`, {
      ...verified,
      run: { ...verified.run, countsAsGood: true },
    });
  if (state.kind === 'Held')
    return noted(`${name} stays held: it is not reverted automatically`, {
      ...state,
      run: { ...state.run, keepWaiting: true },
    });
  const run = { ...state.run, promoteNow: true, approved: ['Waiting', 'WaitingPromotion'] as const };
  const resumed = untilResumed(context, run);
  const when =
    resumed === undefined ? 'as soon as the canary is ready' : `with a ready canary, once ${resumed}`;
  return noted(`${name} is promoted on request ${when}`, { ...state, run });
};

/** Opens the gate that a release waits at in phase Waiting or WaitingPromotion; each phase needs its own request. */
const approve: Verb = (context, state, request) => {
  // The phase becomes Waiting with the first refusal of the gate, which may be asked for long.
  const isAsked = hasHooks(context, 'confirm-rollout');
  const isAtStart = state.kind === 'Waiting' && (state.phase === 'Waiting' || isAsked);
  const isAtEnd = state.kind === 'Analysing' && state.isGateClosed;
  if (!isAtStart && !isAtEnd) return notApplicable('nothing waits for an approval');
  const { run } = state;
  if (!namesRelease(request, run)) return stale(request, `${describeRelease(run)} waits`);
  if (isAtStart && windowWaitMs(context, run, run) > 0 && !isAsked)
    return notApplicable(`${describeRelease(run)} is held by a window or a freeze; use ignore-window`);
  const phase = isAtStart ? ('Waiting' as const) : ('WaitingPromotion' as const);
  const approved = [...new Set([...(run.approved ?? []), phase])];
  return noted(`${describeRelease(run)} was approved`, { ...state, run: { ...run, approved } });
};

/** Skips the check of the current step once: the next share follows as soon as its pods are ready (S4). */
const skipStep: Verb = (context, state, request) => {
  const isAtStep = (state.kind === 'Analysing' && !state.isGateClosed) || state.kind === 'Starting';
  if (!isAtStep) return notApplicable('no release is at a step');
  const { run } = state;
  if (!namesRelease(request, run)) return stale(request, `${describeRelease(run)} is at its step`);
  const message = `the check of ${describeRelease(run)} at this step is skipped`;
  return noted(message, { ...state, run: { ...run, skipStepAt: positionOf(context, state) } });
};

/**
 * Lets the revision at head start although its window is closed, or the one that waits while head is unknown, or one that is frozen at its step
 * while a newer one waits behind it; the next one waits again (design section 2.3).
 */
const ignoreWindow: Verb = (context, state, request) => {
  const { head } = context;
  const run = 'run' in state ? state.run : undefined;
  const isTrying = run !== undefined && STAGES[state.kind] === 'trying';
  const atStep = isTrying && namesRelease(request, run) && isStepFrozen(context, run) ? run : undefined;
  const release = atStep ?? (head ? { digest: head.digest, commit: head.commit.commit } : run);
  if (!release || windowWaitMs(context, release, run) === 0)
    return notApplicable('no window and no freeze holds the release back');
  const name = describeRelease(atStep ?? head ?? release);
  const isMeant =
    namesRelease(request, release) || (run?.digest === release.digest && namesRelease(request, run));
  if (!isMeant) return stale(request, `${name} waits`);
  return noted(`${name} is let through windows and freezes on request`, state);
};

/**
 * Lifts the rejection of head, so that it is tried again (S14). If the last-known-good failed too, the release was not the cause, and it is
 * started without a new commit (design section 5, control).
 */
const retry: Verb = (context, current, request) => {
  const { head, world } = context;
  if (!head) return headUnknown(world);
  // A later commit that changes nothing of the release is the same release (S14): either commit names it.
  const rejection = rejectionOf(context, head.digest);
  const commits = [head.commit.commit, headRelease(world)?.commit.commit, rejection?.commit];
  if (!commits.some((commit = '') => namesRelease(request, { digest: head.digest, commit })))
    return stale(request, `${describeRelease(head)} is at head`);
  const where = placeOf(context, current);
  const isRevertFailed = where.stage === 'revertFailed' && where.state.run.digest === head.digest;
  if (!rejection && !isRevertFailed) return notApplicable(`${describeRelease(head)} was not rejected`);
  if (where.stage === 'ending' || isGoodBack(context, current)) return { result: 'Later' };
  const unrejects = rejection ? [rejection.digest] : [];
  const message = `${describeRelease(head)} is tried again on request`;
  const statusNote = note('Retry', message);
  if (!isRevertFailed) return done(message, { ...stay(current, statusNote), unrejects });
  const { state } = where;
  if (state.kind !== 'RevertFailed' || state.reason === 'LKGFailsToo')
    return done(message, { ...admit(context, head, { before: state.run }), unrejects, ...statusNote });
  if (world.sharesWorkload && servingPods(world.primary) > 0)
    return notApplicable(
      `pods of ${describeRelease(head)} may still serve, and it is not tried in place over them before the last-known-good is ready: push a newer commit, or roll back to another release`,
    );
  const place = sideToTry(context, state);
  if (place.waits) return waitingFor(place, 'Retry', message);
  const admitted = admit(context, head, { side: place.side, before: state.run });
  return done(message, { ...admitted, unrejects, ...statusNote });
};

/** It is not clear yet on which side a release is tried: that is waited for as long as for a newer revision. */
function waitingFor(
  { state, waits = {}, next }: PlaceToTry,
  reason: RolloutReason,
  message: string,
): { readonly result: 'Later'; readonly outcome: Outcome } {
  const statusNote = note(reason, `${message}, once the canary carries all traffic`, next);
  return { result: 'Later', outcome: { ...stay(state, statusNote, waits), prefers: ALL.canary } };
}

/**
 * Rolls out an older proven release without analysis, on the canary first, so that it is known to still become ready. Head's digest is
 * rejected: at once if it is not proven, else after the older one was promoted (there is always a last-known-good).
 */
const rollbackTo: Verb = (context, state, request) => {
  const { good } = context;
  const where = placeOf(context, state);
  if (where.stage === 'first' || !good) return notApplicable('there is no release to revert to yet');
  const wanted = recordedRelease(context, request);
  if ('result' in wanted) return wanted;
  if (wanted.digest === good.digest) return rollbackToGood(context, where, state, wanted);
  return rollbackToOlder(context, where, state, { wanted, good });
};

/** The proven record that the request names; of several the newest one. */
function recordedRelease(context: Context, request: Request): RecordView | Answer {
  const record = context.world.records.find(({ digest, commit }) =>
    namesRelease(request, { digest, commit: commit.commit }),
  );
  if (record?.promotedTime === undefined) {
    const message = `${request.revision.slice(0, 16) || 'nothing'} is not a kept release; to list them, run: ${commandOn('history', nameOf(context.world.canary))}`;
    return { result: 'Refused', reason: 'NotKept', message };
  }
  if (isLost(record)) return recordDamaged(record);
  if (!rejectionOf(context, record.digest)) return record;
  const how =
    context.head?.digest === record.digest
      ? 'it is at head: ask for a retry'
      : 'only what is at head is retried: bring it back in Git, then ask for a retry';
  return {
    result: 'Refused',
    reason: 'Rejected',
    message: `${describeRelease(record)} was rejected; ${how}`,
  };
}

/** A rollback to the last-known-good: the release under way ends, or nothing has to be done. */
function rollbackToGood(context: Context, where: Placed, current: State, good: RecordView): Answer {
  if (current.kind === 'Resting') {
    const { head, world } = context;
    const isNews = head && head.digest !== good.digest && !rejectionOf(context, head.digest);
    const rejects = isNews
      ? [{ digest: head.digest, commit: head.commit.commit, reason: 'RolledBack' as const }]
      : [];
    // Under onFailure halt the primary may run what was never verified.
    const isOn = world.primary?.digest === good.digest || !world.primary;
    if (isOn && !isNews)
      return notApplicable(`${describeRelease(good)} is the last-known-good and already serves`);
    if (isOn) return done(`${describeRelease(good)} stays`, { ...stay(current), rejects });
    const outcome = repairPrimary(context, current, good, 'RolledBack');
    return done(`rolling back to ${describeRelease(good)}`, {
      ...outcome,
      rejects: [...rejects, ...(outcome.rejects ?? [])],
    });
  }
  if (where.stage !== 'trying' && where.stage !== 'written')
    return notApplicable(`the primary already runs ${describeRelease(good)}, or is being reverted to it`);
  const finding = `rolled back from ${describeRelease(where.state.run)} to ${describeRelease(good)} on request`;
  const outcome = withdrawOrRevert(context, where.state, good, { reason: 'RolledBack', finding });
  return outcome ? done(`rolling back to ${describeRelease(good)}`, outcome) : recordDamaged(good);
}

/** A rollback to an older release than the last-known-good: the one under way ends first, then the older one is rolled out. */
function rollbackToOlder(
  context: Context,
  where: Placed,
  current: State,
  { wanted, good }: { wanted: RecordView; good: RecordView },
): Answer {
  if (where.stage === 'ending' || where.stage === 'first' || isGoodBack(context, current))
    return { result: 'Later' };
  const place = isTriedBeside(context, current) ? sideToTry(context, current) : undefined;
  const older = { wanted, good, place };
  if (context.head?.digest === wanted.digest && where.stage !== 'written')
    return notApplicable(`${describeRelease(wanted)} is at head: it is rolled out anyway`);
  if (where.stage === 'trying' || where.stage === 'written') {
    if (where.state.run.digest === wanted.digest)
      return notApplicable(`${describeRelease(wanted)} is already being rolled out`);
    // Nothing can end it first: the older release is written over it.
    if (current.kind === 'Held' && isLost(good)) return startOlder(context, where, older);
    const finding = `${describeRelease(where.state.run)} is cancelled: a rollback to ${describeRelease(wanted)} was requested`;
    const outcome = withdrawOrRevert(context, where.state, good, { reason: 'RolledBack', finding });
    return outcome ? { result: 'Later', outcome } : recordDamaged(good);
  }
  return startOlder(context, where, older);
}

/** What the primary runs is of no use, so that an older release may be tried there while the canary serves; not where both are one workload. */
function isTriedBeside({ world }: Context, current: State): current is StateOf<'Held' | 'RevertFailed'> {
  const isRevertFailed = current.kind === 'RevertFailed' && current.reason === 'LKGNotReady';
  return !world.sharesWorkload && (isRevertFailed || current.kind === 'Held');
}

function startOlder(
  context: Context,
  where: Placed,
  { wanted, good, place }: { wanted: RecordView; good: RecordView; place: PlaceToTry | undefined },
): Answer {
  const { world, head } = context;
  const rollback = head
    ? { digest: head.digest, commit: head.commit.commit }
    : { digest: good.digest, commit: good.commit.commit };
  const isOpen =
    rollback.digest !== good.digest &&
    rollback.digest !== wanted.digest &&
    !rejectionOf(context, rollback.digest);
  const rejects = isOpen ? [{ ...rollback, reason: 'RolledBack' as const }] : [];
  // A record does not say what its pods mount: moving traffic off the primary first is right either way.
  const release = {
    digest: wanted.digest,
    commit: wanted.commit,
    settingsKey: '',
    replicas: undefined,
    mountsConfig: true,
  };
  const message = `rolling back to ${describeRelease(wanted)}`;
  if (place?.waits) {
    const later = waitingFor(place, 'RolledBack', message);
    return { ...later, outcome: { ...later.outcome, rejects } };
  }
  const { side } = place ?? {};
  const before = 'state' in where ? { before: where.state.run } : {};
  const admitted = admit(context, release, { rollback, ...before, ...(side ? { side } : {}) });
  const outcome = { ...admitted, rejects };
  // Another tool writes the canary: the older release cannot be tried there first.
  const isTriedFirst = !world.foreignTarget || side === 'primary';
  if (isTriedFirst || !soundRecord(world, wanted.digest)) return done(message, outcome);
  const { next } = admitted;
  if (next.kind !== 'Starting' && next.kind !== 'Analysing') return done(message, outcome);
  const promoted = promoteNow(context, { ...next, kind: 'Analysing', isGateClosed: false });
  return done(message, { ...promoted, ...combine(admitted, promoted), rejects });
}

/** Every verb. */
export const VERBS: Readonly<Record<CanaryVerb, Verb>> = {
  abort,
  'rollback-to': rollbackTo,
  retry,
  approve,
  promote,
  'skip-step': skipStep,
  'ignore-window': ignoreWindow,
};
