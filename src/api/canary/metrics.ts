/** One check of an analysis: a built-in metric, an inline query or a MetricTemplate, and the range its value must keep; ids in a list, and what the schema cannot check. */
import * as z from 'zod';
import type { Problem } from '../problems.ts';
import { flaggerDuration, stringMap } from '../schema.ts';

/** Bounds of a metric's value; both ends count as inside. */
const thresholdRangeSchema = z.object({
  min: z.number().describe('The check fails below this value.').optional(),
  max: z.number().describe('The check fails above this value.').optional(),
});

/** What a check does when its provider answers without a value. */
const onNoDataSchema = z.enum(['fail', 'pass', 'wait']);

export const canaryMetricSchema = z.object({
  name: z
    .string()
    .describe(
      'Name of the check. request-success-rate and request-duration are built in; others need templateRef or query.',
    ),
  interval: flaggerDuration()
    .describe('Window the value is computed over, as 30s or 1m. Default 1m.')
    .optional(),
  threshold: z
    .number()
    .describe(
      'Deprecated in favour of thresholdRange: lowest success rate, or highest value of any other metric.',
    )
    .optional(),
  thresholdRange: thresholdRangeSchema.describe('Range the value must stay in.').optional(),
  query: z.string().describe('Deprecated in favour of templateRef: a PromQL query.').optional(),
  templateRef: z
    .object({
      name: z.string().describe('Name of the MetricTemplate.'),
      namespace: z.string().describe("Its namespace. Default: the Canary's.").optional(),
    })
    .describe('The MetricTemplate that gives the query and the provider.')
    .optional(),
  templateVariables: stringMap().describe('Values for {{ variables.x }} in the template.').optional(),
  onNoData: onNoDataSchema
    .describe(
      'Holdfast: what an answer without a value counts as. fail: a failed check; pass: a passed one; wait: neither, the step waits. Default fail.',
    )
    .optional(),
  minSamples: z
    .int()
    .min(0)
    .max(1_000_000_000)
    .describe('Holdfast: requests the window must hold before the value counts; fewer is no data. Default 0.')
    .optional(),
  compareWith: z
    .enum(['primary'])
    .describe(
      'Holdfast: during the analysis also asks the same query of the primary, at the same moment, and compares the two values. Without a value of the primary the check has no value.',
    )
    .optional(),
  maxRelativeIncrease: z
    .number()
    .min(0)
    .max(100_000)
    .describe(
      'Holdfast: with compareWith, percent by which the canary may be above the primary, in addition to the bounds of thresholdRange.',
    )
    .optional(),
});

export type CanaryMetric = z.infer<typeof canaryMetricSchema>;

// What a check calls its metrics: names need not be unique in a list.

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
