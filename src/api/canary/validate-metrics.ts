/** Checks of the metrics of a Canary that the schema cannot express. */
import type { Findings, Problem } from '../problems.ts';
import type { CanaryMetric } from './analysis.ts';
import { builtInMetrics, isBuiltIn } from './canary.ts';

/** Adds what is wrong with each metric: it must say where its value comes from, and have bounds that can both pass and fail. */
export function checkMetrics(
  metrics: readonly CanaryMetric[] | undefined,
  path: string,
  found: Findings,
): void {
  metrics?.forEach((metric, index) => {
    const at = `${path}[${index}]`;
    found.problems.push(...problemsOf(metric, at));
    const warning = comparisonWarning(metric, at) ?? boundsWarning(metric, at) ?? sourceWarning(metric, at);
    if (warning) found.warnings.push(warning);
  });
}

function problemsOf(metric: CanaryMetric, path: string): Problem[] {
  const { name, templateRef, query, thresholdRange, compareWith, compare, maxRelativeIncrease } = metric;
  const { min, max } = thresholdRange ?? {};
  const problems: Problem[] = [];
  if (!templateRef && !query && !isBuiltIn(metric))
    problems.push({
      path,
      message: `"${name.slice(0, 60)}" is not built in; set its templateRef, or use ${builtInMetrics.join(' or ')}`,
    });
  if (min !== undefined && max !== undefined && min > max)
    problems.push({ path: `${path}.thresholdRange`, message: 'can never pass: min is above max' });
  // Without any bound Flagger compares with 0: durations then fail always, success rates pass always.
  if (name === 'request-duration' && !thresholdRange && !hasBound(metric))
    problems.push({
      path: `${path}.thresholdRange.max`,
      message: 'is missing; without it every release fails',
    });
  if (compareWith !== undefined && maxRelativeIncrease === undefined && !compare)
    problems.push({ path: `${path}.maxRelativeIncrease`, message: 'is missing; compareWith needs it' });
  if (compareWith === undefined && !compare && maxRelativeIncrease !== undefined)
    problems.push({ path: `${path}.compareWith`, message: 'is missing; maxRelativeIncrease needs it' });
  return problems;
}

/** A comparison fails for values that are higher on the canary; after promotion there is nothing to compare. */
function comparisonWarning({ compareWith, compare, name }: CanaryMetric, path: string): Problem | undefined {
  if (compareWith === undefined && !compare) return undefined;
  if (path.startsWith('spec.postPromotion.'))
    return {
      path: `${path}.${compare ? 'compare' : 'compareWith'}`,
      message: 'has no effect after promotion: the check is about the primary',
    };
  if (compare) return undefined;
  if (name !== 'request-success-rate') return undefined;
  const message =
    'finds what is higher than on the primary, and a success rate that falls passes; use thresholdRange.min';
  return { path: `${path}.compareWith`, message };
}

/** Flagger asks each source that a metric has; here it is one check with one value. */
function sourceWarning(metric: CanaryMetric, path: string): Problem | undefined {
  const { name, query, templateRef } = metric;
  if (isBuiltIn(metric) && (query || templateRef))
    return {
      path: `${path}.${query ? 'query' : 'templateRef'}`,
      message: `is not asked: ${name} is built in; give this metric another name`,
    };
  if (!query || !templateRef) return undefined;
  return { path: `${path}.templateRef`, message: 'is not asked, because query is; make two metrics of it' };
}

function boundsWarning(metric: CanaryMetric, path: string): Problem | undefined {
  const { min = 0, max = 0 } = metric.thresholdRange ?? {};
  if (isBuiltIn(metric) && (min < 0 || max < 0))
    return { path: `${path}.thresholdRange`, message: 'has a bound below 0, which this metric never is' };
  if (hasBound(metric)) return undefined;
  const alwaysPasses = metric.name === 'request-success-rate' || metric.thresholdRange !== undefined;
  if (alwaysPasses)
    return { path: `${path}.thresholdRange`, message: 'has no min and no max: this check passes always' };
  if (metric.name === 'request-duration') return undefined;
  return { path: `${path}.thresholdRange`, message: 'is missing: this check fails for any value above 0' };
}

function hasBound(metric: CanaryMetric): boolean {
  const { min, max } = metric.thresholdRange ?? {};
  const relative = metric.compareWith !== undefined && metric.maxRelativeIncrease !== undefined;
  return (
    min !== undefined ||
    max !== undefined ||
    (!metric.thresholdRange && Boolean(metric.threshold)) ||
    relative ||
    metric.compare !== undefined
  );
}
