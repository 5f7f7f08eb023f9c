/** Asks what the metrics of a flight plan are now. */

import type { CanaryMetric } from '../../api/canary/analysis.ts';
import { type Canary, metricsById } from '../../api/canary/canary.ts';
import { systemClock } from '../../api/clock.ts';
import { describe, type KubernetesObject, recordOf } from '../../api/kubernetes.ts';
import type { MetricReading } from '../../api/observed.ts';
import type { ClusterClient } from '../../cluster/client/client.ts';
import type { Metrics, WatchedSet } from '../../contracts/cluster.ts';
import { judge } from '../../health/check-results.ts';
import type { HttpClient } from '../../http/types.ts';
import { templateOf } from '../../providers/metrics/read-metric.ts';
import { createMetricsPort } from '../../server/providers.ts';
import { bad, type CheckLine, ok } from '../../terminal/check-report.ts';
import type { FlightMetric, FlightPlan } from './flight-plan.ts';
import type { Measured } from './report.ts';

/** Whom metrics are asked of. */
interface MeasureParts {
  readonly http: HttpClient;
  /** Prometheus of built-in and inline queries, where the Canary names none. */
  readonly metricsServer: string;
  readonly defaultProvider: string;
}

const planDeadlineMs = 10_000;

/**
 * Each metric of the flight plan as it is now on the primary. Secrets are never read: a commit that nobody has approved could send them to any
 * address. A metric without a value says why. `templates`: MetricTemplates as head has them, then those of the cluster.
 */
export async function measure(
  parts: MeasureParts,
  {
    canary,
    flight,
    templates,
  }: { canary: Canary; flight: FlightPlan; templates: readonly KubernetesObject[] },
): Promise<Measured[]> {
  const metrics = createMetricsPort({
    ...parts,
    clock: systemClock,
    templates: listed(templates),
    cluster: { get: async () => undefined },
  });
  const provider = canary.spec.provider ?? parts.defaultProvider;
  return Promise.all(
    flight.metrics.map(async (one): Promise<Measured> => {
      const { analysis, postPromotion } = canary.spec;
      const list = one.when === 'analysis' ? analysis.metrics : postPromotion?.metrics;
      const metric = metricsById(list).get(one.name);
      if (!metric) return unknown(one, 'it is not in the Canary');
      const secret = whySecret(canary, metric, templates);
      if (secret) return unknown(one, secret);
      const question = { canary, metric, role: 'primary', provider } as const;
      const reading = await metrics
        .read(question, AbortSignal.timeout(planDeadlineMs))
        .catch((error: Error): MetricReading => ({ kind: 'error', detail: error.message }));
      if (reading.kind !== 'value') return unknown(one, reading.detail);
      const outcome = { key: '', atMs: 0, readings: [{ name: metric.name, reading }], hooks: [] };
      const [result] = judge([metric], outcome, 'analysis');
      const verdict = result?.verdict === 'pass' ? 'pass' : 'fail';
      return { name: one.name, when: one.when, value: reading.value, verdict };
    }),
  );
}

function unknown({ name, when }: FlightMetric, detail: string): Measured {
  return { name, when, verdict: 'unknown', detail };
}

function whySecret(
  canary: Canary,
  metric: CanaryMetric,
  templates: readonly KubernetesObject[],
): string | undefined {
  const wanted = templateOf(canary, metric);
  const template =
    wanted &&
    templates.find(
      ({ metadata: { namespace, name } }) => namespace === wanted.namespace && name === wanted.name,
    );
  const { secretRef } = recordOf(recordOf(template?.spec).provider);
  return template && secretRef
    ? `${describe(template)} needs a Secret, which a plan does not read`
    : undefined;
}

/** What asking metrics takes. */
interface MetricChecks {
  readonly client: Pick<ClusterClient, 'get'>;
  readonly http: HttpClient;
  readonly metricsServer: string;
  readonly defaultProvider: string;
  /** All MetricTemplates. */
  readonly templates: readonly KubernetesObject[];
}

const deadlineMs = 15_000;

/**
 * Asks each metric of each Canary once, of the workload that serves: the primary. No data is a warning, since there may be no traffic now;
 * a server that does not answer, or a template that does not exist, would keep every release from ending well.
 */
export async function checkMetrics(checks: MetricChecks, canaries: readonly Canary[]): Promise<CheckLine[]> {
  const metrics = createMetricsPort({
    ...checks,
    clock: systemClock,
    templates: listed(checks.templates),
    cluster: checks.client,
  });
  const lines = canaries.flatMap((canary) => {
    const { analysis, postPromotion } = canary.spec;
    // Each id once: before and after promotion the same metric is asked alike.
    const byId = new Map([...metricsById(analysis.metrics), ...metricsById(postPromotion?.metrics)]);
    return [...byId].map(([id, metric]) => checkOne(metrics, checks, canary, { id, metric }));
  });
  return Promise.all(lines);
}

async function checkOne(
  metrics: Metrics,
  { defaultProvider }: MetricChecks,
  canary: Canary,
  { id, metric }: { readonly id: string; readonly metric: CanaryMetric },
): Promise<CheckLine> {
  const provider = canary.spec.provider ?? defaultProvider;
  const question = { canary, metric, role: 'primary', provider } as const;
  const reading = await metrics
    .read(question, AbortSignal.timeout(deadlineMs))
    .catch((error: Error): MetricReading => ({ kind: 'error', detail: error.message }));
  const subject = `${describe(canary)}, metric ${id}`;
  switch (reading.kind) {
    case 'value':
      return ok(subject, `is ${Number(reading.value.toPrecision(6))} now`);
    case 'noData':
      if (reading.isPending) return ok(subject, reading.detail);
      return bad('warning', subject, `no data now: ${reading.detail}`, {
        actor: 'author',
        act: 'send some traffic, or check the query and the labels it selects',
      });
    case 'error':
      return bad('failed', subject, reading.detail, {
        actor: 'administrator',
        act: 'check the address (--metrics-server, spec.metricsServer or the MetricTemplate) and that it is reachable from here',
      });
  }
}

/** Objects that were listed once, in the shape of a watched set. */
function listed(objects: readonly KubernetesObject[]): WatchedSet {
  return {
    synced: () => true,
    problem: () => undefined,
    get: (namespace, name) =>
      objects.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
    list: () => objects,
    remember: () => undefined,
    refresh: async () => false,
    onChange: () => undefined,
    close: () => undefined,
  };
}
