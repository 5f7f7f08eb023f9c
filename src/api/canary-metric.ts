/** One check of an analysis: a built-in metric, an inline query or a MetricTemplate, and the range its value must keep. */
import * as z from 'zod';
import { flaggerDuration, stringMap } from './schema.ts';

/** Bounds of a metric's value; both ends count as inside. */
export const thresholdRangeSchema = z.object({
  min: z.number().describe('The check fails below this value.').optional(),
  max: z.number().describe('The check fails above this value.').optional(),
});

/** What a check does when its provider answers without a value. */
export const onNoDataSchema = z.enum(['fail', 'pass', 'wait']);

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
      'Holdfast: during the analysis also asks the same query of the primary, at the same moment, and compares the two values. Without a value of the primary there is none.',
    )
    .optional(),
  maxRelativeIncrease: z
    .number()
    .min(0)
    .max(100_000)
    .describe(
      'Holdfast: with compareWith, percent by which the canary may be above the primary; beside the bounds of thresholdRange, where it has some.',
    )
    .optional(),
});

export type ThresholdRange = z.infer<typeof thresholdRangeSchema>;
export type OnNoData = z.infer<typeof onNoDataSchema>;
export type CanaryMetric = z.infer<typeof canaryMetricSchema>;
