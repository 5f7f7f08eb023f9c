import type { OnFailure } from '../../api/post-promotion.ts';
import { causes } from '../../rollout/diagnosis/causes.ts';
import { canaryState, decidePromotion, decideVerification } from '../../rollout/diagnosis/decision.ts';
import { diagnose } from '../../rollout/diagnosis/diagnose.ts';
import type { Comparison } from '../../rollout/expectation/comparison.ts';
import { compare } from '../../rollout/expectation/expectation.ts';
import { planOf } from '../../rollout/plan.ts';
import { runOf } from '../../rollout/run.ts';
import type { World } from '../../rollout/world.ts';
import { type Forecast, forecast } from './forecast.ts';

/** Why the primary does not come up, and what onFailure makes of it. */
export interface Judgement {
  readonly cause: string;
  readonly title: string;
  readonly endedBy: string;
  readonly fix: string;
  readonly evidence: readonly string[];
  readonly onCanaryToo: boolean;
  readonly onFailure: OnFailure;
  readonly action: 'hold' | 'revert';
  readonly why: string;
}

/** Everything `holdfast explain` says about a Canary. */
export interface Explanation {
  readonly canary: string;
  /** What was assumed with --what-if; empty: nothing. */
  readonly assumed: readonly string[];
  readonly phase: string;
  readonly state: string;
  /** The release that must be on the primary, by digest and commit. */
  readonly release: { readonly digest: string; readonly commit: string; readonly subject: string };
  /** What must be true of the primary beside what is. */
  readonly primary: readonly Comparison[];
  /** Present while a release is on the primary and differs. */
  readonly judgement?: Judgement;
  readonly forecast: Forecast;
}

/** Explains a world. Pure. */
export function explain(world: World, assumed: readonly string[]): Explanation {
  const { status, canary } = world;
  const run = runOf(status);
  const isPast = run !== undefined && status.postPromotion !== undefined;
  const { digest, commit, subject = '' } = isPast ? run : goodOf(world);
  const plan = planOf(canary, world.options);
  const primary = compare(world.primary, {
    digest: digest || undefined,
    readyPercent: plan.primaryReadyPercent,
    maxRestarts: plan.postPromotion.maxRestarts,
  });
  const differs = primary.some(({ met, severity }) => !met && severity !== 'tells');
  return {
    canary: `${canary.metadata.namespace ?? ''}/${canary.metadata.name}`,
    assumed,
    phase: status.phase ?? '',
    state: status.postPromotion?.state ?? '',
    release: { digest, commit, subject },
    primary,
    ...(isPast && differs && status.postPromotion?.state !== 'Reverting'
      ? { judgement: judge(world, digest) }
      : {}),
    forecast: forecast(world),
  };
}

function goodOf({ status, records }: World): { digest: string; commit: string; subject?: string } {
  const { digest = '', commit = '' } = status.lastKnownGood ?? {};
  const record = records.find((candidate) => candidate.digest === digest);
  return { digest, commit, ...(record ? { subject: record.commit.subject } : {}) };
}

function judge(world: World, digest: string): Judgement {
  const plan = planOf(world.canary, world.options);
  const { onFailure } = plan.postPromotion;
  const diagnosis = diagnose(world.primary, world.target);
  const canary = canaryState(world.target, digest, plan.canaryReadyPercent, diagnosis);
  const decision =
    world.status.postPromotion?.state === 'Verifying'
      ? decideVerification(onFailure)
      : decidePromotion(onFailure, canary);
  const { title, endedBy, fix } = causes[diagnosis.cause];
  return { ...diagnosis, title, endedBy, fix, onFailure, ...decision };
}
