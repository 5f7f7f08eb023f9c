import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { CanaryStatus, ReleaseHistoryEntry } from '../../api/canary/status.ts';
import { isSuspended, type KubernetesObject, nameOfKey, namespacedName } from '../../api/kubernetes.ts';
import { beginningOf } from '../../api/limits.ts';
import type { WatchedSet } from '../../contracts/cluster.ts';

/** Metrics that are counted as things happen. */
export interface MetricsSink {
  /** A reconcile of a Canary (namespace/name) ended. */
  pass(canaryKey: string, durationMs: number, succeeded: boolean): void;
  /** Objects of a Canary (namespace/name) that others had changed were put back. */
  corrected(canaryKey: string, objects: number): void;
  /** A poll of a Source (namespace/name), with all that follows, ended. */
  sync(sourceKey: string, succeeded: boolean): void;
  /** Drifted objects of a Source (namespace/name) were corrected. */
  drift(sourceKey: string, objects: number): void;
  /** Files and folders of a Source (namespace/name) were rendered that no cache held. */
  rendered(sourceKey: string, count: number): void;
  /** A release of a Canary ended, as its history says. */
  ended(canary: KubernetesObject, result: ReleaseHistoryEntry['result']): void;
}

/** The objects that series may be about, as watched. */
export interface WatchedObjects {
  canary(namespace: string, name: string): KubernetesObject | undefined;
  source(namespace: string, name: string): KubernetesObject | undefined;
}

type Find = WatchedObjects['canary'];
type Labels = Readonly<Record<string, string>>;

/** Ends of releases that have a counter. */
const counted = ['Succeeded', 'Failed'] as const;

/** Counters of what happens, each from 0 on: what appears with a 1 has not increased for Prometheus. `forgetGone` removes the series of deleted objects: an alarm on one would fire until a restart. */
export function createMetricsSink(
  registry: Registry,
  watched: WatchedObjects,
): { readonly sink: MetricsSink; forgetGone(): void } {
  const canaries = createSeries(watched.canary);
  const sources = createSeries(watched.source);
  const meters = createMeters(registry);
  const failing = addFailingSince(registry, sources.objectOf);

  function countEnd(canary: KubernetesObject, result: (typeof counted)[number], count: number): void {
    const meter = result === 'Succeeded' ? meters.successes : meters.failures;
    const labels = { ...named(canary), ...runOf(canary, result) };
    canaries.note(namespacedName(canary), meter, labels).inc(labels, count);
  }

  const sink: MetricsSink = {
    pass(key, durationMs, succeeded) {
      const canary = canaries.objectOf(key);
      if (!canary) return;
      const labels = named(canary);
      canaries.note(key, meters.duration, labels).observe(labels, durationMs / 1000);
      canaries.note(key, meters.failedPasses, labels).inc(labels, succeeded ? 0 : 1);
      for (const result of counted) countEnd(canary, result, 0);
      canaries.note(key, meters.corrected, labels).inc(labels, 0);
    },
    corrected(key, objects) {
      const canary = canaries.objectOf(key);
      if (!canary) return;
      const labels = named(canary);
      canaries.note(key, meters.corrected, labels).inc(labels, objects);
    },
    sync(key, succeeded) {
      const source = sources.objectOf(key);
      if (!source) return;
      const labels = ofSource(source);
      for (const result of ['success', 'failure']) {
        const ended = { ...labels, result };
        sources.note(key, meters.syncs, ended).inc(ended, succeeded === (result === 'success') ? 1 : 0);
      }
      for (const meter of [meters.drift, meters.rendered]) sources.note(key, meter, labels).inc(labels, 0);
      // A Source that fails from the start has an age too, for instance after a restart while Git is down.
      if (succeeded || !sources.hasNoted(key, meters.lastSync, labels))
        sources.note(key, meters.lastSync, labels).setToCurrentTime(labels);
      failing.note(key, succeeded);
    },
    drift(key, objects) {
      const source = sources.objectOf(key);
      if (!source) return;
      const labels = ofSource(source);
      sources.note(key, meters.drift, labels).inc(labels, objects);
    },
    rendered(key, count) {
      const source = sources.objectOf(key);
      if (!source) return;
      const labels = ofSource(source);
      sources.note(key, meters.rendered, labels).inc(labels, count);
    },
    ended(canary, result) {
      if (result === 'Succeeded' || result === 'Failed') countEnd(canary, result, 1);
    },
  };
  return {
    sink,
    forgetGone() {
      canaries.forgetGone();
      sources.forgetGone();
    },
  };
}

function createMeters(registry: Registry) {
  const registers = [registry];
  const labelNames = ['name', 'namespace'];
  const runLabels = [...labelNames, 'deployment_strategy', 'analysis_status'];
  const counter = (name: string, help: string, labels: string[]) =>
    new Counter({ registers, name, help, labelNames: labels });
  return {
    duration: new Histogram({
      registers,
      name: 'flagger_canary_duration_seconds',
      help: 'Time of one reconciliation of a Canary',
      labelNames,
    }),
    failedPasses: counter(
      'holdfast_canary_pass_failures_total',
      'Reconciliations that ended with an error',
      labelNames,
    ),
    corrected: counter(
      'holdfast_canary_drift_corrections_total',
      'Services, routes and primaries that others had changed and that were put back',
      labelNames,
    ),
    syncs: counter('holdfast_source_syncs_total', 'Syncs of Sources by result', [...labelNames, 'result']),
    drift: counter(
      'holdfast_source_drift_corrections_total',
      'Objects changed by others and corrected to what Git says',
      labelNames,
    ),
    rendered: counter(
      'holdfast_source_rendered_total',
      'Files, and folders that kustomize or helm builds, that no cache held',
      labelNames,
    ),
    lastSync: new Gauge({
      registers,
      name: 'holdfast_source_last_sync_timestamp_seconds',
      help: 'Last successful sync; without one since the start, the first poll',
      labelNames,
    }),
    successes: counter('flagger_canary_successes_total', 'Releases that succeeded', runLabels),
    failures: counter('flagger_canary_failures_total', 'Releases that failed', runLabels),
  };
}

/**
 * Since when a Source fails, for the alarm: what is polled seldom is tried again seldom, so that neither its last success nor the number of failures
 * says how long it has failed. One that is suspended is not tried, and does not fail.
 */
function addFailingSince(registry: Registry, find: (key: string) => KubernetesObject | undefined) {
  const sinceMs = new Map<string, number>();
  gauge(
    registry,
    'holdfast_source_failing_since_timestamp_seconds',
    'First failed sync since the last successful one; no series while there is none',
    (metric) => {
      metric.reset();
      for (const [key, ms] of sinceMs) {
        const source = find(key);
        if (!source) sinceMs.delete(key);
        else if (!isSuspended(source)) metric.set(ofSource(source), ms / 1000);
      }
    },
    ['name', 'namespace'],
  );
  return {
    note(key: string, succeeded: boolean): void {
      if (succeeded) sinceMs.delete(key);
      else if (!sinceMs.has(key)) sinceMs.set(key, Date.now());
    },
  };
}

interface SeriesMeter {
  readonly name?: string;
  remove(labels: Labels): void;
}

/** What was counted by the object it is about. */
function createSeries(find: Find) {
  const series = new Map<
    string,
    { readonly name: string | undefined; readonly removals: Map<string, () => void> }
  >();
  const seriesOf = ({ name }: SeriesMeter, labels: Labels) => JSON.stringify([name, labels]);
  const objectOf = (key: string) => {
    const { namespace, name } = nameOfKey(key);
    return find(namespace, name);
  };
  function forget(key: string): void {
    for (const remove of series.get(key)?.removals.values() ?? []) remove();
    series.delete(key);
  }
  return {
    objectOf,
    /** Remembers that a metric has a series about an object; gives the metric back. */
    note<Meter extends SeriesMeter>(key: string, meter: Meter, labels: Labels): Meter {
      // Whoever may edit a Canary gives it any number of targets, one after the other.
      if (series.get(key)?.name !== labels.name) forget(key);
      const ofObject = series.get(key) ?? { name: labels.name, removals: new Map<string, () => void>() };
      series.set(key, ofObject);
      ofObject.removals.set(seriesOf(meter, labels), () => meter.remove(labels));
      return meter;
    },
    hasNoted: (key: string, meter: SeriesMeter, labels: Labels) =>
      series.get(key)?.removals.has(seriesOf(meter, labels)) === true,
    forgetGone(): void {
      for (const key of [...series.keys()]) if (!objectOf(key)) forget(key);
    },
  };
}

/** Flagger's labels of a release: the strategy is that of the spec alone, also with provider kubernetes, and a failed one counts as completed. */
function runOf({ spec }: KubernetesObject, result: 'Succeeded' | 'Failed'): Labels {
  const { analysis, skipAnalysis } = (spec ?? {}) as {
    analysis?: { iterations?: number; match?: unknown[] };
    skipAnalysis?: boolean;
  };
  const byIterations = analysis?.match?.length ? 'ab-testing' : 'blue-green';
  return {
    deployment_strategy: (analysis?.iterations ?? 0) > 0 ? byIterations : 'canary',
    analysis_status: skipAnalysis && result === 'Succeeded' ? 'skipped' : 'completed',
  };
}

/** A gauge that is filled at each scrape. */
export function gauge<Label extends string>(
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

/** Labels of a Source. */
function ofSource({ metadata: { name, namespace = '' } }: KubernetesObject): {
  name: string;
  namespace: string;
} {
  return { name, namespace };
}

/** Of an object; what is longer is no name, and would be repeated in each series. */
const longestName = 253;

/** Labels of a Canary; Flagger names it by its target. */
export function named({ metadata, spec }: KubernetesObject): { name: string; namespace: string } {
  const target = (spec as { targetRef?: { name?: string } } | undefined)?.targetRef?.name;
  return { name: beginningOf(target ?? metadata.name, longestName), namespace: metadata.namespace ?? '' };
}

/**
 * Counts ends of releases as the status of their Canary reports them; what was over before the start is not counted again, and neither is a
 * change of the phase without a release (a commit that goes back to the last-known-good).
 */
export function countReleases(
  canaries: Pick<WatchedSet, 'get' | 'list' | 'onChange'>,
  sink: Pick<MetricsSink, 'ended'>,
): void {
  const seen = new Map<string, string>();
  const count = (canary: KubernetesObject) => {
    const { uid = '', namespace, name } = canary.metadata;
    const before = seen.get(uid);
    seen.delete(uid);
    if (!canaries.get(namespace, name)) return;
    const last = (canary.status as CanaryStatus | undefined)?.history?.[0];
    const end = last ? `${last.digest} ${last.endTime}` : '';
    seen.set(uid, end);
    if (last && before !== undefined && before !== end) sink.ended(canary, last.result);
  };
  canaries.onChange((changed) => {
    for (const canary of changed ? [changed] : canaries.list()) count(canary);
  });
}

/** The sink, which also reports each pass and each rendering to `memory` as work; a poll without changes is none. */
export function keepingMemory(sink: MetricsSink, memory: { busy(): void }): MetricsSink {
  return {
    ...sink,
    pass(key, durationMs, succeeded) {
      memory.busy();
      sink.pass(key, durationMs, succeeded);
    },
    rendered(key, count) {
      memory.busy();
      sink.rendered(key, count);
    },
  };
}
