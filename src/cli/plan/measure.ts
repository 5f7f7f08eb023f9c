/** Asks what the metrics of a flight plan are now. */
import type { Canary } from '../../api/canary.ts';
import type { CanaryMetric } from '../../api/canary-metric.ts';
import { systemClock } from '../../api/clock.ts';
import { describe, type KubernetesObject } from '../../api/kubernetes.ts';
import { metricsById } from '../../api/metric-ids.ts';
import type { MetricReading } from '../../api/observed.ts';
import { createMetricsPort } from '../../app/metrics-port.ts';
import { judge } from '../../health/check-results.ts';
import type { HttpClient } from '../../http/types.ts';
import { templateOf } from '../../metrics/read-metric.ts';
import { recordOf } from '../../release/json.ts';
import { listed } from '../check-metrics.ts';
import type { Flight, FlightMetric } from './flight.ts';
import type { Measured } from './measured.ts';

/** Whom metrics are asked of. */
export interface MeasureParts {
  readonly http: HttpClient;
  /** Prometheus of built-in and inline queries, where the Canary names none. */
  readonly metricsServer: string;
  readonly defaultProvider: string;
}

const deadlineMs = 10_000;

/**
 * Each metric of the flight plan as it is now on the primary. Secrets are never read: a commit that nobody has approved could send them to any
 * address. What cannot be had is told. `templates`: MetricTemplates as head has them, then those of the cluster.
 */
export async function measure(
  parts: MeasureParts,
  { canary, flight, templates }: { canary: Canary; flight: Flight; templates: readonly KubernetesObject[] },
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
      const metric = metricOf(canary, one);
      if (!metric) return unknown(one, 'it is not in the Canary');
      const secret = whySecret(canary, metric, templates);
      if (secret) return unknown(one, secret);
      const question = { canary, metric, role: 'primary', provider } as const;
      const reading = await metrics
        .read(question, AbortSignal.timeout(deadlineMs))
        .catch((error: Error): MetricReading => ({ kind: 'error', detail: error.message }));
      return asMeasured(one, metric, reading);
    }),
  );
}

function metricOf({ spec }: Canary, { name, when }: FlightMetric): CanaryMetric | undefined {
  const metrics = when === 'analysis' ? spec.analysis.metrics : spec.postPromotion?.metrics;
  return metricsById(metrics).get(name);
}

function asMeasured(one: FlightMetric, metric: CanaryMetric, reading: MetricReading): Measured {
  if (reading.kind !== 'value') return unknown(one, reading.detail);
  const outcome = { key: '', atMs: 0, readings: [{ name: metric.name, reading }], hooks: [] };
  const [result] = judge([metric], outcome, 'analysis');
  const verdict = result?.verdict === 'pass' ? 'pass' : 'fail';
  return { name: one.name, when: one.when, value: reading.value, verdict };
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
    ? `${describe(template)} is asked with a Secret, which a plan does not read`
    : undefined;
}
