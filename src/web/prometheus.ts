import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { KubernetesObject } from '../api/kubernetes.ts';
import type { Route } from './http-server.ts';

/** What is counted at a scrape. */
export interface MetricSources {
  readonly version: string;
  readonly provider: string;
  /** Canaries as watched; empty before. */
  canaries(): readonly KubernetesObject[];
  /** API requests so far, by verb. */
  apiRequests(): Readonly<Record<string, number>>;
  isLeading(): boolean;
  /** Canaries that wait for a pass. */
  queueDepth(): number;
  watches(): ReadonlyArray<{ readonly kind: string; readonly healthy: boolean }>;
}

/** What the program tells as it happens. */
export interface MetricsSink {
  pass(canaryKey: string, durationMs: number, succeeded: boolean): void;
  sync(sourceKey: string, succeeded: boolean): void;
  /** A Canary went to another phase. */
  phase(canary: KubernetesObject, phase: string): void;
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
  return {
    sink: createSink(registry),
    route: {
      method: 'GET',
      path: '/metrics',
      handle: async () => ({
        status: 200,
        body: await registry.metrics(),
        contentType: registry.contentType,
      }),
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

function addCanaryMetrics(registry: Registry, sources: MetricSources): void {
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
    'Share of the traffic in percent',
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
          if (value !== undefined) metric.set({ ...named(canary), metric: check }, value);
        }
      }
    },
    ['name', 'namespace', 'metric'],
  );
}

function createSink(registry: Registry): MetricsSink {
  const registers = [registry];
  const canaryLabels = ['name', 'namespace'];
  const runLabels = [...canaryLabels, 'deployment_strategy', 'analysis_status'];
  const duration = new Histogram({
    registers,
    name: 'flagger_canary_duration_seconds',
    help: 'Time of one look at a Canary',
    labelNames: canaryLabels,
  });
  const failedPasses = new Counter({
    registers,
    name: 'holdfast_canary_pass_failures_total',
    help: 'Looks that ended with an error',
    labelNames: canaryLabels,
  });
  const syncs = new Counter({
    registers,
    name: 'holdfast_source_syncs_total',
    help: 'Polls with all that follows',
    labelNames: [...canaryLabels, 'result'],
  });
  const lastSync = new Gauge({
    registers,
    name: 'holdfast_source_last_sync_timestamp_seconds',
    help: 'Last successful sync',
    labelNames: canaryLabels,
  });
  const successes = new Counter({
    registers,
    name: 'flagger_canary_successes_total',
    help: 'Releases that succeeded',
    labelNames: runLabels,
  });
  const failures = new Counter({
    registers,
    name: 'flagger_canary_failures_total',
    help: 'Releases that failed',
    labelNames: runLabels,
  });
  return {
    pass(key, durationMs, succeeded) {
      duration.observe(split(key), durationMs / 1000);
      if (!succeeded) failedPasses.inc(split(key));
    },
    sync(key, succeeded) {
      syncs.inc({ ...split(key), result: succeeded ? 'success' : 'failure' });
      if (succeeded) lastSync.setToCurrentTime(split(key));
    },
    phase(canary, phase) {
      const labels = { ...named(canary), ...runOf(canary) };
      if (phase === 'Succeeded') successes.inc(labels);
      if (phase === 'Failed') failures.inc(labels);
    },
  };
}

function gauge<Label extends string>(
  registers: Registry,
  name: string,
  help: string,
  collect: (metric: Gauge<Label>) => void,
  labelNames: Label[] = [],
): void {
  const metric: Gauge<Label> = new Gauge({
    name,
    help,
    labelNames,
    registers: [registers],
    collect: () => collect(metric),
  });
}

function split(key: string): { namespace: string; name: string } {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name };
}

/** Flagger names a Canary by its target here. */
function named({ metadata, spec }: KubernetesObject): { name: string; namespace: string } {
  const target = (spec as { targetRef?: { name?: string } } | undefined)?.targetRef?.name;
  return { name: target ?? metadata.name, namespace: metadata.namespace ?? '' };
}

function statusNumber({ status }: KubernetesObject): number {
  const { phase } = (status ?? {}) as { phase?: string };
  return phase === 'Failed' ? 2 : phase === 'Progressing' ? 0 : 1;
}

function checksOf({ status }: KubernetesObject): ReadonlyArray<{ name: string; value?: number }> {
  return ((status ?? {}) as { checks?: Array<{ name: string; value?: number }> }).checks ?? [];
}

function runOf({ spec }: KubernetesObject): { deployment_strategy: string; analysis_status: string } {
  const { analysis, skipAnalysis } = (spec ?? {}) as {
    analysis?: { iterations?: number; match?: unknown[] };
    skipAnalysis?: boolean;
  };
  const byIterations = analysis?.match?.length ? 'ab-testing' : 'blue-green';
  return {
    deployment_strategy: analysis?.iterations ? byIterations : 'canary',
    analysis_status: skipAnalysis ? 'skipped' : 'completed',
  };
}
