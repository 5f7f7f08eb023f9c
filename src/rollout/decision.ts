import type { OnFailure } from '../api/post-promotion.ts';
import { type Cause, causes } from '../health/causes.ts';
import type { Diagnosis } from '../health/diagnosis.ts';
import { podComparisons } from '../health/expectation.ts';
import { isReady } from '../health/readiness.ts';
import type { WorkloadView } from '../health/workload-view.ts';
import { canaryServes } from './capacity.ts';
import type { ScalerSide, World } from './world.ts';

/** How the canary stands beside a primary that fails. */
export type CanaryState = 'healthy' | 'sameFault' | 'notReady' | 'otherRelease';

/** What is done about a failure after promotion, and why; `halt` holds without moving templates. */
export interface FailureDecision {
  readonly action: 'hold' | 'revert';
  readonly why: string;
}

/** The canary's state, for the release under way. */
export function canaryState(
  { target, scaler }: Pick<World, 'target' | 'scaler'>,
  digest: string,
  readyPercent: number,
  { onCanaryToo }: Pick<Diagnosis, 'onCanaryToo'>,
): CanaryState {
  if (target?.digest !== digest) return 'otherRelease';
  if (onCanaryToo) return 'sameFault';
  return isHealthy(target, readyPercent, scaler?.canary) ? 'healthy' : 'notReady';
}

/** Under a scaler pods beyond the fewest may be on their way at any time. */
function isHealthy(target: WorkloadView, readyPercent: number, scaler: ScalerSide | undefined): boolean {
  if (!scaler) return isReady(target, readyPercent) && canaryServes(target);
  const replicas = { min: scaler.minReplicas, max: scaler.maxReplicas };
  const differs = podComparisons(target, { readyPercent, replicas }).filter(({ met }) => !met);
  return canaryServes(target) && differs.every(({ name }) => name === 'generation');
}

/** A primary that does not take the release over, by onFailure (design section 5). */
export function decidePromotion(onFailure: OnFailure, canary: CanaryState): FailureDecision {
  if (onFailure !== 'auto') return asToldTo(onFailure);
  return canary === 'healthy'
    ? { action: 'hold', why: 'auto: the canary runs the same release and is healthy' }
    : { action: 'revert', why: `auto: ${canaryWords[canary]}` };
}

/**
 * Checks, or readiness, that fail while all traffic is on the primary: auto reverts at once, unless what fails is the same elsewhere
 * (`sharedWith`, from shared-cause.ts; design section 5).
 */
export function decideVerification(onFailure: OnFailure, sharedWith?: string): FailureDecision {
  if (onFailure !== 'auto') return asToldTo(onFailure);
  if (sharedWith !== undefined) return { action: 'hold', why: `auto: ${sharedWith}` };
  return { action: 'revert', why: 'auto: the failing primary has all traffic' };
}

/** Whether waiting for the deadline is pointless: the release itself is to blame, and both copies show it. */
export function isBeyondHope({ cause, onCanaryToo }: Diagnosis): boolean {
  return onCanaryToo && causes[cause].endedBy === 'release';
}

/** What `auto` does about a cause, for the table and for explanations. */
export function underAuto(cause: Cause): { readonly canaryHealthy: string; readonly canaryToo: string } {
  const atOnce = isBeyondHope({ cause, evidence: [], onCanaryToo: true });
  return {
    canaryHealthy: 'hold; revert after another deadline without progress',
    canaryToo: atOnce ? 'revert at once' : 'revert at the deadline',
  };
}

function asToldTo(onFailure: Exclude<OnFailure, 'auto'>): FailureDecision {
  return { action: onFailure === 'revert' ? 'revert' : 'hold', why: `onFailure is ${onFailure}` };
}

const canaryWords: Readonly<Record<Exclude<CanaryState, 'healthy'>, string>> = {
  sameFault: 'the canary shows the same fault',
  notReady: 'the canary is not ready either',
  otherRelease: 'no canary runs this release',
};
