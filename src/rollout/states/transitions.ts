/** How a release leaves its state: it ends, is held, or the primary is reverted to the last-known-good (design section 5). */
import type { RolloutReason } from '../../api/reasons.ts';
import { failsAtOnce, whyNotReady } from '../../health/readiness.ts';
import { type Context, withProgressReset } from '../context.ts';
import { combine, type Effects, emit, rejectionFor } from '../outcome.ts';
import { decideVerification, sharedCause } from '../post-promotion.ts';
import { enter, type Outcome, type RunState, type StateOf, without } from '../state.ts';
import {
  describeRelease,
  type Ending,
  type RecordView,
  type RevertCause,
  type Run,
  revertTarget,
} from '../world.ts';

/** Decides how a release ends. A rejection counts from then on, before it is written to its Secret (S14). */
export function end(
  context: Context,
  state: RunState,
  ending: Ending,
  more: Pick<Effects, 'status' | 'events'> = {},
): Outcome {
  const { failedChecks, iterations } = state;
  const isOver = state.kind === 'Verifying' || state.kind === 'Reverting';
  const post = isOver ? { post: { ...state.post, state: state.kind } as const } : {};
  const run = { ...without(state.run, 'progressKey'), lastProgressTime: context.now, ending };
  const phase = phaseAtEnd(state);
  const next: StateOf<'Ending'> = { kind: 'Ending', run, failedChecks, iterations, ending, phase, ...post };
  const event = emit(ending.phase === 'Failed' ? 'Warning' : 'Normal', ending.reason, ending.message);
  const rejects = ending.reject ? rejectionFor(run, ending.reject, ending.cause) : [];
  return enter(next, combine(more, event, { rejects }));
}

/** Flagger's phase at the time of the decision, which stays until the release has ended. */
function phaseAtEnd(state: RunState): StateOf<'Ending'>['phase'] {
  if (state.kind === 'Verifying') return 'Finalising';
  if (state.kind === 'Reverting' || state.kind === 'Ending') return state.phase;
  return state.kind === 'Analysing' && state.isGateClosed ? 'WaitingPromotion' : 'Progressing';
}

/** A gate stayed closed beyond its deadline: the release ends before anything of it was written to the primary. */
export function failAtGate(
  context: Context,
  state: RunState,
  { type, why }: { type: string; why: string },
): Outcome {
  const message = `${type} did not open before its deadline: ${why}`;
  const reason = 'GateDeadlineExceeded';
  if (isOnPrimary(context, state.run))
    return failOnPrimary(context, state, { reason, finding: message, control: false });
  return end(context, state, { phase: 'Failed', reason, message, reject: reason });
}

/** The primary runs what is tried, or was held, there: traffic that comes back to it would be traffic to that. */
export function isOnPrimary({ world, good }: Context, { side }: Run): boolean {
  return side === 'primary' && world.primary?.digest !== good?.digest;
}

/** A person or a webhook cancels a release before it was written to the primary. */
export function withdraw(
  context: Context,
  state: RunState,
  { reason, finding, message = finding }: Pick<Failure, 'reason' | 'finding'> & { readonly message?: string },
): Outcome {
  const { run, failedChecks, iterations } = state;
  if (isOnPrimary(context, run)) return failOnPrimary(context, state, { reason, finding, control: false });
  const trying = { kind: 'Starting', run, failedChecks, iterations } as const;
  return end(context, trying, { phase: 'Failed', reason, message, reject: reason });
}

/** What went wrong after promotion. */
interface Failure {
  readonly reason: RolloutReason;
  /** One finding with its value and bound. */
  readonly finding: string;
  /** A check failed: it is repeated on the last-known-good after a revert. */
  readonly control: boolean;
  /** Only metrics or webhooks failed, for which other Canaries may have the same cause. */
  readonly shareable?: boolean;
  /** By the table of causes. */
  readonly cause?: string;
}

/** Starts the revert of the primary to the last-known-good: the intent is written first, then the record's bytes (S12, S13). */
export function startRevert(
  context: Context,
  state: RunState,
  good: RecordView,
  cause: RevertCause,
  diagnosed?: string,
): Outcome {
  const { failedChecks, iterations } = state;
  const run = { ...without(withProgressReset(context, state.run), 'stepTime'), revert: cause };
  const phase = state.kind === 'Verifying' ? 'Finalising' : 'Promoting';
  const before = 'post' in state && state.post ? state.post : {};
  const post = { ...before, reason: cause.reason, cause: cause.finding, startTime: context.now };
  const next: StateOf<'Reverting'> = { kind: 'Reverting', run, failedChecks, iterations, phase, cause, post };
  return enter(next, {
    ...emit('Warning', 'Reverting', `the primary is reverted to ${describeRelease(good)}: ${cause.finding}`),
    rejects: cause.reject ? rejectionFor(run, cause.reason, diagnosed) : [],
  });
}

/** Checks failed with all traffic on the primary: auto reverts at once. */
export function failVerification(context: Context, state: RunState, failure: Failure): Outcome {
  const { onFailure } = context.plan.postPromotion;
  const shared = failure.shareable && onFailure === 'auto' ? sharedCause(context.world) : undefined;
  const { action } = decideVerification(onFailure, shared);
  if (action === 'revert') return revert(context, state, failure);
  if (!shared) return hold(context, state, failure);
  return hold(context, state, {
    ...failure,
    reason: 'SharedCause',
    finding: `${shared}; ${failure.finding}`,
  });
}

/** A primary that serves and fails ends the wait for checks and deadlines (design section 5). Undefined while it does not fail. */
export function failDead(context: Context, state: RunState): Outcome | undefined {
  const { primary } = context.world;
  if (!failsAtOnce(primary, context.plan.primaryReadyPercent)) return undefined;
  const finding = whyNotReady(primary);
  return failVerification(context, state, { reason: 'PrimaryUnhealthy', finding, control: false });
}

/** Reverts to the last-known-good, or holds if there is none. */
export function revert(context: Context, state: RunState, failure: Failure, reject = true): Outcome {
  const good = revertTarget(context.good, state.run);
  if (!good) return hold(context, state, failure);
  const { reason, finding, control, cause } = failure;
  return startRevert(context, state, good, { reason, finding, control, reject }, cause);
}

/** State Held: a healthy side serves, the primary keeps trying, and it is reported (option A of the founding issue). */
export function hold(context: Context, state: RunState, { reason, finding }: Failure): Outcome {
  const { failedChecks, iterations } = state;
  const before = 'post' in state && state.post ? state.post : {};
  const post = { ...before, reason, cause: finding, startTime: context.now };
  const run = withProgressReset(context, state.run);
  return enter(
    { kind: 'Held', run, failedChecks, iterations, reason, post },
    emit('Warning', 'Held', `${describeRelease(run)} is held: ${finding}`),
  );
}

/** The step begins with the hold: it goes on once the primary has been left alone for long enough since then. */
export function holdUnderChanges(context: Context, state: RunState, finding: string): Outcome {
  const next = { ...state, run: { ...state.run, stepTime: context.now } };
  return hold(context, next, { reason: 'ForeignChange', finding, control: false });
}

/**
 * A release leaves the primary, on which it was tried, or was going to be: it is reverted, or held under onFailure halt; and rejected, unless
 * Git left it (issue 11, 7 and 9).
 */
export function failOnPrimary(
  context: Context,
  before: RunState,
  failure: Failure,
  isRejected = true,
): Outcome {
  const state = { ...before, run: without(before.run, 'awaitsConfirmation', 'awaitsWindow', 'closedGate') };
  const isHalt = context.plan.postPromotion.onFailure === 'halt';
  const outcome = isHalt ? hold(context, state, failure) : revert(context, state, failure, isRejected);
  const rejects = isRejected ? rejectionFor(state.run, failure.reason, failure.cause) : [];
  return { ...outcome, rejects };
}
