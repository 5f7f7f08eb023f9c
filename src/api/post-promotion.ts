/** What is watched after promotion, and what happens when it fails (design sections 2.3 and 5). */
import * as z from 'zod';
import { postPromotionWebhookSchema } from './canary-hooks.ts';
import { canaryMetricSchema } from './canary-metric.ts';
import { duration } from './schema.ts';

/** What a failure after promotion leads to. */
export const onFailureSchema = z.enum(['auto', 'hold', 'revert', 'halt']);

/** Expected against actual state; readiness, image, replicas, template and config are compared always. */
export const expectSchema = z.object({
  maxRestarts: z
    .int()
    .min(0)
    .max(1_000_000)
    .describe('Container restarts the primary may have since promotion. Default: not checked.')
    .optional(),
});

export const postPromotionSchema = z.object({
  progressDeadlineSeconds: z
    .int()
    .min(1)
    .max(86_400)
    .describe(
      "Longest time in seconds without progress while the primary comes up: a pod made, ready for the first time, or an old one gone. Default: the Canary's progressDeadlineSeconds.",
    )
    .optional(),
  interval: duration().describe('Time between two checks. Default: analysis.interval.').optional(),
  successThreshold: z
    .int()
    .min(0)
    .max(10_000)
    .describe(
      'Passing checks in a row before the release is good. Default 1; 0: good as soon as the primary is up and carries all traffic.',
    )
    .optional(),
  threshold: z
    .int()
    .min(0)
    .max(10_000)
    .describe(
      'The failing check that reaches this number fails the release; failures add up. Default 1; 0 counts as 1.',
    )
    .optional(),
  onFailure: onFailureSchema
    .describe(
      'auto: hold while the canary is healthy, else revert. hold: keep serving from the canary. revert: back to the last promoted release. halt: touch nothing, a person decides. Default auto.',
    )
    .optional(),
  expect: expectSchema.describe('Further expectations of the cluster state.').optional(),
  metrics: z
    .array(canaryMetricSchema)
    .max(50)
    .describe(
      'Checks as in analysis.metrics; {{ target }} is the primary workload, {{ service }} its Service.',
    )
    .optional(),
  webhooks: z.array(postPromotionWebhookSchema).max(20).describe('Webhooks asked at every check.').optional(),
});

export type OnFailure = z.infer<typeof onFailureSchema>;
export type PostPromotion = z.infer<typeof postPromotionSchema>;
