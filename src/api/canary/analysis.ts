/** How a release is tried (Flagger's `spec.analysis`) and watched after promotion (`spec.postPromotion`): webhooks, alerts, steps, checks, matches. */
import * as z from 'zod';
import { limits } from '../limits.ts';
import {
  duration,
  flaggerDuration,
  headerMatchSchema,
  oneOf,
  stringMap,
  stringMatchSchema,
  withFlaggerDefault,
} from '../schema.ts';

/** When Flagger's webhooks run; the empty string means rollout. */
const webhookTypeSchema = z.enum([
  '',
  'confirm-rollout',
  'pre-rollout',
  'rollout',
  'confirm-promotion',
  'post-rollout',
  'event',
  'rollback',
  'confirm-traffic-increase',
]);

const webhookFields = {
  name: z.string().describe('Name of the webhook, for events and messages.'),
  url: z.string().describe('Address that gets the POST request.'),
  muteAlert: z
    .boolean()
    .describe('Gates: sends no alert while the gate is closed. Default false.')
    .optional(),
  timeout: flaggerDuration().describe('Longest time of one attempt, as 10s or 1m. Default 10s.').optional(),
  retries: z.number().describe('Further attempts after a failed one. Default 0.').optional(),
  disableTLS: z.boolean().describe('Accepts any server certificate. Default false.').optional(),
  metadata: stringMap().describe('Values passed on to the receiver.').optional(),
};

const canaryWebhookSchema = z.object({
  ...webhookFields,
  type: webhookTypeSchema.describe('When the webhook runs. Default rollout: at every check.').optional(),
  deadline: duration()
    .describe(
      'Gates only: the release fails if the gate stays closed longer than this. Default: a gate waits without a deadline.',
    )
    .optional(),
});

/** A webhook of postPromotion: asked at every check after promotion. */
const postPromotionWebhookSchema = z.object({
  ...webhookFields,
  type: z.enum(['', 'post-promotion']).describe('Only post-promotion, which is the default.').optional(),
});

const alertSeveritySchema = z.enum(['', 'info', 'warn', 'error']);

export const canaryAlertSchema = z.object({
  name: z.string().describe('Name of the alert, for messages.'),
  severity: alertSeveritySchema
    .describe('Lowest severity that is sent: info sends all, error only errors. Default info.')
    .optional(),
  providerRef: z
    .object({
      name: z.string().describe('Name of the AlertProvider.'),
      namespace: z
        .string()
        .describe('Its namespace. Default: the same; another one needs --cross-namespace-refs.')
        .optional(),
    })
    .describe('The AlertProvider to send to.'),
});

type WebhookType = z.infer<typeof webhookTypeSchema>;
export type CanaryWebhook = z.infer<typeof canaryWebhookSchema>;
export type PostPromotionWebhook = z.infer<typeof postPromotionWebhookSchema>;
export type AlertSeverity = z.infer<typeof alertSeveritySchema>;
export type CanaryAlert = z.infer<typeof canaryAlertSchema>;

/** When a webhook is called: Flagger's types with the empty one read as rollout, and ours after promotion. */
export type HookType = Exclude<WebhookType, ''> | 'post-promotion';

// One check: a built-in metric, an inline query or a MetricTemplate, and the range in which its value must stay.

/** Bounds of a metric's value; both ends count as inside. */
const thresholdRangeSchema = z.object({
  min: z.number().describe('The check fails below this value.').optional(),
  max: z.number().describe('The check fails above this value.').optional(),
});

/** What a check does when its provider answers without a value. */
const onNoDataSchema = z.enum(['fail', 'pass', 'wait']);

/** A statistical test of the canary's points against the primary's. */
const metricComparisonSchema = z.object({
  method: z.enum(['mannWhitney']).describe('The test: mannWhitney, one of ranks, whatever the distribution.'),
  confidence: z
    .number()
    .min(50)
    .max(99.99)
    .describe(
      'Percent of the checks without a real difference that pass. A difference that chance gives more rarely fails. Default 95.',
    )
    .optional(),
  direction: z
    .enum(['increase', 'decrease', 'either'])
    .describe('Which difference is bad. Default: decrease for request-success-rate, else increase.')
    .optional(),
  step: duration()
    .describe(
      "Time between two points. Shorter than the metric's interval, points share requests and the confidence is less than stated. Default: the metric's interval.",
    )
    .optional(),
  minPoints: z
    .int()
    .min(3)
    .max(limits.comparedPoints)
    .describe(
      'Points that each side must have in the last analysis.interval; with fewer the check is inconclusive. Default 8.',
    )
    .optional(),
});

const canaryMetricSchema = z.object({
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
      namespace: z
        .string()
        .describe('Its namespace. Default: the same; another one needs --cross-namespace-refs.')
        .optional(),
    })
    .describe('The MetricTemplate that gives the query and the provider.')
    .optional(),
  templateVariables: stringMap().describe('Values for {{ variables.x }} in the template.').optional(),
  onNoData: onNoDataSchema
    .describe(
      'Holdfast: what an answer without a value counts as. fail: a failed check; pass: a passed one; wait: neither, the step waits. Default fail; with compare wait.',
    )
    .optional(),
  maxSampleAge: duration()
    .describe(
      "Holdfast: a value whose newest sample is older has no data. Default: the metric's interval, and the server's own rule where it tells no time of samples (Prometheus: 5m).",
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
      'Holdfast: during the analysis also asks the same query of the primary, at the same moment, and compares the two values, by maxRelativeIncrease or compare. Without a value of the primary the check has no value.',
    )
    .optional(),
  compare: metricComparisonSchema
    .describe(
      'Holdfast: compares the points of the last analysis.interval with those of the primary, instead of one value (prometheus, loki, built-in metrics and query). Implies compareWith: primary; with maxRelativeIncrease the median must be above that too.',
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

// How a new release is tried: steps, checks, matches and gates (Flagger's `spec.analysis`).

/** One A/B condition; its parts must all hold, several conditions are alternatives. */
const analysisMatchSchema = z.object({
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

const sessionAffinitySchema = z.object({
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
const nodeOrderSchema = z.object({
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
  alerts: z.array(canaryAlertSchema).describe('Where reports about this release are sent.').optional(),
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
export type NodeOrder = z.infer<typeof nodeOrderSchema>;

// What is watched after promotion, and what happens when it fails (design sections 2.3 and 5).

/** What a failure after promotion leads to. */
const onFailureSchema = z.enum(['auto', 'hold', 'revert', 'halt']);

/** As it is written in a Canary: `halt` has two names. */
export const writtenOnFailureSchema = z.enum([...onFailureSchema.options, 'manual']);

/** Expected against actual state; readiness, image, replicas, template and config are compared always. */
const expectSchema = z.object({
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
      "Longest time in seconds without progress while the primary comes up: a pod created or ready for the first time, or an old one gone. Default: the Canary's progressDeadlineSeconds.",
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
  failureThreshold: z
    .int()
    .min(0)
    .max(10_000)
    .describe(
      'The failing check that reaches this number fails the release; failures add up. Default 1; 0 counts as 1.',
    )
    .optional(),
  threshold: z.int().min(0).max(10_000).describe('Former name of failureThreshold.').optional(),
  onFailure: writtenOnFailureSchema
    .describe(
      'auto: hold while the canary is healthy, else revert. hold: keep serving from the canary. revert: back to the last promoted release. manual: change nothing, a person decides. halt: former name of manual. Default auto.',
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
