import type { CanaryMetric } from '../../api/canary/analysis.ts';
import { type Canary, sharesWorkload } from '../../api/canary/canary.ts';
import { limits } from '../../api/limits.ts';
import type { MetricTemplate } from '../../api/metric-template.ts';
import { builtInQuery, isBuiltIn } from './built-in.ts';
import type { MetricEndpoint, MetricProvider } from './provider.ts';
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

/** The query of a metric, and where it is sent. */
export interface Question {
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

/** The question of a metric. Throws TemplateError for everything that the author of the Canary has to repair. */
export function questionOf(source: MetricSource): Question {
  const { canary, metric, role, provider } = source;
  // Only the leading numbers and units: the CRD leaves the rest open, and a query is more than its author wrote with it.
  const interval = /^(?:[0-9]{1,9}(?:ms|m|s))+/.exec(metric.interval || '1m')?.[0];
  if (!interval) throw new TemplateError('interval must be a duration such as 30s or 1m');
  const subject = metricSubject(canary, role, source);
  const endpoint = prometheusEndpoint(source);
  if (isBuiltIn(metric.name)) {
    const found = builtInQuery(metric.name, counting(source), { subject, interval });
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
  const asked = templateEndpoint(template, source);
  return {
    ...asked,
    query: renderTemplate(template.spec.query, values, asked.provider.encode),
    fromProvider,
  };
}

/** The provider that counts requests: as in Flagger Linkerd, if it is the mesh, whatever routes them. */
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

/** Where a MetricTemplate sends its query. Throws TemplateError for an unsupported type or a Secret that does not exist. */
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
