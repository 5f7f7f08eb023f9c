import type { RolloutReason } from '../../api/reasons.ts';
import { canaryState, decidePromotion, decideVerification } from '../diagnosis/decision.ts';
import { diagnose, sentence } from '../diagnosis/diagnose.ts';
import { type Draft, enter, note, restartProgress, say } from '../draft.ts';
import { wayBack } from '../kept.ts';
import type { Run } from '../run.ts';
import { sharedCause } from '../shared-cause.ts';
import { moveToCanary } from '../traffic.ts';
import { nameOf } from './admit.ts';
import { startRevert } from './reverting.ts';

/** What went wrong after promotion. */
export interface Failure {
  reason: RolloutReason;
  /** One finding with its value and bound. */
  finding: string;
  /** A check said so: it is asked again of the last-known-good after a revert. */
  control: boolean;
  /** Only metrics or webhooks say so, which other Canaries may share the cause of. */
  shareable?: boolean;
}

/**
 * The primary did not take the release over. By onFailure: revert at once; hold; or, for auto, hold while the canary with the same digest
 * is healthy and revert when it is not, or shows the same fault (design section 5).
 */
export function failPromotion(draft: Draft, run: Run, failure: Omit<Failure, 'finding'>): void {
  const { plan, world } = draft;
  const diagnosis = diagnose(world.primary, world.target);
  const finding = sentence(diagnosis, world.primary);
  const canary = canaryState(world, run.digest, plan.canaryReadyPercent, diagnosis);
  const { action } = decidePromotion(plan.postPromotion.onFailure, canary);
  if (action === 'revert') return revert(draft, run, { ...failure, finding });
  hold(draft, run, { ...failure, finding });
}

/** Checks failed with all traffic on the primary: auto reverts at once (design section 5). */
export function failVerification(draft: Draft, run: Run, failure: Failure): void {
  const { onFailure } = draft.plan.postPromotion;
  const shared = failure.shareable && onFailure === 'auto' ? sharedCause(draft.world) : undefined;
  const { action } = decideVerification(onFailure, shared);
  if (action === 'revert') return revert(draft, run, failure);
  if (!shared) return hold(draft, run, failure);
  hold(draft, run, { ...failure, reason: 'SharedCause', finding: `${shared}; ${failure.finding}` });
}

/** State Held: the healthy canary serves, the primary keeps trying, people are told (option A of the founding issue). */
export function hold(draft: Draft, run: Run, failure: Failure): void {
  draft.status.phase = 'Promoting';
  draft.intentFirst = true;
  const post = enter(draft, 'Held', failure.reason);
  post.cause = failure.finding;
  restartProgress(draft, run);
  const message = `${nameOf(run)} is held: ${failure.finding}`;
  say(draft, 'Warning', 'Held', message);
  note(draft, failure.reason, message, afterHold(draft, run, failure.reason));
  if (!staysOnPrimary(failure.reason)) moveToCanary(draft);
}

/** Held for what does not speak for the canary, which runs the same release: traffic stays where it is (ADR 5 and 14). */
export function staysOnPrimary(reason: RolloutReason): boolean {
  return reason === 'ChecksUnavailable' || reason === 'SharedCause';
}

/** What ends a hold by itself. */
function afterHold({ plan, world }: Draft, run: Run, reason: RolloutReason): Draft['next'] {
  const { onFailure, progressDeadlineMs } = plan.postPromotion;
  if (reason === 'ChecksUnavailable') return { action: 'verification goes on once checks can be had' };
  if (reason === 'SharedCause')
    return { action: 'asked again; verified on, or reverted once the others are well' };
  if (reason === 'ChecksFailed') return undefined;
  if (onFailure !== 'auto' || run.keepWaiting || !wayBack(world, run))
    return { action: 'promotion goes on if the primary heals' };
  return { action: 'revert, unless the primary heals before', timeMs: world.nowMs + progressDeadlineMs };
}

/** Goes back to the last-known-good, or holds where there is none to go back to. */
export function revert(draft: Draft, run: Run, failure: Failure): void {
  const good = wayBack(draft.world, run);
  if (!good) return hold(draft, run, failure);
  const { reason, finding, control } = failure;
  startRevert(draft, run, good, { reason, finding, control, reject: true });
}
