/** How a release of a Canary will be rolled out, by the rules of the rollout itself. Pure. */

import type { CanaryMetric, HookType } from '../../api/canary/analysis.ts';
import { type Canary, hooksOf, metricsById, sharesWorkload } from '../../api/canary/canary.ts';
import { type Plan, planOf } from '../../api/canary/plan.ts';
import { boundsOf } from '../../health/check-results.ts';
import { nextStep } from '../../rollout/traffic/weights.ts';

/** A weight at which the canary stays for one interval, until the check there passes. */
export interface FlightStep {
  /** Share of the traffic in percent; with A/B of the requests that match, 0 while traffic is only mirrored or stays away. */
  readonly weight: number;
  /** Number of the check, from 1, where checks are counted and not shares. */
  readonly iteration?: number;
  readonly mirrored?: boolean;
}

/** One metric that is asked. */
export interface FlightMetric {
  readonly name: string;
  readonly when: 'analysis' | 'afterPromotion';
  readonly min?: number;
  readonly max?: number;
  /** Percent that the canary may be above the primary. */
  readonly maxRelativeIncrease?: number;
  /** Confidence in percent at which its points are compared with the primary's. */
  readonly confidencePercent?: number;
  readonly window: string;
}

/** Something that may keep the release where it is. */
interface FlightHold {
  readonly kind: 'window' | 'gate' | 'hook';
  readonly name: string;
  /** One sentence: when, and what follows. */
  readonly effect: string;
}

/** The flight plan of one release. Times in milliseconds, without what pods take to become ready. */
export interface FlightPlan {
  readonly strategy: 'canary' | 'A/B' | 'blue/green' | 'in place' | 'none';
  /** False: neither steps nor checks come before the primary is written. */
  readonly isAnalysed: boolean;
  readonly provider: string;
  readonly intervalMs: number;
  readonly steps: readonly FlightStep[];
  /** No step leads from some weight on: a person must change the spec. */
  readonly isStuck: boolean;
  /** Failed checks that stop it. */
  readonly threshold: number;
  readonly analysisMs: number;
  /** Moving the traffic to the primary by stepWeightPromotion. */
  readonly promotionMs: number;
  readonly verificationMs: number;
  readonly shortestMs: number;
  readonly metrics: readonly FlightMetric[];
  readonly holds: readonly FlightHold[];
}

/** What a flight plan depends on besides the Canary. */
export interface FlightOptions {
  readonly minIntervalMs: number;
  readonly defaultProvider: string;
  /** Whether the Source's windows are open now, and when they open. */
  readonly window?: { readonly open: boolean; readonly nextOpeningMs?: number } | undefined;
  /** There is no release before it, or head is a proven one: no analysis. */
  readonly skipsAnalysis: boolean;
  /** The first release of a Canary: what comes after promotion does not apply either. */
  readonly isFirst: boolean;
}

/** More steps than this are cut off; the core takes weights one percent at a time at the least. */
const mostSteps = 1_000;

const strategyNames = { canary: 'canary', ab: 'A/B', blueGreen: 'blue/green' } as const;

/** The flight plan of a release. */
export function flightPlanOf(canary: Canary, options: FlightOptions): FlightPlan {
  const plan = planOf(canary, options);
  const provider = canary.spec.provider ?? options.defaultProvider;
  const isAnalysed = !plan.skipAnalysis && !options.skipsAnalysis;
  const strategy = sharesWorkload(provider) ? 'in place' : strategyNames[plan.strategy.kind];
  const { steps, isStuck } = isAnalysed ? stepsOf(plan) : { steps: [], isStuck: false };
  const analysisMs = steps.length * Math.max(plan.intervalMs, plan.lookBackMs);
  const promotionMs = options.isFirst ? 0 : promotionOf(plan, steps);
  const verificationMs = options.isFirst ? 0 : verificationOf(plan);
  return {
    strategy: isAnalysed ? strategy : 'none',
    isAnalysed,
    provider,
    intervalMs: plan.intervalMs,
    steps,
    isStuck,
    threshold: plan.threshold,
    analysisMs,
    promotionMs,
    verificationMs,
    shortestMs: analysisMs + promotionMs + verificationMs,
    metrics: [
      ...(isAnalysed ? flightMetrics(plan.metrics, 'analysis') : []),
      ...(options.isFirst ? [] : flightMetrics(plan.postPromotion.metrics, 'afterPromotion')),
    ],
    holds: options.isFirst ? [] : holdsOf(canary, plan, { window: options.window, isAnalysed }),
  };
}

/** The core's own moves, each check passed. The first move needs no check. */
function stepsOf(plan: Plan): { steps: FlightStep[]; isStuck: boolean } {
  const steps: FlightStep[] = [];
  let at = { canaryWeight: 0, iterations: 0 };
  while (steps.length < mostSteps) {
    const move = nextStep(plan, at);
    if (move.kind === 'promote') break;
    if (move.kind === 'stuck') return { steps, isStuck: true };
    const { canaryWeight } = move;
    if (move.kind === 'weight') {
      steps.push({ weight: canaryWeight });
      at = { canaryWeight, iterations: 0 };
    } else {
      const mirrored = move.mirrored ? { mirrored: true } : {};
      steps.push({ weight: canaryWeight, iteration: move.iterations, ...mirrored });
      at = { canaryWeight, iterations: move.iterations };
    }
  }
  return { steps, isStuck: false };
}

/** The first shift is made at once, each further one an interval later. */
function promotionOf(plan: Plan, steps: readonly FlightStep[]): number {
  const { promotionStepPercent, intervalMs } = plan;
  if (promotionStepPercent >= 100) return 0;
  const weight = steps.at(-1)?.weight ?? 0;
  return Math.max(0, Math.ceil(weight / promotionStepPercent) - 1) * intervalMs;
}

/** The first check looks at a whole window under full traffic. */
function verificationOf({ postPromotion }: Plan): number {
  const { successThreshold, intervalMs, settleMs } = postPromotion;
  if (successThreshold === 0) return 0;
  return Math.max(intervalMs, settleMs) + (successThreshold - 1) * intervalMs;
}

function flightMetrics(metrics: readonly CanaryMetric[], when: FlightMetric['when']): FlightMetric[] {
  return [...metricsById(metrics)].map(([id, metric]) => ({
    name: id,
    when,
    ...boundsOf(metric),
    ...(metric.maxRelativeIncrease === undefined ? {} : { maxRelativeIncrease: metric.maxRelativeIncrease }),
    ...(metric.compare && when === 'analysis' ? { confidencePercent: metric.compare.confidence ?? 95 } : {}),
    window: metric.interval ?? '1m',
  }));
}

/** What each type of webhook can do to a release that is under way, in the order in which they are asked. */
const effects: ReadonlyArray<readonly [HookType, FlightHold['kind'], string, 'always' | 'analysis']> = [
  ['confirm-rollout', 'gate', 'the rollout starts once it approves', 'always'],
  ['pre-rollout', 'hook', 'called before the first traffic; a refusal counts as a failed check', 'analysis'],
  ['rollout', 'hook', 'called at every check; a refusal counts as a failed check', 'analysis'],
  ['confirm-traffic-increase', 'gate', 'each step waits until it approves', 'analysis'],
  ['confirm-promotion', 'gate', 'the primary is updated once it approves', 'analysis'],
  ['rollback', 'hook', 'called all the time; approval rolls the release back', 'analysis'],
  [
    'post-promotion',
    'hook',
    'called at every check after promotion; a refusal counts as a failed check',
    'always',
  ],
];

function holdsOf(
  canary: Canary,
  plan: Plan,
  { window, isAnalysed }: { window: FlightOptions['window']; isAnalysed: boolean },
): FlightHold[] {
  const hooks = effects
    .filter(([, , , when]) => when === 'always' || isAnalysed)
    .flatMap(([type, kind, effect]) =>
      hooksOf(canary, type).map((hook): FlightHold => {
        const deadline = 'deadline' in hook && hook.deadline ? `; it fails after ${hook.deadline}` : '';
        return { kind, name: `${hook.name} (${type})`, effect: `${effect}${deadline}` };
      }),
    );
  const isVerified = plan.postPromotion.successThreshold > 0;
  const checked = hooks.filter(({ name }) => isVerified || !name.endsWith('(post-promotion)'));
  if (!window) return checked;
  const { open, nextOpeningMs } = window;
  const next =
    nextOpeningMs === undefined ? '' : ` at ${new Date(nextOpeningMs).toISOString().slice(0, 16)}Z`;
  const effect = open
    ? 'open now; a release that arrives while it is closed waits for the next opening'
    : `closed now; the release starts${next}`;
  return [{ kind: 'window', name: 'windows of the Source', effect }, ...checked];
}
