import type { Plan } from '../../api/canary/plan.ts';

/** The next move after a passed check. */
export type Step =
  | { kind: 'weight'; canaryWeight: number }
  | { kind: 'iterate'; iterations: number; canaryWeight: number; mirrored: boolean }
  | { kind: 'promote' }
  /** The spec has no further step: a person must change it. */
  | { kind: 'stuck' };

/** The next move of a strategy from what was read back (flagger-behaviour 2.7). Weights in percent. */
export function nextStep(plan: Plan, at: { canaryWeight: number; iterations: number }): Step {
  const { strategy } = plan;
  if (strategy.kind === 'canary') return nextShare(strategy, at);
  if (strategy.kind === 'ab') {
    if (at.iterations >= strategy.iterations) return { kind: 'promote' };
    return { kind: 'iterate', iterations: at.iterations + 1, canaryWeight: 100, mirrored: false };
  }
  if (at.iterations < strategy.iterations) {
    return { kind: 'iterate', iterations: at.iterations + 1, canaryWeight: 0, mirrored: strategy.mirror };
  }
  // One check more than iterations, where it can be with all traffic on the canary.
  if (at.iterations === strategy.iterations) {
    const canaryWeight = strategy.shiftsTraffic ? 100 : 0;
    return { kind: 'iterate', iterations: at.iterations + 1, canaryWeight, mirrored: false };
  }
  return { kind: 'promote' };
}

function nextShare(
  { maxWeight, stepWeight, steps, mirror }: Extract<Plan['strategy'], { kind: 'canary' }>,
  { canaryWeight: weight, iterations }: { canaryWeight: number; iterations: number },
): Step {
  if (mirror && weight === 0 && iterations === 0)
    return { kind: 'iterate', iterations: 1, canaryWeight: 0, mirrored: true };
  // maxWeight may be exceeded by one step, as in Flagger.
  const next = steps ? steps.find((step) => step > weight) : weight + stepWeight;
  if (weight >= maxWeight || next === undefined) return { kind: 'promote' };
  const canaryWeight = Math.min(100, Math.round(next));
  return canaryWeight > weight ? { kind: 'weight', canaryWeight } : { kind: 'stuck' };
}

/** The share that this iteration needs; 0 for steps, whose position is the share itself. */
export function shareOfIteration({ strategy }: Plan, iterations: number): number {
  if (strategy.kind === 'canary') return 0;
  if (strategy.kind === 'ab') return iterations > 0 ? 100 : 0;
  return strategy.shiftsTraffic && iterations > strategy.iterations ? 100 : 0;
}

/** Whether requests are copied to the canary in this iteration; before steps it is the first one. */
export function isMirroredIteration({ strategy }: Plan, iterations: number): boolean {
  if (strategy.kind === 'ab') return false;
  const last = strategy.kind === 'canary' ? 1 : strategy.iterations;
  return strategy.mirror === true && iterations > 0 && iterations <= last;
}

/** The largest share that a step of the analysis gives the canary, in percent; 100 where there are no steps. */
export function largestWeight({ strategy }: Plan): number {
  if (strategy.kind !== 'canary' || strategy.maxWeight <= 0) return 100;
  if (strategy.steps) return Math.min(100, Math.round(Math.max(...strategy.steps)));
  if (strategy.stepWeight <= 0) return 100;
  return Math.min(100, Math.ceil(strategy.maxWeight / strategy.stepWeight) * strategy.stepWeight);
}
