import type { OnFailure } from '../api/canary/analysis.ts';
import type { Plan } from '../api/canary/plan.ts';
import { sinceMs } from '../api/time.ts';
import { type Cause, causes } from '../health/causes.ts';
import type { Expected } from '../health/comparison.ts';
import type { Diagnosis } from '../health/diagnosis.ts';
import { podComparisons } from '../health/expectation.ts';
import { isReady } from '../health/readiness.ts';
import type { WorkloadView } from '../health/workload-view.ts';
import { canaryServes, scalerOf } from './traffic/capacity.ts';
import type { ScalerSide, World } from './world.ts';

/** The state of the canary while the primary fails. */
type CanaryState = 'healthy' | 'sameFault' | 'notReady' | 'otherRelease';

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
  if (onFailure !== 'auto') return byPolicy(onFailure);
  return canary === 'healthy'
    ? { action: 'hold', why: 'auto: the canary runs the same release and is healthy' }
    : { action: 'revert', why: `auto: ${canaryWords[canary]}` };
}

/**
 * Checks, or readiness, that fail while all traffic is on the primary: auto reverts at once, unless what fails is the same elsewhere
 * (`sharedWith`, from `sharedCause` below; design section 5).
 */
export function decideVerification(onFailure: OnFailure, sharedWith?: string): FailureDecision {
  if (onFailure !== 'auto') return byPolicy(onFailure);
  if (sharedWith !== undefined) return { action: 'hold', why: `auto: ${sharedWith}` };
  return { action: 'revert', why: 'auto: the failing primary has all traffic' };
}

/** Whether waiting for the deadline is pointless: the release itself is to blame, and both copies show it. */
export function isWaitingPointless({ cause, onCanaryToo }: Diagnosis): boolean {
  return onCanaryToo && causes[cause].endedBy === 'release';
}

/** What `auto` does about a cause, for the table and for explanations. */
export function autoDecision(cause: Cause): { readonly canaryHealthy: string; readonly canaryToo: string } {
  const atOnce = isWaitingPointless({ cause, evidence: [], onCanaryToo: true });
  return {
    canaryHealthy: 'hold; revert after another deadline without progress',
    canaryToo: atOnce ? 'revert at once' : 'revert at the deadline',
  };
}

function byPolicy(onFailure: Exclude<OnFailure, 'auto'>): FailureDecision {
  return { action: onFailure === 'revert' ? 'revert' : 'hold', why: `onFailure is ${onFailure}` };
}

const canaryWords: Readonly<Record<Exclude<CanaryState, 'healthy'>, string>> = {
  sameFault: 'the canary shows the same fault',
  notReady: 'the canary is not ready either',
  otherRelease: 'no canary runs this release',
};

/** Failures this far apart may have one cause. */
const WINDOW_MS = 5 * 60_000;
/** More Canaries than this fail together only when the cause is elsewhere. */
const MOST = 3;
/** The share of the verifying Canaries that says the same, and from how many failing ones on it counts (ADR 14). */
const SHARE_PERCENT = 20;
const LEAST = 3;

/**
 * Would so many Canaries revert for what checks say that the cause is not their releases (design section 5, auto)? This one counts as
 * failing. Undefined when it stands for itself, else one line about the others.
 */
export function sharedCause({ peers, nowMs }: World): string | undefined {
  const others = peers.failedTimes.filter((time) => sinceMs(nowMs, time) < WINDOW_MS).length;
  const failing = others + peers.failingNow + 1;
  const verifying = peers.verifying + 1;
  const isShare = failing >= LEAST && failing * 100 >= SHARE_PERCENT * verifying;
  if (failing <= MOST && !isShare) return undefined;
  return `${failing} Canaries fail their checks within ${WINDOW_MS / 60_000} minutes: the cause is not one release`;
}

/** What must be true of the primary, with this release on it, as `plan` says. */
export function expectedState(world: World, plan: Plan, digest: string | undefined): Expected {
  return {
    digest,
    readyPercent: plan.primaryReadyPercent,
    maxRestarts: plan.postPromotion.maxRestarts,
    replicas: rangeOf(world),
  };
}

/** While it takes a release over, all pods that are asked for must be there; afterwards its scaler decides, within its bounds. */
function rangeOf(world: World): Expected['replicas'] {
  const { state } = world.status.postPromotion ?? {};
  const scaler = scalerOf(world, 'primary');
  if (!scaler || (state !== undefined && state !== 'Verifying')) return undefined;
  return { min: scaler.minReplicas, max: scaler.maxReplicas };
}
