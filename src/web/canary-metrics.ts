import type { Registry } from 'prom-client';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { nameOfMetric } from '../api/metric-ids.ts';
import { gauge, named } from './gauge.ts';

/** Flagger's gauges of Canaries, with its names and meaning (flagger-behaviour 5.4). */
export function addCanaryMetrics(
  registry: Registry,
  sources: { canaries(): readonly KubernetesObject[] },
): void {
  gauge(
    registry,
    'flagger_canary_total',
    'Canaries known',
    (metric) => {
      metric.reset();
      for (const { metadata } of sources.canaries()) metric.inc({ namespace: metadata.namespace ?? '' });
    },
    ['namespace'],
  );
  gauge(
    registry,
    'flagger_canary_status',
    '0 running, 1 successful, 2 failed',
    (metric) => {
      metric.reset();
      for (const canary of sources.canaries()) metric.set(named(canary), statusNumber(canary));
    },
    ['name', 'namespace'],
  );
  gauge(
    registry,
    'flagger_canary_weight',
    'Share of the traffic in percent, with provider native of the pods',
    (metric) => {
      metric.reset();
      for (const canary of sources.canaries()) {
        const { name, namespace } = named(canary);
        const { canaryWeight = 0 } = (canary.status ?? {}) as { canaryWeight?: number };
        metric.set({ workload: `${name}-primary`, namespace }, 100 - canaryWeight);
        metric.set({ workload: name, namespace }, canaryWeight);
      }
    },
    ['workload', 'namespace'],
  );
  gauge(
    registry,
    'flagger_canary_metric_analysis',
    'Last value of a check',
    (metric) => {
      metric.reset();
      for (const canary of sources.canaries()) {
        for (const { name: check, value } of checksOf(canary)) {
          if (value !== undefined) metric.set({ ...named(canary), metric: check }, inUnitOf(check, value));
        }
      }
    },
    ['name', 'namespace', 'metric'],
  );
}

/** Flagger shows the built-in duration in seconds; checks have it in milliseconds. */
function inUnitOf(check: string, value: number): number {
  return nameOfMetric(check) === 'request-duration' ? value / 1000 : value;
}

function statusNumber({ status }: KubernetesObject): number {
  const { phase } = (status ?? {}) as { phase?: string };
  return phase === 'Failed' ? 2 : phase === 'Progressing' ? 0 : 1;
}

function checksOf({ status }: KubernetesObject): ReadonlyArray<{ name: string; value?: number }> {
  return ((status ?? {}) as { checks?: Array<{ name: string; value?: number }> }).checks ?? [];
}
