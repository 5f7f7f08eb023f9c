import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { addConditionMetrics } from './canary-conditions.ts';
import { addCanaryMetrics } from './canary-metrics.ts';
import { gauge } from './gauge.ts';
import type { Route } from './http-server.ts';
import { createMetricsSink, type MetricsSink, type WatchedObjects } from './metrics-sink.ts';
import { addStoreMetrics, type StoreSizes } from './store-metrics.ts';

/** What is counted at a scrape. */
export interface MetricSources extends WatchedObjects {
  readonly version: string;
  /** Canaries as watched; empty before. */
  canaries(): readonly KubernetesObject[];
  /** API requests so far, by verb. */
  apiRequests(): Readonly<Record<string, number>>;
  isLeading(): boolean;
  /** Undefined while this copy follows no Git. */
  gitStores(): StoreSizes | undefined;
  /** Canaries that wait for a pass. */
  queueDepth(): number;
  watches(): ReadonlyArray<{ readonly kind: string; readonly healthy: boolean }>;
}

/** `/metrics` and what feeds it: Flagger's names with their meaning (flagger-behaviour 5.4), and holdfast_*. */
export function createPrometheus(sources: MetricSources): {
  readonly route: Route;
  readonly sink: MetricsSink;
} {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  addProgramMetrics(registry, sources);
  addCanaryMetrics(registry, sources);
  addConditionMetrics(registry, sources);
  addStoreMetrics(registry, sources.gitStores);
  const { sink, forgetGone } = createMetricsSink(registry, sources);
  return {
    sink,
    route: {
      method: 'GET',
      path: '/metrics',
      async handle() {
        forgetGone();
        return { status: 200, body: await registry.metrics(), contentType: registry.contentType };
      },
    },
  };
}

function addProgramMetrics(registry: Registry, sources: MetricSources): void {
  const registers = [registry];
  const info = new Gauge({
    registers,
    name: 'flagger_info',
    help: 'Version and provider',
    labelNames: ['version', 'mesh_provider'],
  });
  info.set({ version: sources.version, mesh_provider: sources.provider }, 1);
  gauge(registry, 'holdfast_leading', 'Whether this copy acts', (metric) =>
    metric.set(sources.isLeading() ? 1 : 0),
  );
  gauge(registry, 'holdfast_queue_depth', 'Canaries that wait for a look', (metric) =>
    metric.set(sources.queueDepth()),
  );
  gauge(
    registry,
    'holdfast_watch_healthy',
    'Watches that hear from the API server',
    (metric) => {
      metric.reset();
      for (const { kind, healthy } of sources.watches()) metric.inc({ kind }, healthy ? 1 : 0);
    },
    ['kind'],
  );
  gauge(
    registry,
    'holdfast_api_requests',
    'Requests to the API server since the start',
    (metric) => {
      for (const [verb, count] of Object.entries(sources.apiRequests())) metric.set({ verb }, count);
    },
    ['verb'],
  );
}
