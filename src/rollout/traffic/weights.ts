import type { Plan, Strategy } from '../../api/canary/plan.ts';

/** What a passed check leads to. */
export type Step =
  | { kind: 'weight'; canaryWeight: number }
  | { kind: 'iterate'; iterations: number; canaryWeight: number; mirrored: boolean }
  | { kind: 'promote' }
  /** The steps of the spec do not lead further: a person must change them. */
  | { kind: 'stuck' };

/** The next move of a strategy from what was read back (flagger-behaviour 2.7). Weights in percent. */
export function nextStep(plan: Plan, at: { canaryWeight: number; iterations: number }): Step {
  const { strategy } = plan;
  if (strategy.kind === 'canary') return nextWeight(strategy, at.canaryWeight);
  if (strategy.kind === 'ab') {
    if (at.iterations >= strategy.iterations) return { kind: 'promote' };
    return { kind: 'iterate', iterations: at.iterations + 1, canaryWeight: 100, mirrored: false };
  }
  if (at.iterations < strategy.iterations) {
    return { kind: 'iterate', iterations: at.iterations + 1, canaryWeight: 0, mirrored: strategy.mirror };
  }
  if (strategy.shiftsTraffic && at.iterations === strategy.iterations) {
    return { kind: 'iterate', iterations: at.iterations + 1, canaryWeight: 100, mirrored: false };
  }
  return { kind: 'promote' };
}

/** Steps are visited in rising order; maxWeight may be overshot by one step, as in Flagger. */
function nextWeight(strategy: Extract<Strategy, { kind: 'canary' }>, weight: number): Step {
  if (weight >= strategy.maxWeight) return { kind: 'promote' };
  const next = strategy.steps ? strategy.steps.find((step) => step > weight) : weight + strategy.stepWeight;
  if (next === undefined) return { kind: 'promote' };
  const canaryWeight = Math.min(100, Math.round(next));
  return canaryWeight > weight ? { kind: 'weight', canaryWeight } : { kind: 'stuck' };
}

/** The largest share that a step of the analysis gives the canary, in percent; 100 where there are no steps. */
export function largestWeight({ strategy }: Plan): number {
  if (strategy.kind !== 'canary' || strategy.maxWeight <= 0) return 100;
  if (strategy.steps) return Math.min(100, Math.round(Math.max(...strategy.steps)));
  if (strategy.stepWeight <= 0) return 100;
  return Math.min(100, Math.ceil(strategy.maxWeight / strategy.stepWeight) * strategy.stepWeight);
}
