/** Metrics that are compared with the primary by points: which points, and what the schema cannot check. */

import { limits } from '../limits.ts';
import type { Findings } from '../problems.ts';
import { durationOr } from '../time.ts';
import type { CanaryMetric } from './analysis.ts';
import { type Canary, metricWindowMs } from './canary.ts';

/** `compare` of a metric with its defaults filled in (issue 14). */
interface EffectiveComparison {
  /** Percent. */
  confidence: number;
  direction: 'increase' | 'decrease' | 'either';
  /** Time between two points: the metric's window if absent or unreadable. */
  stepMs: number;
  /** With fewer points of a side the check is inconclusive. */
  minPoints: number;
}

/** Undefined: the metric is not compared by points. */
export function comparisonOf(metric: CanaryMetric): EffectiveComparison | undefined {
  if (!metric.compare) return undefined;
  const { confidence = 95, minPoints = 8, step } = metric.compare;
  const { direction = metric.name === 'request-success-rate' ? 'decrease' : 'increase' } = metric.compare;
  const stepMs = Math.max(1_000, durationOr(step, metricWindowMs(metric)));
  return { confidence, direction, stepMs, minPoints };
}

/** How many points there are between two checks; earlier ones may be from before the last change of traffic (S4). */
export function pointsBetweenChecks({ analysis }: Pick<Canary['spec'], 'analysis'>, stepMs: number): number {
  return Math.floor(durationOr(analysis.interval, 60_000) / stepMs);
}

/** A test that never has a result would hold every release up, and one that can never fail would let every one pass. */
export function checkComparison(
  metric: CanaryMetric,
  { at, spec }: { readonly at: string; readonly spec: Pick<Canary['spec'], 'analysis'> },
  found: Findings,
): void {
  const comparison = comparisonOf(metric);
  if (!comparison) return;
  const { confidence, direction, stepMs, minPoints } = comparison;
  const points = pointsBetweenChecks(spec, stepMs);
  const inSeconds = `one of every ${stepMs / 1_000} s in an analysis.interval of ${spec.analysis.interval ?? '1m'}`;
  if (points < minPoints)
    found.problems.push({
      path: at,
      message: `never has a result: it has ${points} points, ${inSeconds}, and minPoints is ${minPoints}; lengthen analysis.interval, or shorten the interval of the metric`,
    });
  if (points > limits.comparedPoints)
    found.problems.push({
      path: `${at}.step`,
      message: `is too short: ${points} points, ${inSeconds}; at most ${limits.comparedPoints} are asked`,
    });
  // The rarest of all orders of two samples is that in which all values of one are above those of the other.
  let orders = 1;
  for (let count = 1; count <= minPoints; count += 1) orders *= (minPoints + count) / count;
  if ((direction === 'either' ? 2 : 1) / orders >= (100 - confidence) / 100)
    found.problems.push({
      path: `${at}.minPoints`,
      message: `is too low: with ${minPoints} points of each side no difference reaches the confidence, and the check can never fail`,
    });
  if (metric.maxRelativeIncrease !== undefined && direction !== 'increase')
    found.problems.push({
      path: `${at}.direction`,
      message: 'must be increase where maxRelativeIncrease is set',
    });
  if (stepMs < metricWindowMs(metric))
    found.warnings.push({
      path: `${at}.step`,
      message:
        "is shorter than the metric's interval: points share requests, so sound releases fail more often than the confidence says",
    });
}
