/** What is done about a release that fails after promotion, by spec.postPromotion.onFailure (design section 5). */
import type { OnFailure } from '../api/canary/analysis.ts';
import { sinceMs } from '../api/time.ts';
import { type Cause, causes } from '../health/causes.ts';
import type { Diagnosis } from '../health/diagnosis.ts';
import { podComparisons } from '../health/expectation.ts';
import { isReady } from '../health/readiness.ts';
import { canaryServes } from '../health/workload-view.ts';
import type { World } from './world.ts';

/** The state of the canary while the primary fails. */
type CanaryState = 'healthy' | 'sameFault' | 'notReady' | 'otherRelease';

/** The decision on a failure after promotion, and why. */
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
  if (!canaryServes(target)) return 'notReady';
  if (!scaler?.canary) return isReady(target, readyPercent) ? 'healthy' : 'notReady';
  // Under a scaler the number of pods may change at any time: a status that lags behind the spec does not count.
  const replicas = { min: scaler.canary.minReplicas, max: scaler.canary.maxReplicas };
  const isHealthy = podComparisons(target, { readyPercent, replicas }).every(
    ({ met, name }) => met || name === 'generation',
  );
  return isHealthy ? 'healthy' : 'notReady';
}

/** A primary that does not become ready with the release. */
export function decidePromotion(onFailure: OnFailure, canary: CanaryState): FailureDecision {
  if (onFailure !== 'auto') return decideByPolicy(onFailure);
  return canary === 'healthy'
    ? { action: 'hold', why: 'auto: the canary runs the same release and is healthy' }
    : { action: 'revert', why: `auto: ${CANARY_STATES[canary]}` };
}

/**
 * Checks, or readiness, that fail while all traffic is on the primary: auto reverts at once, unless other Canaries fail their checks too
 * (`sharedWith`, from `sharedCause` below).
 */
export function decideVerification(onFailure: OnFailure, sharedWith?: string): FailureDecision {
  if (onFailure !== 'auto') return decideByPolicy(onFailure);
  if (sharedWith !== undefined) return { action: 'hold', why: `auto: ${sharedWith}` };
  return { action: 'revert', why: 'auto: the failing primary has all traffic' };
}

/** Whether waiting for the deadline is pointless: the release itself is the cause, and both copies show it. */
export function isWaitingPointless({ cause, onCanaryToo }: Diagnosis): boolean {
  return onCanaryToo && causes[cause].endedBy === 'release';
}

/** What `auto` does about a cause, for the table in the docs and for explanations. */
export function autoDecision(cause: Cause): { readonly canaryHealthy: string; readonly canaryToo: string } {
  const atOnce = isWaitingPointless({ cause, evidence: [], onCanaryToo: true });
  return {
    canaryHealthy: 'hold; revert after another deadline without progress',
    canaryToo: atOnce ? 'revert at once' : 'revert at the deadline',
  };
}

function decideByPolicy(onFailure: Exclude<OnFailure, 'auto'>): FailureDecision {
  return { action: onFailure === 'revert' ? 'revert' : 'hold', why: `onFailure is ${onFailure}` };
}

const CANARY_STATES: Readonly<Record<Exclude<CanaryState, 'healthy'>, string>> = {
  sameFault: 'the canary shows the same fault',
  notReady: 'the canary is not ready either',
  otherRelease: 'no canary runs this release',
};

/** Failures within this time may have one cause. */
export const SHARED_WINDOW_MS = 5 * 60_000;
/** More Canaries than this fail together only if the cause is outside their releases. */
const MOST = 3;
/** The share of the verifying Canaries from which on failures count as shared, and the fewest failures for that (ADR 14). */
const SHARE_PERCENT = 20;
const LEAST = 3;

/**
 * Whether so many Canaries fail their checks that the cause is outside their releases (design section 5, auto). This one counts as
 * failing. Undefined: it is not; else one line about the others.
 */
export function sharedCause({ peers, nowMs, leadingSinceMs = nowMs }: World): string | undefined {
  // A time ahead of our clock was written by a leader before this one, so that it is over since then (S30).
  const passedMs = (time: string) => sinceMs(nowMs, time, nowMs - leadingSinceMs);
  const others = peers.failedTimes.filter((time) => passedMs(time) < SHARED_WINDOW_MS).length;
  const failing = others + peers.failingNow + 1;
  const verifying = peers.verifying + 1;
  const isShare = failing >= LEAST && failing * 100 >= SHARE_PERCENT * verifying;
  if (failing <= MOST && !isShare) return undefined;
  return `${failing} Canaries fail their checks within ${SHARED_WINDOW_MS / 60_000} minutes: the cause is not one release`;
}
