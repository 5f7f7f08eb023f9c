import { planOf } from '../../api/plan.ts';
import type { Comparison } from '../../health/comparison.ts';
import { compare } from '../../health/expectation.ts';
import { expectedState } from '../../rollout/expected-state.ts';
import type { World } from '../../rollout/world.ts';
import { type ExpectedRelease, expectedRelease } from '../expected-release.ts';
import { type Forecast, forecast } from './forecast.ts';
import { type Judgement, judge } from './judge.ts';

/** Everything `holdfast explain` says about a Canary. */
export interface Explanation {
  readonly canary: string;
  /** What was assumed with --what-if; empty: nothing. */
  readonly assumed: readonly string[];
  readonly phase: string;
  readonly state: string;
  /** The release that must be on the primary, by digest and commit. */
  readonly release: ExpectedRelease;
  /** What must be true of the primary beside what is. */
  readonly primary: readonly Comparison[];
  /** Present while a release is on the primary and differs, or its checks fail. */
  readonly judgement?: Judgement;
  readonly forecast: Forecast;
}

/** Explains a world. Pure. */
export function explain(world: World, assumed: readonly string[]): Explanation {
  const { status, canary } = world;
  const release = expectedRelease(world);
  const plan = planOf(canary, world.options);
  const primary = compare(world.primary, expectedState(world, plan, release?.digest));
  const judgement = judge(world, primary);
  return {
    canary: `${canary.metadata.namespace ?? ''}/${canary.metadata.name}`,
    assumed,
    phase: status.phase ?? '',
    state: status.postPromotion?.state ?? '',
    release: release ? named(release) : { digest: '', commit: '', subject: '' },
    primary,
    ...(judgement ? { judgement } : {}),
    forecast: forecast(world),
  };
}

function named({ digest, commit, subject }: ExpectedRelease): ExpectedRelease {
  return { digest, commit, subject };
}
