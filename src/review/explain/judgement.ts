import type { OnFailure } from '../../api/canary/analysis.ts';
import { planOf } from '../../api/canary/plan.ts';
import type { PostPromotionStatus } from '../../api/canary/status.ts';
import { causes } from '../../health/causes.ts';
import { finding } from '../../health/check-results.ts';
import type { Comparison } from '../../health/comparison.ts';
import { diagnose } from '../../health/diagnosis.ts';
import {
  canaryState,
  decidePromotion,
  decideVerification,
  type FailureDecision,
  sharedCause,
} from '../../rollout/post-promotion.ts';
import { lastKnownGood, type Run, revertTarget, runOf, type World } from '../../rollout/world.ts';
import { isTakenBack } from '../diff/canary-difference.ts';

/** Why the primary does not come up, or is not verified, and what onFailure makes of it. */
export interface Judgement {
  readonly cause: string;
  readonly title: string;
  readonly endedBy: string;
  readonly fix: string;
  readonly evidence: readonly string[];
  /** Undefined: it is nothing a canary could show. */
  readonly onCanaryToo?: boolean;
  readonly onFailure: OnFailure;
  readonly action: 'hold' | 'revert';
  readonly why: string;
}

/** Judges what differs, or which checks fail, of a release after its analysis; undefined while neither does. Pure. */
export function judge(world: World, primary: readonly Comparison[]): Judgement | undefined {
  const run = runOf(world.status);
  const { postPromotion } = world.status;
  if (!run || isTakenBack(run) || !postPromotion) return undefined;
  // Nothing of the release is to be seen on a primary that was not written yet.
  if (postPromotion.state === 'Converging' && world.primary && world.primary.digest !== run.digest)
    return undefined;
  if (primary.some(({ met, severity }) => !met && severity !== 'tells'))
    return ofDifferences(world, run, postPromotion);
  const { state, reason, failedChecks = 0 } = postPromotion;
  // Older results in the status are those of the analysis.
  const isAboutChecks =
    state === 'Verifying' ? failedChecks > 0 : reason === 'SharedCause' || reason === 'ChecksFailed';
  const failed = (world.status.checks ?? []).filter(({ verdict }) => isAboutChecks && verdict === 'fail');
  return failed.length > 0 ? ofChecks(world, run, failed.map(finding)) : undefined;
}

/** The primary is not what it must be: the cause, by its pods. */
function ofDifferences(world: World, run: Run, postPromotion: PostPromotionStatus): Judgement {
  const plan = planOf(world.canary, world.options);
  const { onFailure } = plan.postPromotion;
  const diagnosis = diagnose(world.primary, world.target);
  const canary = canaryState(world, run.digest, plan.canaryReadyPercent, diagnosis);
  const { state, reason } = postPromotion;
  const hasAllTraffic = state === 'Verifying' || reason === 'SharedCause';
  const decision = hasAllTraffic ? decideVerification(onFailure) : decidePromotion(onFailure, canary);
  const { title, endedBy, fix } = causes[diagnosis.cause];
  return { ...diagnosis, title, endedBy, fix, onFailure, ...whereTo(world, run, decision) };
}

/** Only metrics or webhooks say so: the breaker for shared causes has a say. */
function ofChecks(world: World, run: Run, evidence: readonly string[]): Judgement {
  const { onFailure } = planOf(world.canary, world.options).postPromotion;
  const shared = onFailure === 'auto' ? sharedCause(world) : undefined;
  return {
    cause: shared === undefined ? 'ChecksFailed' : 'SharedCause',
    title: 'the checks after promotion fail',
    endedBy: shared === undefined ? 'release' : 'cluster',
    fix:
      shared === undefined ? 'look at what the checks measure' : 'look for what the Canaries have in common',
    evidence,
    onFailure,
    ...whereTo(world, run, decideVerification(onFailure, shared)),
  };
}

/** Where there is nothing to go back to, it is held. */
function whereTo(world: World, run: Run, decision: FailureDecision): FailureDecision {
  if (decision.action === 'hold' || revertTarget(lastKnownGood(world), run)) return decision;
  return { action: 'hold', why: `${decision.why}; but there is no last-known-good release to go back to` };
}
