import type { RouteTarget } from '../observed.ts';
import type { CanaryMetric } from './analysis.ts';
import {
  analysisIntervalMs,
  type Canary,
  type EffectivePostPromotion,
  effectivePostPromotion,
  failureThreshold,
  metricWindowMs,
  mirrors,
  progressDeadlineMs,
} from './canary.ts';

/** How a release is tried: Flagger's three strategies, or none. */
type Strategy =
  | {
      kind: 'canary';
      steps: readonly number[] | undefined;
      stepWeight: number;
      maxWeight: number;
      /** The weight is that of the requests that match; all others stay with the primary. */
      matched?: true;
      /** Requests are copied to the canary for one interval before the first step (flagger-behaviour 2.7.4). */
      mirror?: true;
    }
  | { kind: 'ab'; iterations: number }
  | { kind: 'blueGreen'; iterations: number; mirror: boolean; shiftsTraffic: boolean };

/** A Canary's spec with every default filled in; times in milliseconds, shares in percent. */
export interface Plan {
  strategy: Strategy;
  skipAnalysis: boolean;
  intervalMs: number;
  threshold: number;
  metrics: readonly CanaryMetric[];
  /**
   * No check of a step before this much time at it: the longest window of a metric, where pods keep their names (StatefulSets in place) and
   * it would show answers of the release before as those of the new one. Elsewhere 0.
   */
  lookBackMs: number;
  primaryReadyPercent: number;
  canaryReadyPercent: number;
  progressDeadlineMs: number;
  /** Percent by which traffic goes back to the primary per interval; 100 = all at once. */
  promotionStepPercent: number;
  /** Traffic can be split by weight; otherwise it is all or nothing. */
  splitsTraffic: boolean;
  postPromotion: PostPromotionPlan;
  /** Changes of it restart the analysis (design section 4): steps, strategy, metrics and match. */
  restartKey: string;
}

/** What is watched after promotion. */
interface PostPromotionPlan extends EffectivePostPromotion {
  /** No check before this much time under full traffic: the longest window a metric looks back. */
  settleMs: number;
}

/** Flagger: provider kubernetes without iterations gets this many. */
const KUBERNETES_ITERATIONS = 10;

/** Fills in the defaults of a Canary's spec. Pure; the same spec gives the same plan. */
export function planOf(canary: Canary, options: { minIntervalMs: number; defaultProvider: string }): Plan {
  const { spec } = canary;
  const { analysis } = spec;
  const provider = spec.provider ?? options.defaultProvider;
  const strategy = strategyOf(canary, provider);
  const postPromotion = effectivePostPromotion(canary, options.minIntervalMs);
  const keepsPodNames = provider === 'native' && spec.targetRef.kind === 'StatefulSet';
  return {
    strategy,
    skipAnalysis: spec.skipAnalysis === true,
    intervalMs: analysisIntervalMs(canary, options.minIntervalMs),
    threshold: failureThreshold(analysis.threshold),
    metrics: analysis.metrics ?? [],
    lookBackMs: keepsPodNames ? longestWindowMs(analysis.metrics ?? []) : 0,
    primaryReadyPercent: analysis.primaryReadyThreshold ?? 100,
    canaryReadyPercent: analysis.canaryReadyThreshold ?? 100,
    progressDeadlineMs: progressDeadlineMs(canary),
    promotionStepPercent: promotionStepOf(canary, provider, strategy),
    splitsTraffic: provider !== 'kubernetes' && strategy.kind !== 'ab',
    postPromotion: { ...postPromotion, settleMs: longestWindowMs(postPromotion.metrics) },
    restartKey: JSON.stringify([
      strategy,
      analysis.metrics ?? [],
      analysis.match ?? [],
      spec.skipAnalysis === true,
    ]),
  };
}

/** Ingress-nginx cannot divide requests that match, and kubernetes none at all. */
function promotionStepOf({ spec }: Canary, provider: string, strategy: Strategy): number {
  const isWhole = provider === 'kubernetes' || (provider === 'nginx' && strategy.kind === 'ab');
  return isWhole ? 100 : Math.min(100, spec.analysis.stepWeightPromotion || 100);
}

/** The route with this share on the canary, as the strategy splits traffic. */
export function trafficAt({ strategy }: Plan, canaryWeight: number, mirrored = false): RouteTarget {
  const isMatched = strategy.kind === 'ab' || (strategy.kind === 'canary' && strategy.matched === true);
  return {
    primaryWeight: 100 - canaryWeight,
    canaryWeight,
    mirrored,
    matched: canaryWeight > 0 && isMatched,
  };
}

/** All traffic to the canary, including what an A/B match would leave with the primary: for hold and clear. */
export const ALL_TO_CANARY: RouteTarget = {
  primaryWeight: 0,
  canaryWeight: 100,
  mirrored: false,
  matched: false,
};

function strategyOf(canary: Canary, provider: string): Strategy {
  const { analysis } = canary.spec;
  const iterations = analysis.iterations ?? 0;
  const hasMatch = (analysis.match?.length ?? 0) > 0;
  if (provider === 'kubernetes') {
    const count = iterations >= 1 ? iterations : KUBERNETES_ITERATIONS;
    return { kind: 'blueGreen', iterations: count, mirror: false, shiftsTraffic: false };
  }
  if (iterations > 0 && hasMatch) return { kind: 'ab', iterations };
  if (iterations > 0)
    return { kind: 'blueGreen', iterations, mirror: mirrors(canary.spec, provider), shiftsTraffic: true };
  const steps = analysis.stepWeights;
  const more = {
    ...(hasMatch ? { matched: true as const } : {}),
    // Other providers copy requests in blue/green only.
    ...(provider === 'istio' && mirrors(canary.spec, provider) ? { mirror: true as const } : {}),
  };
  if (steps && steps.length > 0) {
    const maxWeight = Math.min(100, Math.max(...steps));
    return { kind: 'canary', steps, stepWeight: 0, maxWeight, ...more };
  }
  return {
    kind: 'canary',
    steps: undefined,
    stepWeight: analysis.stepWeight ?? 0,
    maxWeight: Math.min(100, analysis.maxWeight || 100),
    ...more,
  };
}

function longestWindowMs(metrics: readonly CanaryMetric[]): number {
  return Math.max(0, ...metrics.map(metricWindowMs));
}
