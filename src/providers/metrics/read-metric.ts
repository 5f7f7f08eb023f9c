import type { CanaryMetric } from '../../api/canary/analysis.ts';
import { type Canary, metricWindowMs, sharesWorkload } from '../../api/canary/canary.ts';
import { comparisonOf, pointsBetweenChecks } from '../../api/canary/comparison.ts';
import { limits } from '../../api/limits.ts';
import type { MetricTemplate } from '../../api/metric-template.ts';
import type { MetricReading } from '../../api/observed.ts';
import { parseDurationMs } from '../../api/time.ts';
import { podMetrics, type RequestMetrics } from '../routing/request-metrics.ts';
import { routerFor } from '../routing/table.ts';
import {
  failedReading,
  type MetricAccess,
  type MetricEndpoint,
  type MetricProvider,
  type MetricRequest,
} from './provider.ts';
import { type MetricRole, type MetricSubject, metricSubject, type SubjectPods } from './subject.ts';
import { prometheus } from './systems/prometheus.ts';
import { metricProvider, supportedMetricProviders } from './table.ts';
import { renderTemplate } from './template.ts';
import { TemplateError } from './template-parser.ts';

/** One metric of a Canary, asked once. */

/** Everything a reading depends on. */
export interface MetricSource {
  canary: Canary;
  metric: CanaryMetric;
  role: MetricRole;
  /** Routing provider in effect; it decides how requests are counted. */
  provider: string;
  /** That of Canaries that name none. */
  defaultProvider?: string | undefined;
  /** Name of the role's workload in the cluster: of a Knative Service the revision. */
  workload?: string | undefined;
  /** That of the other role. */
  otherWorkload?: string | undefined;
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
  const { canary, metric, role, provider } = source;
  const interval = metric.interval || '1m';
  const subject = metricSubject(canary, role, source);
  const endpoint = prometheusEndpoint(source);
  if (isBuiltIn(metric.name)) {
    // Only the leading numbers and units: the CRD leaves the rest open.
    const duration = /^(?:[0-9]{1,9}[ms])+/.exec(interval)?.[0];
    if (!duration) throw new TemplateError('interval must be a duration such as 30s or 1m');
    const found = builtInQuery(metric.name, counting(source), { subject, interval: duration });
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

/** As in Flagger: where Linkerd is the mesh, it counts the requests, whoever brings them there. */
function counting({ canary, provider, defaultProvider = '' }: MetricSource): string {
  const isMeshed = defaultProvider.includes('linkerd') && canary.spec.provider && !sharesWorkload(provider);
  return isMeshed ? 'linkerd' : provider;
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

/**
 * Built-in metrics by routing provider (flagger-behaviour.md 2.5, 3). The queries are Flagger's with two differences: when every request
 * fails there is no series of good ones, which reads as 0 % here and as "no values" there; and pods of DaemonSets are found (3.13).
 */

/** Names that need neither query nor template. */
type BuiltInName = 'request-success-rate' | 'request-duration';

/** PromQL of one built-in metric. */
interface BuiltInQuery {
  /** Percent, or milliseconds after multiplication by `factor`. */
  promql: string;
  factor: number;
  /** Durations are cut to whole milliseconds before they are compared. */
  whole: boolean;
  /** PromQL of the number of requests in the window, for minSamples. */
  samples: string;
}

/** Providers without a router: both sides are pods of one workload, or this version only knows how requests are counted. */
const withoutRouter: Readonly<Record<string, RequestMetrics>> = { native: podMetrics };

/** Whether a metric's name is built in. */
function isBuiltIn(name: string): name is BuiltInName {
  return name === 'request-success-rate' || name === 'request-duration';
}

/** The query, or undefined when nothing is known about how this provider counts requests. `interval` is a PromQL duration. */
export function builtInQuery(
  name: BuiltInName,
  provider: string,
  { subject, interval }: { subject: MetricSubject; interval: string },
): BuiltInQuery | undefined {
  const metrics = routerFor(provider)?.requests ?? withoutRouter[provider];
  if (!metrics || (metrics.byPods && subject.kind === 'service')) return undefined;
  const { counter, good, histogram, mean, factor, only = {} } = metrics;
  const selectors = [metrics.selector(subject), metrics.otherwise?.(subject) ?? []].flat();
  /** The first of the selectors that finds any series. */
  const sum = (of: (labels: string) => string): string =>
    selectors.length === 1 ? selectors.map(of).join() : `(${selectors.map(of).join(' or ')})`;
  const counted = (labels: string) => `${counter}{${labels}${only.counter ? `,${only.counter}` : ''}`;
  const samples = sum((labels) => `sum(increase(${counted(labels)}}[${interval}]))`);
  if (name === 'request-duration') {
    const per = (series: string, labels: string) => `sum(rate(${series}{${labels}}[${interval}]))`;
    const more = only.histogram ? `,${only.histogram}` : '';
    const promql =
      mean === undefined
        ? `histogram_quantile(0.99, ${sum((labels) => `${per(`${histogram}`, `${labels}${more}`)} by (le)`)})`
        : `${sum((labels) => per(`${mean}_sum`, labels))} / ${sum((labels) => per(`${mean}_count`, labels))}`;
    return { promql, factor, whole: true, samples };
  }
  const all = sum((labels) => `sum(rate(${counted(labels)}}[${interval}]))`);
  const passed = sum((labels) => `sum(rate(${counted(labels)},${good}}[${interval}]))`);
  return { promql: `(${passed} or vector(0)) / ${all} * 100`, factor: 1, whole: false, samples };
}
