/** The metrics of an analysis: their ids in a list, and what the schema cannot check. */
import type * as z from 'zod';
import type { Problem } from '../problems.ts';
import type { canaryMetricSchema } from './analysis.ts';

export type CanaryMetric = z.infer<typeof canaryMetricSchema>;

/**
 * The metrics of one list by id, in its order: the name, and `name (2)`, `name (3)` for further ones of that name. Checks are asked for,
 * answered and told by id, so that two metrics of one name are two checks.
 */
export function metricsById(metrics: readonly CanaryMetric[] | undefined): Map<string, CanaryMetric> {
  const found = new Map<string, CanaryMetric>();
  for (const metric of metrics ?? []) found.set(freeId(found, metric.name), metric);
  return found;
}

/** The name of the metric that an id stands for. */
export function nameOfMetric(id: string): string {
  return id.replace(/ \(\d+\)$/, '');
}

function freeId(taken: ReadonlyMap<string, unknown>, name: string): string {
  if (!taken.has(name)) return name;
  let number = 2;
  while (taken.has(`${name} (${number})`)) number += 1;
  return `${name} (${number})`;
}

// Checks of metrics: each must name where its value comes from, and bounds that can both pass and fail.

/** Metrics that need no query: their names are Flagger's. */
export const builtInMetrics = ['request-success-rate', 'request-duration'] as const;

/** Adds what is wrong with each metric; `path` names the list. */
export function checkMetrics(
  metrics: readonly CanaryMetric[] | undefined,
  path: string,
  found: { problems: Problem[]; warnings: Problem[] },
): void {
  metrics?.forEach((metric, index) => {
    const at = `${path}[${index}]`;
    found.problems.push(
      ...sourceProblems(metric, at),
      ...rangeProblems(metric, at),
      ...compareProblems(metric, at),
    );
    const compared = comparisonWarning(metric, at);
    const warning = compared ?? boundsWarning(metric, at);
    if (warning) found.warnings.push(warning);
  });
}

/** The comparison finds what rises on the canary, and there is none after promotion. */
function comparisonWarning({ compareWith, name }: CanaryMetric, path: string): Problem | undefined {
  if (compareWith === undefined) return undefined;
  if (path.startsWith('spec.postPromotion.'))
    return {
      path: `${path}.compareWith`,
      message: 'has no effect after promotion: the check is about the primary',
    };
  if (name !== 'request-success-rate') return undefined;
  const message =
    'finds what is higher than on the primary, and a success rate that falls passes; use thresholdRange.min';
  return { path: `${path}.compareWith`, message };
}

function isBuiltIn(metric: CanaryMetric): boolean {
  return (builtInMetrics as readonly string[]).includes(metric.name);
}

function sourceProblems(metric: CanaryMetric, path: string): Problem[] {
  if (metric.templateRef || metric.query || isBuiltIn(metric)) return [];
  const message = `"${metric.name.slice(0, 60)}" is not built in; set its templateRef, or use ${builtInMetrics.join(' or ')}`;
  return [{ path, message }];
}

/** Without any bound Flagger compares with 0: durations then fail always, success rates pass always. */
function rangeProblems(metric: CanaryMetric, path: string): Problem[] {
  const { min, max } = metric.thresholdRange ?? {};
  if (min !== undefined && max !== undefined && min > max)
    return [{ path: `${path}.thresholdRange`, message: 'can never pass: min is above max' }];
  if (hasBound(metric) || metric.thresholdRange || metric.name !== 'request-duration') return [];
  return [{ path: `${path}.thresholdRange.max`, message: 'is missing; without it every release fails' }];
}

function boundsWarning(metric: CanaryMetric, path: string): Problem | undefined {
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
    relative
  );
}

function compareProblems(metric: CanaryMetric, path: string): Problem[] {
  const { compareWith, maxRelativeIncrease } = metric;
  if (compareWith !== undefined && maxRelativeIncrease === undefined)
    return [{ path: `${path}.maxRelativeIncrease`, message: 'is missing; compareWith needs it' }];
  if (compareWith === undefined && maxRelativeIncrease !== undefined)
    return [{ path: `${path}.compareWith`, message: 'is missing; maxRelativeIncrease needs it' }];
  return [];
}
