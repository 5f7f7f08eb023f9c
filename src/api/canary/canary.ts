/** Canary (flagger.app/v1beta1): every field Flagger 1.44 accepts, and the optional ones of design section 2.3. */
import * as z from 'zod';
import type { KubernetesObject } from '../kubernetes.ts';
import { beginningOf, limits } from '../limits.ts';
import { type Problem, problemOf } from '../problems.ts';
import { stringMap, text } from '../schema.ts';
import { durationOr, parseDurationMs } from '../time.ts';
import { readYaml } from '../yaml.ts';
import {
  type AlertSeverity,
  type CanaryAlert,
  type CanaryMetric,
  type CanaryWebhook,
  canaryAnalysisSchema,
  type HookType,
  type OnFailure,
  type PostPromotionWebhook,
  postPromotionSchema,
} from './analysis.ts';
import { canaryServiceSchema } from './service.ts';
import type { CanaryStatus } from './status.ts';

/** Routing providers: Flagger's list, and `native` for a rolling update that is stepped in place. */
const canaryProviderSchema = z.enum([
  'apisix',
  'appmesh',
  'appmesh:v1beta2',
  'contour',
  'gatewayapi:v1',
  'gatewayapi:v1beta1',
  'gloo',
  'istio',
  'knative',
  'kubernetes',
  'kuma',
  'linkerd',
  'nginx',
  'osm',
  'skipper',
  'smi:v1alpha1',
  'smi:v1alpha2',
  'smi:v1alpha3',
  'traefik',
  'native',
]);

const targetKindSchema = z.enum(['DaemonSet', 'Deployment', 'Service', 'StatefulSet']);

function reference<Kind extends z.ZodType>(kind: Kind) {
  return z.object({
    apiVersion: z.string().describe('API version of the object.'),
    kind: kind.describe('Kind of the object.'),
    name: z.string().describe("Name of the object, in the Canary's namespace."),
  });
}

const autoscalerRefSchema = reference(z.enum(['HorizontalPodAutoscaler', 'ScaledObject'])).extend({
  primaryScalerQueries: stringMap()
    .describe("ScaledObject: queries of the primary's triggers, by name.")
    .optional(),
  primaryScalerReplicas: z
    .object({
      minReplicas: z.int().min(1).describe('Fewest replicas of the primary.').optional(),
      maxReplicas: z.int().min(1).describe('Most replicas of the primary.').optional(),
    })
    .describe("Bounds of the primary's scaler.")
    .optional(),
});

export const canarySpecSchema = z.object({
  provider: canaryProviderSchema
    .describe('Who splits the traffic. Default: --mesh-provider of holdfast run.')
    .optional(),
  metricsServer: z
    .string()
    .describe(
      'Prometheus address for built-in metrics and inline queries. Default: --metrics-server of holdfast run.',
    )
    .optional(),
  targetRef: reference(targetKindSchema).describe('The workload to roll out.'),
  autoscalerRef: autoscalerRefSchema.describe('The scaler of the workload.').optional(),
  ingressRef: reference(z.enum(['Ingress']))
    .describe('The Ingress to split (nginx, skipper).')
    .optional(),
  routeRef: reference(z.enum(['ApisixRoute', 'HTTPRoute', 'HTTPProxy', 'VirtualService']))
    .describe(
      'The route to split (APISIX). Holdfast: with HTTPRoute, HTTPProxy or VirtualService a route that you keep, of which only the weights are written (gatewayapi, contour, istio).',
    )
    .optional(),
  upstreamRef: reference(z.enum(['Upstream']))
    .extend({ namespace: z.string().describe('Namespace of the Upstream.').optional() })
    .describe('The Upstream whose settings are copied (Gloo).')
    .optional(),
  service: canaryServiceSchema.describe('The Services and routes to generate.').optional(),
  analysis: canaryAnalysisSchema.describe('How a new release is tried.'),
  postPromotion: postPromotionSchema
    .describe('Holdfast: what is watched after promotion and what a failure leads to.')
    .optional(),
  revisionIgnore: z
    .array(text(512).regex(/^\//))
    .max(50)
    .describe(
      'Holdfast: JSON pointers into the workload that do not make a new release, as /spec/template/metadata/annotations/build.',
    )
    .optional(),
  progressDeadlineSeconds: z
    .number()
    .describe(
      'Longest time in seconds without progress of a workload: a pod created or ready for the first time, or an old one gone. Default 600.',
    )
    .optional(),
  skipAnalysis: z.boolean().describe('Promotes without analysis. Default false.').optional(),
  revertOnDeletion: z
    .boolean()
    .describe('Gives the workload its traffic back when the Canary is deleted. Default false.')
    .optional(),
  suspend: z.boolean().describe('Stops this Canary where it is. Default false.').optional(),
});

export type CanarySpec = z.infer<typeof canarySpecSchema>;

/** A Canary as the API server stores it. */
export interface Canary extends KubernetesObject {
  apiVersion: 'flagger.app/v1beta1';
  kind: 'Canary';
  spec: CanarySpec;
  status?: CanaryStatus;
  /** The status as the API server has it; absent where that is the same. */
  storedStatus?: CanaryStatus;
}

// `spec.postPromotion` as an annotation, for clusters where Flagger's own CRD prunes the field (design section 2.3).

/** The annotation's key; its value is the YAML of spec.postPromotion. */
export const postPromotionAnnotation = 'holdfast.dev/post-promotion';

const at = ['metadata', 'annotations', postPromotionAnnotation];
const atText = `metadata.annotations[${JSON.stringify(postPromotionAnnotation)}]`;

/** The Canary with the annotation moved to spec.postPromotion. A field in the spec wins: the annotation is not read then. */
export function withAnnotatedPostPromotion(canary: Canary): { canary: Canary; problems: Problem[] } {
  const text = canary.metadata.annotations?.[postPromotionAnnotation];
  if (text === undefined || canary.spec.postPromotion) return { canary, problems: [] };
  if (Buffer.byteLength(text) > limits.postPromotionAnnotationBytes)
    return { canary, problems: [{ path: atText, message: 'is too long' }] };
  let value: unknown;
  try {
    value = readYaml(text);
  } catch {
    return { canary, problems: [{ path: atText, message: 'cannot be read as YAML' }] };
  }
  const parsed = postPromotionSchema.safeParse(value);
  if (parsed.success)
    return { canary: { ...canary, spec: { ...canary.spec, postPromotion: parsed.data } }, problems: [] };
  return { canary, problems: parsed.error.issues.map((issue) => problemOf(issue, value, at)) };
}

// Defaults: Flagger's, and ours for the fields that Flagger does not have.

/** Name of the apex Service: `service.name`, or else the target's. */
export function apexName(canary: Canary): string {
  return canary.spec.service?.name || canary.spec.targetRef.name;
}

/** Milliseconds between two checks: 60 s if absent or unreadable, never below the floor. */
export function analysisIntervalMs(canary: Canary, floorMs: number): number {
  return Math.max(floorMs, durationOr(canary.spec.analysis.interval, 60_000));
}

/** Failed checks that stop a release; zero and below count as one. */
export function failureThreshold(threshold: number | undefined): number {
  return Math.max(1, threshold ?? 0);
}

/** Both sides are pods of one workload, whose rolling update is paused at the step (ADR 21). */
export function sharesWorkload(provider: string | undefined): boolean {
  return provider === 'native';
}

/** Whether session affinity works with this routing provider; others leave the field out. */
export function keepsSessions(provider: string): boolean {
  return ['gatewayapi:v1', 'gatewayapi:v1beta1', 'istio'].includes(provider);
}

/** Whether requests are copied to the canary: providers without session affinity do not either, and a connection is not copied. */
export function mirrors({ analysis, service }: Canary['spec'], provider: string): boolean {
  return analysis.mirror === true && keepsSessions(provider) && service?.appProtocol?.toLowerCase() !== 'tcp';
}

/** Milliseconds a workload may stay without progress: 600 s if absent. */
export function progressDeadlineMs(canary: Canary): number {
  return (canary.spec.progressDeadlineSeconds ?? 600) * 1_000;
}

/** Milliseconds of a metric's window: one minute if absent or unreadable. */
export function metricWindowMs(metric: CanaryMetric): number {
  return durationOr(metric.interval, 60_000);
}

/** Milliseconds of one attempt of a webhook: 10 s if absent, unreadable or shorter than two characters. 0 is no limit in Flagger, and the longest here. */
export function webhookTimeoutMs(timeout: string | undefined): number {
  const givenMs = durationOr(timeout !== undefined && timeout.length < 2 ? undefined : timeout, 10_000);
  return givenMs === 0 ? limits.hookTimeoutMs : givenMs;
}

/** `postPromotion` with its defaults filled in (design section 2.3). Times are in milliseconds. */
export interface EffectivePostPromotion {
  progressDeadlineMs: number;
  intervalMs: number;
  successThreshold: number;
  threshold: number;
  onFailure: OnFailure;
  maxRestarts: number | undefined;
  metrics: readonly CanaryMetric[];
}

/** Defaults of `postPromotion`; a Canary without it gets them all. */
export function effectivePostPromotion(canary: Canary, floorMs: number): EffectivePostPromotion {
  const given = canary.spec.postPromotion ?? {};
  const intervalMs = given.interval === undefined ? undefined : parseDurationMs(given.interval);
  return {
    progressDeadlineMs:
      given.progressDeadlineSeconds === undefined
        ? progressDeadlineMs(canary)
        : given.progressDeadlineSeconds * 1_000,
    intervalMs: Math.max(floorMs, intervalMs ?? analysisIntervalMs(canary, floorMs)),
    successThreshold: given.successThreshold ?? 1,
    threshold: failureThreshold(given.failureThreshold ?? given.threshold),
    onFailure: given.onFailure === 'manual' ? 'halt' : (given.onFailure ?? 'auto'),
    maxRestarts: given.expect?.maxRestarts,
    metrics: given.metrics ?? [],
  };
}

// The lists of a Canary: metrics and alerts by id, webhooks by type.

/**
 * The metrics of one list by id, in its order: the name, and `name (2)`, `name (3)` for further ones of that name. Checks are asked for,
 * answered and reported by id, so that two metrics of one name are two checks.
 */
export function metricsById(metrics: readonly CanaryMetric[] | undefined): Map<string, CanaryMetric> {
  return byId(metrics ?? [], ({ name }) => name);
}

/** By their names, with a number from 2 on after a name that was there already. */
function byId<T>(items: readonly T[], nameOf: (item: T) => string): Map<string, T> {
  const found = new Map<string, T>();
  for (const item of items) {
    const name = nameOf(item);
    let id = name;
    for (let number = 2; found.has(id); number += 1) id = `${name} (${number})`;
    found.set(id, item);
  }
  return found;
}

/** The name of a metric by its id. */
export function nameOfMetric(id: string): string {
  return id.replace(/ \(\d+\)$/, '');
}

/** Metrics that need no query: their names are Flagger's. */
export const builtInMetrics: readonly string[] = ['request-success-rate', 'request-duration'];

/** Whether the metric has a built-in query; with such a name it is used whatever else the metric says. */
export function isBuiltIn({ name }: CanaryMetric): boolean {
  return builtInMetrics.includes(name);
}

/** A webhook of either list. */
export type Webhook = CanaryWebhook | PostPromotionWebhook;

/**
 * The apiVersion of the object that a target names, from one that need not be valid: as in Flagger, what is written tells Services of Knative from
 * those of Kubernetes (also `core/v1`), and nothing else.
 */
export function targetApiVersion({
  apiVersion,
  kind = '',
}: {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
}): string | undefined {
  if (kind === 'Service') return apiVersion?.startsWith('serving.knative.dev/') ? apiVersion : 'v1';
  return ['Deployment', 'DaemonSet', 'StatefulSet'].includes(kind) ? 'apps/v1' : apiVersion;
}

/** The webhooks of a type, in the order of the spec. */
export function hooksOf({ spec }: Canary, type: HookType): readonly Webhook[] {
  if (type === 'post-promotion') return spec.postPromotion?.webhooks ?? [];
  return (spec.analysis?.webhooks ?? []).filter((webhook) => (webhook.type || 'rollout') === type);
}

type Severity = Exclude<AlertSeverity, ''>;

const SEVERITY_RANK: Readonly<Record<Severity, number>> = { info: 0, warn: 1, error: 2 };
const MAX_ALERTS = 32;
/** Id of the alert to the receiver that the program's flags name. */
export const DEFAULT_ALERT = '(default)';

/** The Canary's alerts by id: the name, and `name (2)`, `name (3)` for further ones of that name. */
export function alertsById(canary: Canary): Map<string, CanaryAlert> {
  const alerts = (canary.spec.analysis?.alerts ?? []).slice(0, MAX_ALERTS);
  return byId(alerts, ({ name }) => beginningOf(name, 240));
}

/**
 * Ids of the Canary's alerts for a report of this severity. Without alerts every report goes to the receiver that the program's flags name,
 * if there is one, as in Flagger.
 */
export function alertsFor(canary: Canary, severity: Severity, hasDefault: boolean): string[] {
  const alerts = [...alertsById(canary)];
  if (alerts.length === 0) return hasDefault ? [DEFAULT_ALERT] : [];
  return alerts.filter(([, alert]) => passes(alert.severity, severity)).map(([id]) => id);
}

/** Whether an alert with this lowest severity is sent for that one. Default info: all are sent (flagger-behaviour 2.19, 10). */
export function passes(lowest: AlertSeverity | undefined, severity: Severity): boolean {
  return SEVERITY_RANK[severity] >= SEVERITY_RANK[lowest || 'info'];
}
