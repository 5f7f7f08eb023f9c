/** From a release that failed after promotion to a hold, or back to the last-known-good (design section 5, the heart). */
import type { RolloutReason } from '../../api/reasons.ts';
import { diagnose, sentence } from '../../health/diagnosis.ts';
import { failsAtOnce, whyNotReady } from '../../health/readiness.ts';
import type { Context } from '../context.ts';
import { enter, type Outcome, say } from '../outcome.ts';
import { canaryState, decidePromotion, decideVerification, sharedCause } from '../post-promotion.ts';
import { withProgressReset } from '../progress.ts';
import { revertTarget } from '../records.ts';
import type { RevertCause } from '../run.ts';
import { type RunState, type StateOf, without } from '../state.ts';
import { describeRelease, type RecordView } from '../world.ts';
import { rejectionFor } from './ending.ts';

/** What went wrong after promotion. */
interface Failure {
  readonly reason: RolloutReason;
  /** One finding with its value and bound. */
  readonly finding: string;
  /** A check said so: it is asked again of the last-known-good after a revert. */
  readonly control: boolean;
  /** Only metrics or webhooks say so, which other Canaries may share the cause of. */
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
    ...say('Warning', 'Reverting', `the primary is reverted to ${describeRelease(good)}: ${cause.finding}`),
    rejects: cause.reject ? rejectionFor(run, cause.reason, diagnosed) : [],
  });
}

/**
 * The primary did not take the release over. By onFailure: revert at once; hold; or, for auto, hold while the canary with the same digest
 * is healthy and revert when it is not, or shows the same fault.
 */
export function failPromotion(context: Context, state: RunState, failure: Omit<Failure, 'finding'>): Outcome {
  const { plan, world } = context;
  const diagnosis = diagnose(world.primary, world.target);
  const told = { ...failure, finding: sentence(diagnosis, world.primary), cause: diagnosis.cause };
  const canary = canaryState(world, state.run.digest, plan.canaryReadyPercent, diagnosis);
  const { action } = decidePromotion(plan.postPromotion.onFailure, canary);
  return action === 'revert' ? revert(context, state, told) : hold(context, state, told);
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

/** A primary that serves, or served, and dies is no question of checks or patience any more (design section 5); undefined while it does not. */
export function failDead(context: Context, state: RunState): Outcome | undefined {
  const { primary } = context.world;
  if (!failsAtOnce(primary, context.plan.primaryReadyPercent)) return undefined;
  const finding = whyNotReady(primary);
  return failVerification(context, state, { reason: 'PrimaryUnhealthy', finding, control: false });
}

/** Reverts to the last-known-good, or holds where there is none. */
export function revert(context: Context, state: RunState, failure: Failure): Outcome {
  const good = revertTarget(context.good, state.run);
  if (!good) return hold(context, state, failure);
  const { reason, finding, control, cause } = failure;
  return startRevert(context, state, good, { reason, finding, control, reject: true }, cause);
}

/** State Held: a healthy side serves, the primary keeps trying, and it is reported (option A of the founding issue). */
export function hold(context: Context, state: RunState, { reason, finding }: Failure): Outcome {
  const { failedChecks, iterations } = state;
  const before = 'post' in state && state.post ? state.post : {};
  const post = { ...before, reason, cause: finding, startTime: context.now };
  const run = withProgressReset(context, state.run);
  return enter(
    { kind: 'Held', run, failedChecks, iterations, reason, post },
    say('Warning', 'Held', `${describeRelease(run)} is held: ${finding}`),
  );
}

/** A release that failed its analysis on the primary: barred; and where the last-known-good must not or cannot be written, held (issue 11, 7 and 9). */
export function failOnPrimary(context: Context, state: RunState, failure: Failure): Outcome {
  const rejects = rejectionFor(state.run, failure.reason, failure.cause);
  const isHalt = context.plan.postPromotion.onFailure === 'halt';
  const outcome = isHalt ? hold(context, state, failure) : revert(context, state, failure);
  return { ...outcome, rejects };
}
