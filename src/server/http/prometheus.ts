import { setTimeout as sleep } from 'node:timers/promises';
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { nameOfMetric } from '../../api/canary/canary.ts';
import { canaryStatus } from '../../api/canary/summary.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { Route } from './http-server.ts';
import { createMetricsSink, gauge, type MetricsSink, named, type WatchedObjects } from './metrics-sink.ts';

/** What is counted at a scrape. */
interface MetricSources extends WatchedObjects {
  readonly version: string;
  /** Routing provider of Canaries that name none. */
  readonly provider: string;
  /** Canaries as watched; empty before. */
  canaries(): readonly KubernetesObject[];
  /** API requests so far, by verb. */
  apiRequests(): Readonly<Record<string, number>>;
  isLeading(): boolean;
  /** Undefined while this copy follows no Git. */
  gitStores(): StoreSizes | undefined;
  /** Canaries that wait for a pass. */
  queueDepth(): number;
  watches(): ReadonlyArray<{ readonly kind: string; readonly isOwn: boolean; readonly healthy: boolean }>;
}

let processRegistry: Registry | undefined;

/** Memory, processor time and the like. They observe the process, so there is one registry of them in it. */
function metricsOfProcess(): Registry {
  if (processRegistry) return processRegistry;
  processRegistry = new Registry();
  collectDefaultMetrics({ register: processRegistry });
  return processRegistry;
}

/** `/metrics` and what feeds it: Flagger's names with their meaning (flagger-behaviour 5.4), and holdfast_*. */
export function createPrometheus(sources: MetricSources): {
  readonly route: Route;
  readonly sink: MetricsSink;
} {
  const registry = new Registry();
  const ofProcess = metricsOfProcess();
  addProgramMetrics(registry, sources);
  addCanaryMetrics(registry, sources);
  addConditionMetrics(registry, sources);
  addStoreMetrics(registry, sources.gitStores);
  const { sink, forgetGone } = createMetricsSink(registry, sources);
  const text = createSparing(async () => {
    forgetGone();
    return Buffer.from(`${await registry.metrics()}\n${await ofProcess.metrics()}`);
  });
  return {
    sink,
    route: {
      method: 'GET',
      path: '/metrics',
      handle: async () => ({ status: 200, body: await text(), contentType: registry.contentType }),
    },
  };
}

/** Milliseconds of rest at most. */
const longestRestMs = 5_000;

/**
 * Concurrent scrapes share one run, and the next one starts after nine times its duration: with a thousand Canaries a run blocks everything
 * else for a tenth of a second, and the port needs no credentials.
 */
function createSparing<T>(work: () => Promise<T>): () => Promise<T> {
  let rested: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | undefined;

  async function begin(): Promise<T> {
    await rested;
    next = undefined;
    const beganMs = performance.now();
    const rest = () =>
      sleep(Math.min(longestRestMs, 9 * (performance.now() - beganMs)), undefined, { ref: false });
    const result = work();
    rested = result.then(rest, rest);
    return result;
  }

  return () => {
    next ??= begin();
    return next;
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
  gauge(registry, 'holdfast_leading', '1 where this copy is the leader', (metric) =>
    metric.set(sources.isLeading() ? 1 : 0),
  );
  gauge(registry, 'holdfast_queue_depth', 'Canaries that wait to be reconciled', (metric) =>
    metric.set(sources.queueDepth()),
  );
  gauge(
    registry,
    'holdfast_watch_healthy',
    '1 where every watch of a kind gets events from the API server',
    (metric) => {
      metric.reset();
      // One unhealthy watch of a kind, for instance of one namespace, must show among healthy ones.
      for (const { kind, isOwn } of sources.watches()) metric.set({ kind, own: `${isOwn}` }, 1);
      for (const { kind, isOwn, healthy } of sources.watches())
        if (!healthy) metric.set({ kind, own: `${isOwn}` }, 0);
    },
    ['kind', 'own'],
  );
  const requests: Counter<'verb'> = new Counter({
    registers,
    name: 'holdfast_api_requests_total',
    help: 'Requests to the API server since the start',
    labelNames: ['verb'],
    collect() {
      requests.reset();
      for (const [verb, count] of Object.entries(sources.apiRequests())) requests.inc({ verb }, count);
    },
  });
}

/** Flagger's gauges of Canaries, with its names and meaning (flagger-behaviour 5.4). One that was never acted on has no result and no weights. */
function addCanaryMetrics(registry: Registry, sources: { canaries(): readonly KubernetesObject[] }): void {
  const known = () => sources.canaries().filter((canary) => Boolean(canaryStatus(canary).phase));
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
      for (const canary of known()) {
        const { phase } = canaryStatus(canary);
        metric.set(named(canary), phase === 'Failed' ? 2 : phase === 'Progressing' ? 0 : 1);
      }
    },
    ['name', 'namespace'],
  );
  gauge(
    registry,
    'flagger_canary_weight',
    'Share of the traffic in percent, with provider native of the pods',
    (metric) => {
      metric.reset();
      for (const canary of known()) {
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
        for (const { name: check, value } of canaryStatus(canary).checks ?? []) {
          if (value === undefined) continue;
          // Flagger shows the built-in duration in seconds; checks have it in milliseconds.
          const isDuration = nameOfMetric(check) === 'request-duration';
          metric.set({ ...named(canary), metric: check }, isDuration ? value / 1000 : value);
        }
      }
    },
    ['name', 'namespace', 'metric'],
  );
}

/** Conditions that alarms are made of; the others follow from them. */
const shown: ReadonlySet<string> = new Set(['Ready', 'Stalled', 'Held', 'RollbackReady']);

/** Nobody can send an alert again: an alarm that stood until five later releases would tell of no further one. */
const notSentMs = 24 * 3_600_000;

/** Metrics for alerting rules that Flagger does not have: conditions with their reason, and alerts that were not sent. */
function addConditionMetrics(registry: Registry, sources: { canaries(): readonly KubernetesObject[] }): void {
  gauge(
    registry,
    'holdfast_canary_condition',
    '1 for the present status and reason of a condition',
    (metric) => {
      metric.reset();
      for (const canary of sources.canaries()) {
        for (const { type, status, reason = '' } of canaryStatus(canary).conditions ?? []) {
          if (shown.has(type)) metric.set({ ...named(canary), type, status, reason }, 1);
        }
      }
    },
    ['name', 'namespace', 'type', 'status', 'reason'],
  );
  gauge(
    registry,
    'holdfast_alerts_not_sent',
    'Alerts of the last day about a Canary that could not be sent',
    (metric) => {
      metric.reset();
      const sinceMs = Date.now() - notSentMs;
      for (const canary of sources.canaries()) {
        const incidents = canaryStatus(canary).incidents ?? [];
        const alerts = incidents
          .filter(({ time }) => Date.parse(time) > sinceMs)
          .flatMap(({ alerts = [] }) => alerts);
        metric.set(named(canary), alerts.filter(({ state }) => state === 'failed').length);
      }
    },
    ['name', 'namespace'],
  );
}

/** What the Git stores take of the disk. */
export interface StoreSizes {
  readonly stores: number;
  readonly packs: number;
  readonly bytes: number;
  /** When one was made smaller last, in milliseconds since the epoch; undefined: none was since the start. */
  readonly compactedMs: number | undefined;
}

/** Gauges of the Git stores; without series while this copy has none. */
export function addStoreMetrics(registry: Registry, sizes: () => StoreSizes | undefined): void {
  const add = (name: string, help: string, of: (sizes: StoreSizes) => number | undefined) =>
    gauge(registry, `holdfast_git_${name}`, help, (metric) => {
      const now = sizes();
      const value = now && of(now);
      if (value === undefined) metric.remove();
      else metric.set(value);
    });
  add('stores', 'Repositories kept on disk', ({ stores }) => stores);
  add('store_packs', 'Packs in them', ({ packs }) => packs);
  add('store_bytes', 'Bytes of these packs', ({ bytes }) => bytes);
  add('store_compacted_timestamp_seconds', 'When one of them was made smaller last', ({ compactedMs }) =>
    compactedMs === undefined ? undefined : compactedMs / 1000,
  );
}
