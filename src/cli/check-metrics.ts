import type { Canary } from '../api/canary.ts';
import type { CanaryMetric } from '../api/canary-metric.ts';
import { systemClock } from '../api/clock.ts';
import { describe, type KubernetesObject } from '../api/kubernetes.ts';
import { metricsById } from '../api/metric-ids.ts';
import type { MetricReading } from '../api/observed.ts';
import { createMetricsPort } from '../app/metrics-port.ts';
import type { ClusterClient } from '../cluster/client.ts';
import type { Metrics, WatchedSet } from '../engine/ports/ports.ts';
import type { HttpClient } from '../http/types.ts';
import { bad, type CheckLine, ok } from './check-report.ts';

/** What asking metrics takes. */
export interface MetricChecks {
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
  const lines = canaries.flatMap((canary) =>
    [...metricsOf(canary)].map(([id, metric]) => checkOne(metrics, checks, canary, { id, metric })),
  );
  return Promise.all(lines);
}

/** Each id once: before and after promotion the same metric is asked alike. */
function metricsOf({ spec }: Canary): Map<string, CanaryMetric> {
  return new Map([...metricsById(spec.analysis.metrics), ...metricsById(spec.postPromotion?.metrics)]);
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
      return bad('warning', subject, `no data now: ${reading.detail}`, {
        actor: 'author',
        act: 'send some traffic, or look at the query and the labels it selects',
      });
    case 'error':
      return bad('failed', subject, reading.detail, {
        actor: 'administrator',
        act: 'look at the address (--metrics-server, spec.metricsServer or the MetricTemplate) and whether it can be reached from here',
      });
  }
}

/** Objects that were listed once, in the shape of a watched set. */
export function listed(objects: readonly KubernetesObject[]): WatchedSet {
  return {
    synced: () => true,
    problem: () => undefined,
    get: (namespace, name) =>
      objects.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
    list: () => objects,
    remember: () => undefined,
    onChange: () => undefined,
    close: () => undefined,
  };
}
