/** One metric of a Canary, asked once. */
import type { Canary } from '../../api/canary/canary.ts';
import { comparisonOf, pointsBetweenChecks } from '../../api/canary/comparison.ts';
import type { CanaryMetric } from '../../api/canary/metrics.ts';
import { metricWindowMs } from '../../api/defaults.ts';
import { limits } from '../../api/limits.ts';
import type { MetricTemplate } from '../../api/metric-template.ts';
import type { MetricReading } from '../../api/observed.ts';
import { parseDurationMs } from '../../api/time.ts';
import { builtInQuery, isBuiltIn } from './builtin.ts';
import {
  failedReading,
  type MetricAccess,
  type MetricEndpoint,
  type MetricProvider,
  type MetricRequest,
} from './provider.ts';
import { type MetricRole, metricSubject, type SubjectPods } from './subject.ts';
import { prometheus } from './systems/prometheus.ts';
import { metricProvider, supportedMetricProviders } from './table.ts';
import { renderTemplate } from './template.ts';
import { TemplateError } from './template-parser.ts';

/** Everything a reading depends on. */
export interface MetricSource {
  canary: Canary;
  metric: CanaryMetric;
  role: MetricRole;
  /** Routing provider in effect; it decides how requests are counted. */
  provider: string;
  /** Name of the role's workload in the cluster: of a Knative Service the revision. */
  workload?: string | undefined;
  /** Names of its pods by their template, where both sides are pods of one workload. */
  pods?: SubjectPods | undefined;
  /** Prometheus of built-in and inline queries unless `spec.metricsServer` names another. */
  metricsServer: string;
  /** Credentials for it, and their name in messages: `Secret NAME ...`. Never sent to a server that a Canary names. */
  metricsServerSecret?:
    | { readonly name: string; readonly values: Readonly<Record<string, string>> }
    | undefined;
  /** The MetricTemplate of `metric.templateRef`; undefined when it does not exist. */
  template?: MetricTemplate | undefined;
  /** Decoded Secret of the template's provider; undefined when it does not exist. */
  secret?: Readonly<Record<string, string>> | undefined;
  /** Also the points between two checks. */
  asPoints?: boolean | undefined;
  nowMs: number;
  /** Default 5 s. */
  timeoutMs?: number;
}

/** What to ask, and whom. */
interface Question {
  provider: MetricProvider;
  endpoint: MetricEndpoint;
  query: string;
  /** PromQL of the number of requests, when it is known. */
  samples?: string;
  fromProvider(value: number): number;
}

/** Namespace and name of the MetricTemplate a metric needs, undefined for built-in and inline ones. The default namespace is the Canary's. */
export function templateOf(
  canary: Canary,
  metric: CanaryMetric,
): { namespace: string; name: string } | undefined {
  const { name, templateRef, query } = metric;
  if (isBuiltIn(name) || query || !templateRef) return undefined;
  return {
    namespace: templateRef.namespace || canary.metadata.namespace || 'default',
    name: templateRef.name,
  };
}

/**
 * Asks one metric: a built-in name first, else the inline query, else the template. Never throws; where there is no value, the answer is `noData`
 * or `error` with its reason (S29). Success rates are percent, durations milliseconds.
 */
export async function readMetric(source: MetricSource, access: MetricAccess): Promise<MetricReading> {
  try {
    return await answerTo(questionOf(source), source, access);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    return { kind: 'error', detail: error.message };
  }
}

async function answerTo(
  { provider, endpoint, query, samples, fromProvider }: Question,
  source: MetricSource,
  access: MetricAccess,
): Promise<MetricReading> {
  const { metric } = source;
  if (query.length > limits.queryCharacters)
    return failedReading(
      `the query has ${query.length} characters; at most ${limits.queryCharacters} are sent`,
    );
  const maxSampleAgeMs = metric.maxSampleAge === undefined ? undefined : parseDurationMs(metric.maxSampleAge);
  const request = { ...endpoint, windowMs: maxSampleAgeMs ?? metricWindowMs(metric), maxSampleAgeMs };
  const wanted = metric.minSamples ?? 0;
  if (wanted > 0) {
    if (!samples) return { kind: 'error', detail: 'minSamples works with built-in metrics only' };
    const count = await provider.query({ ...request, query: samples }, access);
    if (count.kind !== 'value') return count;
    if (count.value < wanted)
      return {
        kind: 'noData',
        detail: `${Math.floor(count.value)} requests in the window; minSamples is ${wanted}`,
      };
  }
  const reading = await ask(source, provider, { ...request, query }, access);
  if (reading.kind === 'noData' && metric.maxSampleAge)
    return { ...reading, detail: `${reading.detail} (maxSampleAge is ${metric.maxSampleAge})` };
  if (reading.kind !== 'value') return reading;
  const points = reading.points?.map(fromProvider);
  return { ...reading, value: fromProvider(reading.value), ...(points ? { points } : {}) };
}

/** One value, or the points between two checks; those before may be from before the last change of traffic (S4). */
async function ask(
  { metric, canary, asPoints }: MetricSource,
  provider: MetricProvider,
  request: MetricRequest,
  access: MetricAccess,
): Promise<MetricReading> {
  const comparison = asPoints ? comparisonOf(metric) : undefined;
  if (!comparison) return provider.query(request, access);
  if (!provider.queryPoints)
    return failedReading(
      `points of type ${provider.type} cannot be compared; use compareWith: primary with maxRelativeIncrease`,
    );
  const { stepMs } = comparison;
  const points = { stepMs, count: pointsBetweenChecks(canary.spec, stepMs) };
  return provider.queryPoints({ ...request, points }, access);
}

/** Throws TemplateError for everything the Canary's author has to repair. */
function questionOf(source: MetricSource): Question {
  const { canary, metric, role, provider, workload, pods } = source;
  const interval = metric.interval || '1m';
  const subject = metricSubject(canary, role, workload, pods);
  const endpoint = prometheusEndpoint(source);
  if (isBuiltIn(metric.name)) {
    // Only the leading number and unit: the CRD leaves the rest open.
    const duration = /^[0-9]{1,9}(m|s)/.exec(interval)?.[0];
    if (!duration) throw new TemplateError('interval must be a duration such as 30s or 1m');
    const found = builtInQuery(metric.name, provider, { subject, interval: duration });
    if (!found)
      throw new TemplateError(
        `${metric.name} is not known for provider ${provider}${subject.kind === 'service' ? ' and a Service as target' : ''}; use a MetricTemplate with a query for it`,
      );
    const { promql, samples, factor, whole } = found;
    const fromProvider = (value: number): number => (whole ? Math.trunc(value * factor) : value * factor);
    return { provider: prometheus, endpoint, query: promql, samples, fromProvider };
  }
  const { kind: _, ownService: __, ...names } = subject;
  const values = { ...names, interval, variables: metric.templateVariables ?? {} };
  const fromProvider = (value: number): number => value;
  if (metric.query)
    return { provider: prometheus, endpoint, query: renderTemplate(metric.query, values), fromProvider };
  const template = requiredTemplate(source);
  return {
    ...templateEndpoint(template, source),
    query: renderTemplate(template.spec.query, values),
    fromProvider,
  };
}

function prometheusEndpoint(source: MetricSource): MetricEndpoint {
  const { canary, metricsServer, nowMs, timeoutMs } = source;
  const own = canary.spec.metricsServer ? undefined : source.metricsServerSecret;
  return {
    address: canary.spec.metricsServer || metricsServer,
    namespace: canary.metadata.namespace ?? 'default',
    headers: {},
    secret: own?.values,
    secretName: own?.name,
    insecureSkipVerify: false,
    region: undefined,
    jsonPointer: undefined,
    timeoutMs: timeoutMs ?? limits.metricQueryMs,
    nowMs,
  };
}

function requiredTemplate({ canary, metric, template }: MetricSource): MetricTemplate {
  if (template) return template;
  const reference = templateOf(canary, metric);
  throw new TemplateError(
    reference
      ? `MetricTemplate ${reference.namespace}/${reference.name} does not exist`
      : `metric ${metric.name} is not built in; set its templateRef`,
  );
}

/** Whom a MetricTemplate asks. Throws TemplateError for an unsupported type or a Secret that does not exist. */
function templateEndpoint(
  { metadata, spec }: MetricTemplate,
  { secret, nowMs, timeoutMs }: Pick<MetricSource, 'secret' | 'nowMs' | 'timeoutMs'>,
): { provider: MetricProvider; endpoint: MetricEndpoint } {
  const { type, address, headers, secretRef, insecureSkipVerify, region, jsonPointer } = spec.provider;
  const provider = metricProvider(type);
  const title = `MetricTemplate ${metadata.namespace}/${metadata.name}`;
  if (!provider)
    throw new TemplateError(
      `${title}: provider type ${type} is not supported by this version; supported: ${supportedMetricProviders().join(', ')}`,
    );
  if (secretRef && !secret)
    throw new TemplateError(`${title}: Secret ${secretRef.name} does not exist in its namespace`);
  const endpoint = {
    address: address ?? '',
    namespace: metadata.namespace ?? 'default',
    headers: headers ?? {},
    secret: secretRef ? secret : undefined,
    secretName: secretRef && `${metadata.namespace}/${secretRef.name}`,
    region,
    jsonPointer,
    insecureSkipVerify: insecureSkipVerify ?? false,
    timeoutMs: timeoutMs ?? provider.timeoutMs ?? limits.metricQueryMs,
    nowMs,
  };
  return { provider, endpoint };
}
