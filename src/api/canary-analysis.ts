/** How a new release is tried: steps, checks, matches and gates (Flagger's `spec.analysis`). */
import * as z from 'zod';
import { canaryAlertSchema, canaryWebhookSchema } from './canary-hooks.ts';
import { canaryMetricSchema } from './canary-metric.ts';
import { flaggerDuration, oneOf, stringMap, withFlaggerDefault } from './schema.ts';
import { headerMatchSchema, stringMatchSchema } from './string-match.ts';

/** One A/B condition; its parts must all hold, several conditions are alternatives. */
export const analysisMatchSchema = z.object({
  headers: z
    .record(z.string(), headerMatchSchema)
    .describe('Headers by name (lower case) and how their value is compared.')
    .optional(),
  queryParams: z
    .record(z.string(), stringMatchSchema)
    .describe('Query parameters by name and how their value is compared.')
    .optional(),
  sourceLabels: stringMap().describe('Labels of the calling pod (Istio).').optional(),
});

export const sessionAffinitySchema = z.object({
  cookieName: z.string().describe('Cookie that keeps a user on the canary.'),
  primaryCookieName: z.string().describe('Cookie that keeps a user on the primary.').optional(),
  domain: z.string().describe("The cookie's Domain attribute.").optional(),
  httpOnly: z.boolean().describe("The cookie's HttpOnly attribute.").optional(),
  maxAge: withFlaggerDefault(
    z.number().describe("The cookie's Max-Age in seconds. Default 86400."),
    86_400,
  ).optional(),
  partitioned: z.boolean().describe("The cookie's Partitioned attribute.").optional(),
  path: z.string().describe("The cookie's Path attribute.").optional(),
  sameSite: z.enum(['Strict', 'Lax', 'None']).describe("The cookie's SameSite attribute.").optional(),
  secure: z.boolean().describe("The cookie's Secure attribute.").optional(),
});

/** In which order the nodes of a DaemonSet are taken, with provider native. */
export const nodeOrderSchema = z.object({
  label: z.string().min(1).describe('Label of nodes, as topology.kubernetes.io/zone.'),
  values: z
    .array(z.string())
    .max(100)
    .describe(
      'Its values, those that come first in front. Nodes with another value follow, then those without the label.',
    )
    .optional(),
});

const fields = z.object({
  interval: flaggerDuration().describe('Time between two checks, as 30s or 1m.').optional(),
  threshold: z
    .number()
    .describe('The failed check that reaches this number stops the release; failures add up. 0 counts as 1.')
    .optional(),
  iterations: z.number().describe('Number of checks of an A/B or blue/green release.').optional(),
  maxWeight: z
    .number()
    .describe('Canary weight in percent at which the release is promoted. Default 100.')
    .optional(),
  stepWeight: z.number().describe('Percent by which the canary weight rises at each step.').optional(),
  stepWeights: z.array(z.number()).describe('The canary weights to go through, in percent.').optional(),
  stepWeightPromotion: z
    .number()
    .describe('Percent by which traffic moves to the primary while promoting. Default 0: all at once.')
    .optional(),
  mirror: z
    .boolean()
    .describe('Copies requests to the canary before it gets traffic. Default false.')
    .optional(),
  mirrorWeight: z.number().describe('Percent of the requests that are copied.').optional(),
  primaryReadyThreshold: z
    .number()
    .describe("Percent of the primary's pods that must be available. Default 100.")
    .optional(),
  canaryReadyThreshold: z
    .number()
    .describe("Percent of the canary's pods that must be available. Default 100.")
    .optional(),
  match: z
    .array(analysisMatchSchema)
    .describe('A/B: requests that go to the canary; the others stay with the primary.')
    .optional(),
  nodeOrder: nodeOrderSchema
    .describe('DaemonSets with provider native: which nodes come first. Default: by name.')
    .optional(),
  metrics: z.array(canaryMetricSchema).describe('Checks asked at every interval.').optional(),
  alerts: z.array(canaryAlertSchema).describe('Where news of this release is sent.').optional(),
  webhooks: z.array(canaryWebhookSchema).describe('Gates, tests and load generators.').optional(),
  sessionAffinity: sessionAffinitySchema.describe('Keeps a user on the side they were sent to.').optional(),
});

/** Exactly one of iterations, stepWeight and stepWeights, each with interval and threshold, as Flagger's CRD demands. */
export const canaryAnalysisSchema = oneOf(fields, 'exactlyOne', [
  ['interval', 'threshold', 'iterations'],
  ['interval', 'threshold', 'stepWeight'],
  ['interval', 'threshold', 'stepWeights'],
]);

export type AnalysisMatch = z.infer<typeof analysisMatchSchema>;
export type SessionAffinity = z.infer<typeof sessionAffinitySchema>;
export type CanaryAnalysis = z.infer<typeof canaryAnalysisSchema>;
export type NodeOrder = z.infer<typeof nodeOrderSchema>;
