/** Asks what the metrics of a flight plan are now. */

import type { CanaryMetric } from '../../api/canary/analysis.ts';
import { type Canary, metricsById } from '../../api/canary/canary.ts';
import { systemClock } from '../../api/clock.ts';
import { describe, type KubernetesObject, recordOf } from '../../api/kubernetes.ts';
import type { MetricReading } from '../../api/observed.ts';
import type { WatchedSet } from '../../contracts/cluster.ts';
import { judge } from '../../health/check-results.ts';
import type { HttpClient } from '../../http/types.ts';
import { templateOf } from '../../providers/metrics/question.ts';
import { createMetricsPort } from '../../server/metrics-port.ts';
import type { FlightMetric, FlightPlan } from './flight-plan.ts';
import type { Measured } from './report.ts';

/** How metrics are queried. */
interface MeasureParts {
  readonly http: HttpClient;
  /** Prometheus of built-in and inline queries, where the Canary names none. */
  readonly metricsServer: string;
  readonly defaultProvider: string;
}

const planDeadlineMs = 10_000;

/**
 * Each metric of the flight plan as it is now on the primary. Secrets are never read: a commit that is not approved yet could send them to any
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

/** Objects that were listed once, in the shape of a watched set. */
export function listed(objects: readonly KubernetesObject[]): WatchedSet {
  return {
    synced: () => true,
    problem: () => undefined,
    isRefused: () => false,
    get: (namespace, name) =>
      objects.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
    list: () => objects,
    byKey: (keysOf, key) => objects.filter((object) => keysOf(object).includes(key)),
    remember: () => undefined,
    refresh: async () => false,
    onChange: () => undefined,
    close: () => undefined,
  };
}
